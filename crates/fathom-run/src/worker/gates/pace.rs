//! Rates, minimum rates and think times.

use crate::cause::Cause;
use crate::message::Message;
use crate::plan::WorkerPlan;
use crate::plan::model::pace::{MinimumRates, PacePlan, RateRule, ThinkTimePlan};
use crate::plan::model::targets::TargetPlan;
use crate::random::{DrawnAhead, Generator, SeedUse, Seeds, Taus88};
use crate::targets::{Target, Targets};
use crate::unit::Unit;
use crate::worker::Worker;
use crate::worker::feature::{Choice, Feature, Needs};
use crate::worker::gates::Gate;
use crate::worker::next::Next;
use crate::worker::rules::LetGo;
use fathom_random::exponential_gap;
use fathom_stats::{Direction, PerDirection};
use fathom_sys::Errno;
use fathom_sys::clock::Clock;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Shorter waits are busy-waits, because a sleep would end too late.
pub(super) const SPIN_NS: u64 = 20_000;
/// Time after which minimum rates are first checked.
const FIRST_RATE_CHECK_NS: u64 = 2_000_000_000;

/// Everything that may delay the next I/O.
pub(in crate::worker) struct Pace {
    clock: Clock,
    rates: PerDirection<Option<Rate>>,
    /// True for mixed reads and writes, in which one direction may overtake the other.
    is_mix: bool,
    /// True if the due time of the next I/O depends only on the number of I/Os issued before.
    is_foreseen: bool,
    /// An I/O that was drawn but is delayed.
    drawn: Option<Direction>,
    think: Option<Think>,
    /// Processor cycles to spend after each I/O.
    think_cycles: u64,
    shifts_for_think: bool,
    minimum: Option<Minimum>,
}

/// A rate limit for one direction, which determines when an I/O is due.
struct Rate {
    /// Tick at which the next I/O is due.
    due: f64,
    /// Ticks per byte, or per I/O.
    ticks_per_unit: f64,
    /// True if the rate counts I/Os instead of bytes.
    per_io: bool,
    /// Random arrivals instead of evenly spaced ones.
    arrivals: Option<Box<Arrivals>>,
}

/// Maximum number of gaps between random arrivals that are drawn ahead.
const GAPS: usize = 32;

/// The gaps between random arrivals.
struct Arrivals {
    numbers: DrawnAhead,
    /// A ring of gaps drawn ahead.
    ahead: [f64; GAPS],
    /// Number of gaps drawn so far, and number of gaps used.
    drawn: usize,
    used: usize,
}

struct Think {
    rule: ThinkTimePlan,
    /// Number of I/Os since the last pause.
    count: u64,
    /// Tick at which the first I/O after the last pause began.
    io_since: u64,
    /// True if a pause is due; it begins once no I/O is in flight.
    is_due: bool,
    /// End of the current pause, and of its busy-waiting part.
    until: Option<(u64, u64)>,
}

struct Minimum {
    rates: MinimumRates,
    next_check_ns: u64,
    last_check_ns: u64,
    last_bytes: PerDirection<u64>,
    last_ios: PerDirection<u64>,
}

impl Feature for Pace {
    /// Determines when the next I/O is due. Completions must be seen if a think time starts with the last one.
    fn needs(&self) -> Needs {
        let counts_ends = self.think.as_ref().is_some_and(|think| !think.rule.counts_issues);
        let choice = if self.is_foreseen { Choice::AtTimes } else { Choice::EachIo };
        let hears_of_ends = counts_ends || self.think_cycles > 0;
        Needs { choice, ends_from_ns: hears_of_ends.then_some(0), ..Needs::default() }
    }
}

impl Pace {
    /// The rules of a worker, if it has any.
    pub(in crate::worker) fn of(plan: &WorkerPlan, clock: Clock) -> Option<Pace> {
        let rules = plan.pace.as_ref()?;
        Some(Pace {
            clock,
            rates: PerDirection::from_fn(|direction| {
                rules.rates[direction].map(|rule| Rate::new(rule, &plan.seeds, clock, direction))
            }),
            is_mix: rules.is_mix,
            is_foreseen: is_foreseen(rules, &plan.target_plan),
            drawn: None,
            think: rules.think.map(Think::new),
            think_cycles: rules.think_cycles,
            shifts_for_think: rules.shifts_for_think,
            minimum: rules.minimum.map(Minimum::new),
        })
    }

    fn due(&self, direction: Direction) -> Option<u64> {
        self.rates[direction].as_ref().map(|rate| rate.due as u64)
    }

    /// Starts the job's schedules at this tick.
    pub(in crate::worker) fn start(&mut self, now: u64) {
        for rate in self.rates.values_mut().flatten() {
            rate.due = now as f64;
            if rate.arrivals.is_some() {
                rate.advance(1.0);
            }
        }
        if let Some(think) = &mut self.think {
            think.io_since = now;
        }
    }

