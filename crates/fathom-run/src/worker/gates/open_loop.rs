//! An open loop: I/Os start by a schedule, and response times are measured from the scheduled time.

use crate::plan::WorkerPlan;
use crate::targets::{Target, Targets};
use crate::unit::Unit;
use crate::worker::WorkerContext;
use crate::worker::gates::Gate;
use crate::worker::gates::pace::SPIN_NS;
use crate::worker::gates::schedule::Schedule;
use crate::worker::next::Next;
use fathom_stats::arrivals::ArrivalSamples;
use fathom_stats::{Direction, PerDirection};
use fathom_sys::clock::{Clock, Moment};
use std::sync::atomic::Ordering::Relaxed;

/// The due time of an I/O that is not an arrival.
const NOT_AWAITED: u64 = u64::MAX;
/// Duration of the busy-wait at the end of a wait, in ns: its minimum, and its maximum, which is also the
/// initial value. It adapts to how late sleeps end; until enough sleeps have been observed, the worst case is
/// assumed.
const LEAST_AWAKE_NS: u64 = 5_000;
const MOST_AWAKE_NS: u64 = 1_000_000;
/// After each sleep, the busy-wait shrinks by this fraction of its excess: very late sleeps are rare, so their
/// effect must last until the next one.
const GIVEN_UP: u64 = 1024;
/// Arrivals that wait at the end of the run are counted individually up to this number. A larger number is
/// counted in this many groups, which makes no visible difference.
const MOST_COUNTED: u64 = 1 << 20;
/// Maximum number of new arrivals that are counted at each start. Without a limit, counting might never end,
/// because on an overcommitted processor arrivals may come faster than they can be counted.
const LOOKED_FOR: u64 = 4096;

/// State of a worker's arrivals.
pub(in crate::worker) struct OpenLoop<'a> {
    clock: Clock,
    /// `None` if a log determines when I/Os are due.
    schedules: PerDirection<Option<Schedule>>,
    is_mix: bool,
    /// Direction of an I/O that was drawn but is not due yet.
    drawn: Option<Direction>,
    /// The time at which the next I/O was due.
    due: Option<u64>,
    /// Tick of the last draw.
    now: u64,
    /// Number of I/Os left in the job, if limited.
    left: Option<u64>,
    slots: Box<[Slot]>,
    /// Tick from which a slot has been free.
    ready: u64,
    /// True if the next I/O was delayed for a reason other than a lack of slots.
    was_held_back: bool,
    /// The slot that was used last.
    last_slot: u32,
    /// Tick from which arrivals are recorded.
    since: u64,
    /// Tick at which the last arrival is due or the run time is over, as far as it is known.
    end: u64,
    awake: Option<Awake>,
    /// Tick at which the current sleep should end.
    sleep_end: Option<u64>,
    /// How the worker is waiting for the next arrival.
    waited: Waited,
    samples: &'a PerDirection<ArrivalSamples>,
}

/// The arrival in a slot.
#[derive(Clone, Copy)]
struct Slot {
    due: u64,
    /// Tick at which the arrival could have been started.
    ready: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waited {
    NotYet,
    Awake,
    Asleep,
}

/// Duration of the busy-wait before an I/O is due, in ticks.
struct Awake {
    ticks: u64,
    least: u64,
    most: u64,
}

impl Awake {
    fn new(clock: Clock) -> Awake {
        let ticks = |ns| clock.ticks_of_ns(ns);
        Awake { ticks: ticks(MOST_AWAKE_NS), least: ticks(LEAST_AWAKE_NS), most: ticks(MOST_AWAKE_NS) }
    }

    /// Records that a sleep ended this many ticks late. The busy-wait becomes a quarter longer than that.
    fn slept(&mut self, late: u64) {
        let wanted = late + late / 4;
        self.ticks = if wanted > self.ticks { wanted } else { self.ticks - (self.ticks - wanted) / GIVEN_UP };
        self.ticks = self.ticks.clamp(self.least, self.most);
    }

