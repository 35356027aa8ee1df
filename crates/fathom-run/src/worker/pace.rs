//! Rates, minimum rates and think times: what holds I/O back.

use super::Worker;
use super::issue::Next;
use crate::cause::Cause;
use crate::engine::Engine;
use crate::message::Message;
use crate::plan::WorkerPlan;
use crate::plan::model::lengths::LengthRule;
use crate::plan::model::targets::DirectionPlan;
use crate::random::{SeedUse, Seeds, Taus88};
use crate::targets::direction::Direction;
use crate::targets::{Target, Targets};
use crate::unit::Unit;
use fathom_spec::JobSpec;
use fathom_spec::options::rate::{RateProcess, ThinktimeBlocksType};
use fathom_sys::Errno;
use fathom_sys::clock::Clock;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Below this, waiting is done by spinning: a sleep would overshoot.
const SPIN_NS: u64 = 20_000;
/// Minimum rates are first checked after this time.
const FIRST_RATE_CHECK_NS: u64 = 2_000_000_000;

/// Everything that may come between two I/Os.
pub(super) struct Pace {
    clock: Clock,
    rates: [Option<Rate>; 3],
    /// Reads and writes by chance: one may go before the other.
    is_mix: bool,
    /// Drawn, but held back so far.
    drawn: Option<Direction>,
    think: Option<Think>,
    /// Cycles of the processor spent after each I/O.
    think_cycles: u64,
    shifts_for_think: bool,
    minimum: Option<MinimumRates>,
}

/// A rate limit of one direction: an I/O may start when its time has come.
struct Rate {
    /// Tick at which the next I/O is due.
    due: f64,
    /// Ticks that an I/O of one byte, or one I/O, is worth.
    ticks_per_unit: f64,
    /// The rate counts I/Os, whatever their length.
    per_io: bool,
    /// Arrivals at random instead of evenly.
    arrivals: Option<Taus88>,
}

struct Think {
    pause_ns: u64,
    spin_ns: u64,
    /// Pause after so many I/Os; 0: never.
    blocks: u64,
    count: u64,
    counts_issues: bool,
    /// Pause after so much time of I/O; 0: never.
    io_time_ns: u64,
    io_since: u64,
    /// A pause is due, and begins when nothing is in flight any more.
    is_due: bool,
    /// End of the pause in progress, and of its spinning part.
    until: Option<(u64, u64)>,
}

struct MinimumRates {
    bytes: [u64; 3],
    ios: [u64; 3],
    cycle_ns: u64,
    next_check_ns: u64,
    last_check_ns: u64,
    last_bytes: [u64; 3],
    last_ios: [u64; 3],
}

impl Pace {
    /// The rules of a job, if it has any.
    pub(super) fn of(plan: &WorkerPlan, job: &JobSpec, seeds: &Seeds, clock: Clock) -> Option<Pace> {
        // A limit on a direction that the job does not use says nothing.
        let used = plan.target_plan.used_directions();
        let rates = std::array::from_fn(|direction| {
            used.contains(&direction).then(|| Rate::of(plan, job, seeds, clock, direction)).flatten()
        });
        let think = Think::of(job);
        let minimum = MinimumRates::of(job);
        let think_cycles = u64::from(job.rate.thinkcycles);
        if rates.iter().all(Option::is_none) && think.is_none() && minimum.is_none() && think_cycles == 0 {
            return None;
        }
        let shifts_for_think = job.rate.rate_ignore_thinktime;
        // A direction that has no share of a mix does not go before the other, however free it is.
        let is_mix = matches!(plan.target_plan.directions, DirectionPlan::Mix(1..=99));
        Some(Pace { clock, rates, is_mix, drawn: None, think, think_cycles, shifts_for_think, minimum })
    }

    /// The direction of the next I/O if its rate lets it start now, or what to wait for.
    pub(super) fn draw(&mut self, now: u64, targets: &mut Targets) -> Result<Direction, Next> {
        let drawn = self.drawn.take().unwrap_or_else(|| targets.draw_direction());
        let Some(due) = self.due(drawn).filter(|&due| due > now) else { return Ok(drawn) };
        // In a mix, a direction that is behind goes before one that is ahead of its rate.
        let other = if drawn == Direction::Read { Direction::Write } else { Direction::Read };
        // A direction without a limit is always due.
        let other_due = if self.is_mix { self.due(other).unwrap_or(0) } else { u64::MAX };
        if other_due <= now {
            targets.replace_direction(other);
            return Ok(other);
        }
        self.drawn = Some(drawn);
        Err(Next::Wait(due.min(other_due)))
    }