    /// Pauses if a pause is due: the error is the wait that the next I/O requires. `units` are the worker's
    /// units.
    pub(in crate::worker) fn pause(&mut self, now: u64, units: &[Unit]) -> Result<(), Next> {
        let Some(think) = &mut self.think else { return Ok(()) };
        if let Some((until, spin_until)) = think.until {
            if now < until {
                // Busy-waiting counts as processor time, which is its purpose.
                return Err(Next::Wait(if now < spin_until { now } else { until }));
            }
            think.until = None;
            think.io_since = now;
            return Ok(());
        }
        if !think.is_due {
            let by_count = think.rule.blocks > 0 && think.count >= think.rule.blocks;
            let by_time = think.rule.io_time_ns > 0
                && self.clock.span_ns(now - think.io_since) >= think.rule.io_time_ns;
            if !by_count && !by_time {
                return Ok(());
            }
            // I/Os that completed before the pause count towards the next pause.
            think.count = 0;
            think.is_due = true;
        }
        if units.iter().any(Unit::is_in_flight) {
            return Err(Next::WaitForAll);
        }
        think.is_due = false;
        let until = now + self.clock.ticks_of_ns(think.rule.pause_ns);
        let spin_until = now + self.clock.ticks_of_ns(think.rule.spin_ns.min(think.rule.pause_ns));
        think.until = Some((until, spin_until));
        if self.shifts_for_think {
            for rate in self.rates.values_mut().flatten() {
                rate.due += (until - now) as f64;
            }
        }
        Err(Next::Wait(if spin_until > now { now } else { until }))
    }

    /// Bytes that may be issued before the next decision, in I/Os of at least the minimum length. One more I/O
    /// will be issued in addition to those in flight.
    pub(in crate::worker) fn foresees(&mut self, now: u64, in_flight: u64, shortest: u64) -> u64 {
        let due = self.rates.values_mut().flatten().map(|rate| rate.are_due(now, shortest));
        let by_rate = due.min().unwrap_or(u64::MAX);
        let by_think = match &self.think {
            None => u64::MAX,
            Some(think) if think.is_due || think.until.is_some() => 0,
            Some(think) if think.rule.blocks == 0 => u64::MAX,
            Some(think) => {
                // All I/Os in flight, and the one about to be issued, may complete before the next decision.
                let completing = if think.rule.counts_issues { 0 } else { in_flight + 1 };
                think.rule.blocks.saturating_sub(think.count).saturating_sub(completing)
            }
        };
        by_rate.min(by_think.saturating_mul(shortest))
    }

    /// Counts I/Os issued under a grant.
    pub(in crate::worker) fn let_go(&mut self, let_go: &LetGo) {
        let all_ios = let_go.all_ios();
        for (direction, rate) in self.rates.iter_mut() {
            let (Some(rate), ios @ 1..) = (rate, let_go.ios[direction]) else { continue };
            // If the bytes are those of several directions, all I/Os have the same length.
            let units =
                if rate.per_io { ios as f64 } else { let_go.bytes as f64 * ios as f64 / all_ios as f64 };
            rate.advance_by(ios, units);
        }
        if let Some(think) = self.think.as_mut().filter(|think| think.rule.counts_issues) {
            think.count += all_ios;
        }
    }

    /// Counts a completed I/O.
    #[inline]
    pub(in crate::worker) fn completed(&mut self) {
        if self.think_cycles > 0 {
            fathom_sys::clock::spin_cycles(self.think_cycles);
        }
        if let Some(think) = self.think.as_mut().filter(|think| !think.rule.counts_issues) {
            think.count += 1;
        }
    }
}

impl Gate for Pace {
    fn draw(&mut self, now: u64, targets: &mut Targets) -> Result<Direction, Next> {
        let drawn = self.drawn.take().unwrap_or_else(|| targets.draw_direction());
        let Some(due) = self.due(drawn).filter(|&due| due > now) else { return Ok(drawn) };
        // In a mix, a direction that is behind its rate precedes one that is ahead.
        let other = if drawn == Direction::Read { Direction::Write } else { Direction::Read };
        // An I/O in a direction without a limit is always due.
        let other_due = if self.is_mix { self.due(other).unwrap_or(0) } else { u64::MAX };
        if other_due <= now {
            targets.replace_direction(other);
            return Ok(other);
        }
        self.drawn = Some(drawn);
        Err(Next::Wait(due.min(other_due)))
    }