    /// Records a wait without a sleep, and shortens the busy-wait: without occasional sleeps it could not
    /// adapt.
    fn stayed_awake(&mut self) {
        self.ticks = (self.ticks - self.ticks / GIVEN_UP).max(self.least);
    }
}

impl<'a> OpenLoop<'a> {
    /// The arrivals of a worker in an open loop.
    pub(in crate::worker) fn of(context: &WorkerContext<'a>, clock: Clock) -> Option<OpenLoop<'a>> {
        let plan: &WorkerPlan = context.worker_plan();
        let rules = plan.arrivals.as_ref()?;
        let samples = context.region.arrivals(context.index)?;
        Some(OpenLoop {
            clock,
            schedules: PerDirection::from_fn(|direction| {
                rules.per_second[direction]
                    .map(|rate| Schedule::new(rules, rate, direction, &plan.seeds, clock))
            }),
            is_mix: rules.is_mix,
            drawn: None,
            due: None,
            now: 0,
            left: None,
            slots: vec![Slot { due: NOT_AWAITED, ready: 0 }; plan.depth as usize].into_boxed_slice(),
            ready: 0,
            was_held_back: false,
            last_slot: 0,
            since: 0,
            end: u64::MAX,
            awake: rules.spins.then(|| Awake::new(clock)),
            sleep_end: None,
            waited: Waited::NotYet,
            samples,
        })
    }

    /// Starts the schedules when the job begins.
    pub(in crate::worker) fn begin(&mut self, now: u64) {
        self.schedules.values_mut().flatten().for_each(|schedule| schedule.begin(now));
        self.ready = now;
    }

    /// Starts counting.
    pub(in crate::worker) fn begin_recording(&mut self, now: Moment) {
        self.since = now.ticks;
        self.samples.values().for_each(|samples| samples.reset(now.ns));
    }

    /// Sets a tick after which nothing is due. I/Os that are not complete by then were the load's backlog.
    pub(in crate::worker) fn ends_by(&mut self, tick: u64) {
        self.end = self.end.min(tick);
    }

    /// Sets the number of I/Os left in the job, including the next one.
    pub(in crate::worker) fn set_left(&mut self, left: Option<u64>) {
        self.left = left;
    }

    fn due_of(&self, direction: Direction) -> u64 {
        self.schedules[direction].as_ref().map_or(NOT_AWAITED, Schedule::due)
    }

    /// The direction whose next arrival is due earliest.
    fn earliest(&self) -> Direction {
        Direction::ALL.into_iter().min_by_key(|&direction| self.due_of(direction)).unwrap_or(Direction::Read)
    }

    /// Records that an arrival waits for something other than a slot: another I/O, a lock, a zone.
    pub(in crate::worker) fn hold_back(&mut self) {
        self.was_held_back = true;
    }

    /// True if an arrival was chosen but is not in its slot yet.
    pub(in crate::worker) fn has_chosen(&self) -> bool {
        self.due.is_some()
    }

    /// Records that a log entry, due at this tick, is the next I/O; `others` more entries of its direction are
    /// due as well.
    pub(in crate::worker) fn entry_is_due(&mut self, direction: Direction, due: u64, others: u64) {
        self.due = Some(due);
        self.note_backlog(direction, due, others);
    }

    /// Puts the arrival that was due into this slot.
    pub(in crate::worker) fn start(&mut self, slot: u32, units: &[Unit]) {
        // The submission call of the previous I/O is not a delay caused by the tester.
        let issued = units[self.last_slot as usize].issue();
        let ready = match std::mem::take(&mut self.was_held_back) {
            true => u64::MAX,
            false => self.ready.max(issued),
        };
        self.last_slot = slot;
        self.slots[slot as usize] = Slot { due: self.due.take().unwrap_or(NOT_AWAITED), ready };
    }

    /// Records that a slot has been free since this tick. `none_was_free` tells that all slots were in use
    /// before.
    pub(in crate::worker) fn freed(&mut self, now: u64, none_was_free: bool) {
        if none_was_free {
            self.ready = now;
        }
    }

    /// Records that the I/O in this slot succeeded. Returns its response time in ns, if it is an arrival.
    pub(in crate::worker) fn ended(
        &mut self,
        slot: u32,
        unit: &Unit,
        direction: Direction,
        now: u64,
    ) -> Option<u64> {
        let place = &mut self.slots[slot as usize];
        let Slot { due, ready } = std::mem::replace(place, Slot { due: NOT_AWAITED, ready: 0 });
        if due == NOT_AWAITED {
            return None;
        }
        let samples = &self.samples[direction];
        if now > self.end {
            samples.count_in_flight();
        }
        let span = |from: u64, to: u64| self.clock.span_ns(to.saturating_sub(from));
        let start = unit.start();
        let response = span(due, now);
        samples.response.record(response, true);
        samples.service.record(span(start, now), true);
        samples.start_delay.record(span(due, start), true);
        samples.own_delay.record(span(due.max(ready), start), true);
        samples.add_wait(span(due.max(self.since), start));
        Some(response)
    }

    /// Ends the arrivals at this time: waiting arrivals are counted with their waiting time so far.
    pub(in crate::worker) fn close(&mut self, end: Moment) {
        for (schedule, samples) in self.schedules.values_mut().zip(self.samples.values()) {
            samples.until_ns.store(end.ns, Relaxed);
            let Some(schedule) = schedule else { continue };
            // An arrival that is due exactly at the end is not part of this run.
            let waiting =
                schedule.waiting(end.ticks.saturating_sub(1), u64::MAX).min(self.left.unwrap_or(u64::MAX));
            samples.set_backlog(waiting);
            let first_due = schedule.due();
            for (index, count) in groups_of(waiting) {
                let due = match waiting <= MOST_COUNTED {
                    true => {
                        let due = schedule.due();
                        schedule.take();
                        due
                    }
                    false => {
                        let span = u128::from(end.ticks.saturating_sub(first_due));
                        first_due + (span * u128::from(index) / u128::from(waiting)) as u64
                    }
                };
                count_waiting(samples, self.clock, count, due, self.since, end.ticks);
            }
        }
    }

    /// Like [`close`](OpenLoop::close), for log entries that were due at these ticks.
    pub(in crate::worker) fn close_log(&mut self, due: impl Iterator<Item = (Direction, u64)>, end: Moment) {
        let mut waiting = PerDirection::<u64>::default();
        for (direction, due) in due {
            waiting[direction] += 1;
            count_waiting(&self.samples[direction], self.clock, 1, due, self.since, end.ticks);
        }
        for (samples, waiting) in self.samples.values().zip(waiting.into_array()) {
            samples.until_ns.store(end.ns, Relaxed);
            samples.set_backlog(waiting);
        }
    }

    /// Records the number of waiting arrivals. The arrival that is about to start counts only if all slots were
    /// in use when it was due.
    fn note_backlog(&self, direction: Direction, due: u64, others: u64) {
        self.samples[direction].set_backlog(others + u64::from(self.ready > due));
    }

    /// How to wait for an I/O that is due later: first by sleeping, then in steps short enough for a busy-wait.
    fn wait_for(&mut self, due: u64, now: u64) -> Next {
        // A sleep may end slightly before the requested tick.
        let margin = self.clock.ticks_of_ns(SPIN_NS / 2);
        let early = due - self.awake.as_ref().map_or(0, |awake| awake.ticks).min(due);
        if early > now + margin {
            self.sleep_end = Some(early);
            self.waited = Waited::Asleep;
            return Next::Wait(early + margin);
        }
        if self.waited == Waited::NotYet {
            self.waited = Waited::Awake;
        }
        Next::Wait(due.min(now + margin))
    }

    /// Called after a sleep that lasted as long as requested, or longer.
    fn learn_of_sleep(&mut self, now: u64) {
        let Some(end) = self.sleep_end.filter(|&end| end <= now) else { return };
        self.sleep_end = None;
        if let Some(awake) = &mut self.awake {
            awake.slept(now - end);
        }
    }
}

/// Divides arrivals into groups of about equal size: for each, the number of its first arrival, and its size.
fn groups_of(waiting: u64) -> impl Iterator<Item = (u64, u64)> {
    let groups = waiting.min(MOST_COUNTED);
    let first =
        move |group: u64| (u128::from(waiting) * u128::from(group) / u128::from(groups.max(1))) as u64;
    (0..groups).map(move |group| (first(group), first(group + 1) - first(group)))
}

fn count_waiting(samples: &ArrivalSamples, clock: Clock, count: u64, due: u64, since: u64, end: u64) {
    let span = |from: u64| clock.span_ns(end.saturating_sub(from));
    samples.count_waiting(count, span(due), span(due.max(since)));
}

impl Gate for OpenLoop<'_> {
    fn draw(&mut self, now: u64, targets: &mut Targets) -> Result<Direction, Next> {
        let direction = match self.is_mix {
            true => self.earliest(),
            false => *self.drawn.get_or_insert_with(|| targets.draw_direction()),
        };
        self.learn_of_sleep(now);
        let due = self.due_of(direction);
        if due > now {
            return Err(self.wait_for(due, now));
        }
        self.sleep_end = None;
        self.drawn = None;
        if std::mem::replace(&mut self.waited, Waited::NotYet) == Waited::Awake
            && let Some(awake) = &mut self.awake
        {
            awake.stayed_awake();
        }
        if self.is_mix && targets.draw_direction() != direction {
            targets.replace_direction(direction);
        }
        self.now = now;
        Ok(direction)
    }

    fn issued(&mut self, target: &Target) {
        let Some(schedule) = &mut self.schedules[target.direction] else { return };
        let due = schedule.due();
        schedule.take();
        let mut others = schedule.waiting(self.now, LOOKED_FOR);
        if let Some(left) = self.left {
            others = others.min(left.saturating_sub(1));
        }
        self.due = Some(due);
        self.note_backlog(target.direction, due, others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_hold_all_that_wait(waiting in prop_oneof![0u64..5_000_000, any::<u64>()]) {
            let groups = || groups_of(waiting);
            prop_assert!(groups().count() as u64 <= MOST_COUNTED);
            prop_assert_eq!(groups().map(|(_, count)| count).sum::<u64>(), waiting);
            prop_assert!(groups().all(|(_, count)| count > 0));
        }
    }
}