    fn due(&self, direction: Direction) -> Option<u64> {
        self.rates[direction as usize].as_ref().map(|rate| rate.due as u64)
    }

    /// The job begins at this tick, and so do its schedules.
    pub(super) fn start(&mut self, now: u64) {
        for rate in self.rates.iter_mut().flatten() {
            rate.due = now as f64;
            if rate.arrivals.is_some() {
                rate.advance(1.0);
            }
        }
        if let Some(think) = &mut self.think {
            think.io_since = now;
        }
    }

    /// Thinks, if it is time to: what to wait for before the next I/O. `units` are those of the worker.
    pub(super) fn pause(&mut self, now: u64, units: &[Unit]) -> Result<(), Next> {
        let Some(think) = &mut self.think else { return Ok(()) };
        if let Some((until, spin_until)) = think.until {
            if now < until {
                // Spinning shows as processor time, which is its purpose.
                return Err(Next::Wait(if now < spin_until { now } else { until }));
            }
            think.until = None;
            think.io_since = now;
            return Ok(());
        }
        if !think.is_due {
            let by_count = think.blocks > 0 && think.count >= think.blocks;
            let by_time =
                think.io_time_ns > 0 && self.clock.span_ns(now - think.io_since) >= think.io_time_ns;
            if !by_count && !by_time {
                return Ok(());
            }
            // What ends before the pause counts for the next one.
            think.count = 0;
            think.is_due = true;
        }
        if units.iter().any(Unit::is_in_flight) {
            return Err(Next::WaitForEnd);
        }
        think.is_due = false;
        let until = now + self.clock.ticks_of_ns(think.pause_ns);
        let spin_until = now + self.clock.ticks_of_ns(think.spin_ns.min(think.pause_ns));
        think.until = Some((until, spin_until));
        if self.shifts_for_think {
            for rate in self.rates.iter_mut().flatten() {
                rate.due += (until - now) as f64;
            }
        }
        Err(Next::Wait(if spin_until > now { now } else { until }))
    }

    /// Counts an I/O that is being issued.
    pub(super) fn issued(&mut self, target: &Target) {
        if let Some(rate) = &mut self.rates[target.direction as usize] {
            let units = if rate.per_io { 1.0 } else { f64::from(target.length) };
            rate.advance(units);
        }
        if let Some(think) = self.think.as_mut().filter(|think| think.counts_issues) {
            think.count += 1;
        }
    }

    /// Counts an I/O that has ended.
    #[inline]
    pub(super) fn completed(&mut self) {
        if self.think_cycles > 0 {
            fathom_sys::clock::spin_cycles(self.think_cycles);
        }
        if let Some(think) = self.think.as_mut().filter(|think| !think.counts_issues) {
            think.count += 1;
        }
    }
}

impl Rate {
    fn of(plan: &WorkerPlan, job: &JobSpec, seeds: &Seeds, clock: Clock, direction: usize) -> Option<Rate> {
        let ticks_per_second = clock.ticks_of(Duration::from_secs(1)) as f64;
        let rule = &plan.target_plan.lengths[direction];
        let arrivals = (job.rate.rate_process == RateProcess::Poisson)
            .then(|| Taus88::new(seeds.get(SeedUse::Poisson).wrapping_add(direction as u64)));
        let (units_per_second, per_io) = match (job.rate.rate_iops.0[direction], job.rate.rate.0[direction]) {
            (0, 0) => return None,
            (0, bytes) => (bytes as f64, false),
            (ios, _) if matches!(rule, LengthRule::Split(_)) || arrivals.is_some() => (ios as f64, true),
            (ios, _) => (ios as f64 * rule.min() as f64, false),
        };
        Some(Rate { due: 0.0, ticks_per_unit: ticks_per_second / units_per_second, per_io, arrivals })
    }

    /// Moves the due time on by so many units.
    fn advance(&mut self, units: f64) {
        let factor = match &mut self.arrivals {
            // Exponential gaps; 1 - u is never 0.
            Some(generator) => -(1.0 - f64::from(generator.next_u32()) / 4_294_967_296.0).ln(),
            None => 1.0,
        };
        self.due += units * self.ticks_per_unit * factor;
    }
}