    fn issued(&mut self, target: &Target) {
        if let Some(rate) = &mut self.rates[target.direction] {
            rate.advance(rate.units_of(target.length.into()));
        }
        if let Some(think) = self.think.as_mut().filter(|think| think.rule.counts_issues) {
            think.count += 1;
        }
    }
}

/// True if the due time in each direction depends only on the I/Os and bytes issued before. Each random gap
/// belongs to a single I/O, so random gaps require a single length.
fn is_foreseen(rules: &PacePlan, targets: &TargetPlan) -> bool {
    let waits_for_time = rules.think.is_some_and(|think| think.io_time_ns > 0);
    let rates = || rules.rates.values().flatten();
    // In a mix, the number of I/Os in each direction is known, but not the number of bytes.
    let is_counted =
        targets.directions.only().is_some() || targets.has_one_length() || rates().all(|rule| rule.per_io);
    let is_each_known = || rates().all(|rule| rule.per_io || !rule.is_poisson) || has_whole_blocks(targets);
    !waits_for_time && is_counted && is_each_known()
}

/// True if all I/Os have the same length, even if their blocks may overlap.
fn has_whole_blocks(targets: &TargetPlan) -> bool {
    let length = targets.one_length();
    targets.used_directions().iter().all(|&direction| Some(targets.alignment[direction]) == length)
}

impl Rate {
    fn new(rule: RateRule, seeds: &Seeds, clock: Clock, direction: Direction) -> Rate {
        let ticks_per_second = clock.ticks_of(Duration::from_secs(1)) as f64;
        let seed = seeds.get(SeedUse::Poisson).wrapping_add(direction as u64);
        Rate {
            due: 0.0,
            ticks_per_unit: ticks_per_second / rule.units_per_second,
            per_io: rule.per_io,
            arrivals: rule.is_poisson.then(|| Box::new(Arrivals::new(seed))),
        }
    }

    /// What an I/O of this length counts towards the rate.
    fn units_of(&self, length: u64) -> f64 {
        if self.per_io { 1.0 } else { length as f64 }
    }

    /// Number of bytes that are due, in I/Os of at least the minimum length. An I/O may start if its first byte
    /// is among them.
    fn are_due(&mut self, now: u64, shortest: u64) -> u64 {
        let behind = now as f64 - self.due;
        if behind < 0.0 {
            return 0;
        }
        if let Some(arrivals) = &mut self.arrivals {
            let units = if self.per_io { 1.0 } else { shortest as f64 };
            return arrivals
                .are_due(now as f64, self.due, units * self.ticks_per_unit)
                .saturating_mul(shortest);
        }
        let units = ((behind / self.ticks_per_unit) as u64).saturating_add(1);
        if self.per_io { units.saturating_mul(shortest) } else { units }
    }

    /// Advances the due time by this many units.
    fn advance(&mut self, units: f64) {
        let factor = match &mut self.arrivals {
            Some(arrivals) => arrivals.next_gap(),
            None => 1.0,
        };
        self.due += units * self.ticks_per_unit * factor;
    }

    /// Advances the due time by several I/Os of one length.
    fn advance_by(&mut self, ios: u64, units: f64) {
        if self.arrivals.is_none() {
            return self.advance(units);
        }
        let units = units / ios as f64;
        for _ in 0..ios {
            self.advance(units);
        }
    }
}

impl Arrivals {
    fn new(seed: u64) -> Arrivals {
        let numbers = DrawnAhead::new(Generator::Bits32(Taus88::new(seed)));
        Arrivals { numbers, ahead: [0.0; GAPS], drawn: 0, used: 0 }
    }

    /// The gap with this number.
    #[inline(always)]
    fn gap(&mut self, number: usize) -> f64 {
        let place = number % GAPS;
        if number == self.drawn {
            self.ahead[place] = exponential_gap((self.numbers.next() >> 32) as u32);
            self.drawn += 1;
        }
        self.ahead[place]
    }

    /// The gap after the next I/O.
    fn next_gap(&mut self) -> f64 {
        let gap = self.gap(self.used);
        self.used += 1;
        gap
    }

    /// Number of I/Os that are due now, counting from the one due at the tick `due`, as far as gaps are drawn
    /// ahead. `mean` is the mean gap in ticks.
    fn are_due(&mut self, now: f64, mut due: f64, mean: f64) -> u64 {
        for ahead in 0..GAPS {
            due += mean * self.gap(self.used + ahead);
            if due > now {
                return ahead as u64 + 1;
            }
        }
        GAPS as u64 + 1
    }
}

impl Think {
    fn new(rule: ThinkTimePlan) -> Think {
        Think { rule, count: 0, io_since: 0, is_due: false, until: None }
    }
}

impl Minimum {
    fn new(rates: MinimumRates) -> Minimum {
        Minimum {
            rates,
            next_check_ns: 0,
            last_check_ns: 0,
            last_bytes: PerDirection::default(),
            last_ios: PerDirection::default(),
        }
    }
}

impl Worker<'_> {
    /// Sleeps until a tick, an order from the supervisor, or the next event; returns the tick after the sleep.
    #[cold]
    pub(in crate::worker) fn wait_until(&mut self, until: u64) -> u64 {
        if let Some(span) = self.span_to_sleep(until) {
            let order = self.block.order.load(Relaxed);
            if !self.block.should_stop() {
                self.clock.wait_while(&self.block.order, order, span);
            }
        } else {
            self.clock.spin_until(until.min(self.next_event));
        }
        self.clock.ticks()
    }

    /// Time to sleep before a tick or the next event; `None` if the remaining time is too short for a
    /// sleep.
    pub(in crate::worker) fn span_to_sleep(&self, until: u64) -> Option<Duration> {
        let left = until.min(self.next_event).saturating_sub(self.clock.ticks());
        let left = self.clock.span_ns(left);
        (left > SPIN_NS).then(|| Duration::from_nanos(left - SPIN_NS / 2))
    }

    /// Checks `rate_min` and `rate_iops_min`: a job below its minimum rate fails.
    pub(in crate::worker) fn check_minimum_rates(&mut self, now_ns: u64) {
        let Some(pace) = &mut self.features.pace else { return };
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
        for &direction in self.plan.target_plan.used_directions() {
            let samples = &self.samples.directions[direction];
            let (bytes, ios) = (samples.bytes.load(Relaxed), samples.completed.load(Relaxed));
            let rate = bytes.saturating_sub(minimum.last_bytes[direction]) * 1000 / span_ms;
            let rate_ios = ios.saturating_sub(minimum.last_ios[direction]) * 1000 / span_ms;
            if rate < minimum.rates.bytes[direction] {
                failure =
                    Some(format!("rate_min={}B/s not met, got {rate}B/s", minimum.rates.bytes[direction]));
            }
            if rate_ios < minimum.rates.ios[direction] {
                failure = Some(format!(
                    "rate_iops_min={} not met, got {rate_ios} IOPS",
                    minimum.rates.ios[direction]
                ));
            }
            minimum.last_bytes[direction] = bytes;
            minimum.last_ios[direction] = ios;
        }
        minimum.last_check_ns = now_ns;
        minimum.next_check_ns = now_ns + minimum.rates.cycle_ns;
        if let Some(text) = failure {
            self.stopping = true;
            let errno = Errno(libc::EIO);
            self.context.messages.send(&Message::Error(format!("{}: {text}", self.plan.name)));
            self.context.fail(errno, Cause::MIN_RATE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHORTEST: u64 = 512;

    fn rate(per_io: bool, is_random: bool) -> Rate {
        let ticks_per_unit = if per_io { 1000.0 } else { 2.0 };
        let arrivals = is_random.then(|| Box::new(Arrivals::new(7)));
        Rate { due: 0.0, ticks_per_unit, per_io, arrivals }
    }

    #[test]
    fn a_rate_beyond_all_counting_grants_everything() {
        for per_io in [true, false] {
            let mut rate = Rate { ticks_per_unit: 1e-30, ..rate(per_io, false) };
            assert_eq!(rate.are_due(1, SHORTEST), u64::MAX);
        }
    }

    proptest! {
        /// A grant never lets an I/O start before its time, nor later than the rate allows.
        #[test]
        fn a_grant_is_what_questions_would_have_let_go(
            per_io in any::<bool>(), is_random in any::<bool>(),
            // The gaps let I/Os be issued earlier or later than the rate allows.
            gaps in prop::collection::vec((prop_oneof![4 => 0u64..600, 1 => 0u64..5000], 1u64..3), 1..200),
            pause in prop_oneof![Just(0u64), 0u64..300_000],
        ) {
            let (mut asked, mut granting) = (rate(per_io, is_random), rate(per_io, is_random));
            // After a pause, many I/Os are overdue.
            let (mut now, mut granted, mut used) = (pause, 0, 0);
            for (gap, blocks) in gaps {
                now += gap;
                // I/O rates and random gaps are exact only if all I/Os have the same length.
                let length = if per_io || is_random { SHORTEST } else { blocks * SHORTEST };
                let is_due = asked.due <= now as f64;
                if granted <= used {
                    let ios = used / SHORTEST;
                    granting.advance_by(ios, if per_io { ios as f64 } else { used as f64 });
                    (granted, used) = (granting.are_due(now, SHORTEST), 0);
                }
                prop_assert_eq!(is_due, granted > used, "at {}", now);
                if is_due {
                    asked.advance(asked.units_of(length));
                    used += length;
                }
            }
        }
    }
}