impl Think {
    fn of(job: &JobSpec) -> Option<Think> {
        let options = &job.rate;
        if options.thinktime.is_zero() {
            return None;
        }
        let by_time = !options.thinktime_iotime.is_zero();
        let count_is_wanted = !by_time || job.is_set("thinktime_blocks");
        Some(Think {
            pause_ns: options.thinktime.as_nanos() as u64,
            spin_ns: options.thinktime_spin.as_nanos() as u64,
            blocks: if count_is_wanted { u64::from(options.thinktime_blocks.max(1)) } else { 0 },
            count: 0,
            counts_issues: options.thinktime_blocks_type == ThinktimeBlocksType::Issue,
            io_time_ns: options.thinktime_iotime.as_nanos() as u64,
            io_since: 0,
            is_due: false,
            until: None,
        })
    }
}

impl MinimumRates {
    fn of(job: &JobSpec) -> Option<MinimumRates> {
        let (bytes, ios) = (job.rate.rate_min.0, job.rate.rate_iops_min.0);
        if bytes.iter().chain(&ios).all(|&rate| rate == 0) {
            return None;
        }
        Some(MinimumRates {
            bytes,
            ios,
            cycle_ns: u64::from(job.rate.rate_cycle.max(1)) * 1_000_000,
            next_check_ns: 0,
            last_check_ns: 0,
            last_bytes: [0; 3],
            last_ios: [0; 3],
        })
    }
}

impl<E: Engine> Worker<'_, E> {
    /// Sleeps until a tick, an order of the supervisor, or the next event; returns the tick after it.
    #[cold]
    pub(super) fn wait_until(&mut self, until: u64) -> u64 {
        if let Some(span) = self.span_to_sleep(until) {
            let order = self.block.order.load(Relaxed);
            if !self.block.should_stop() {
                self.clock.wait_while(&self.block.order, order, span);
            }
        } else {
            let end = until.min(self.next_event);
            while self.clock.ticks() < end {
                std::hint::spin_loop();
            }
        }
        self.clock.ticks()
    }

    /// For how long to sleep before a tick or the next event; `None` when so little is left that a sleep would last longer.
    pub(super) fn span_to_sleep(&self, until: u64) -> Option<Duration> {
        let left = until.min(self.next_event).saturating_sub(self.clock.ticks());
        let left = self.clock.span_ns(left);
        (left > SPIN_NS).then(|| Duration::from_nanos(left - SPIN_NS / 2))
    }

    /// `rate_min` and `rate_iops_min`: a job that is slower than asked fails.
    pub(super) fn check_minimum_rates(&mut self, now_ns: u64) {
        let Some(pace) = &mut self.pace else { return };
        let Some(minimum) = &mut pace.minimum else { return };
        let start = self.block.start_ns.load(Relaxed);
        if start == 0 || self.stopping {
            return;
        }
        if minimum.next_check_ns == 0 {
            minimum.next_check_ns = start + FIRST_RATE_CHECK_NS;
            minimum.last_check_ns = start;
        }
        if now_ns < minimum.next_check_ns {
            return;
        }
        let span_ms = ((now_ns - minimum.last_check_ns) / 1_000_000).max(1);
        let mut failure = None;
        for direction in self.plan.target_plan.used_directions() {
            let samples = &self.samples.directions[*direction];
            let (bytes, ios) = (samples.bytes.load(Relaxed), samples.completed.load(Relaxed));
            let rate = bytes.saturating_sub(minimum.last_bytes[*direction]) * 1000 / span_ms;
            let rate_ios = ios.saturating_sub(minimum.last_ios[*direction]) * 1000 / span_ms;
            if rate < minimum.bytes[*direction] {
                failure = Some(format!("rate_min={}B/s not met, got {rate}B/s", minimum.bytes[*direction]));
            }
            if rate_ios < minimum.ios[*direction] {
                failure =
                    Some(format!("rate_iops_min={} not met, got {rate_ios} IOPS", minimum.ios[*direction]));
            }
            minimum.last_bytes[*direction] = bytes;
            minimum.last_ios[*direction] = ios;
        }
        minimum.last_check_ns = now_ns;
        minimum.next_check_ns = now_ns + minimum.cycle_ns;
        if let Some(text) = failure {
            self.stopping = true;
            let errno = Errno(libc::EIO);
            self.context.messages.send(&Message::Error(format!("{}: {text}", self.job.name)));
            self.context.fail(errno, Cause::MIN_RATE);
        }
    }
}
