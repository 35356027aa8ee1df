//! The schedule of arrivals, which does not depend on completions.

use super::steps::StepCursor;
use crate::plan::model::arrivals::ArrivalsPlan;
use crate::random::{SeedUse, Seeds};
use fathom_random::{Gaps, Shares};
use fathom_spec::value::ArrivalProcess;
use fathom_stats::Direction;
use fathom_sys::clock::Clock;

/// A position in the sequence of arrivals of one direction.
#[derive(Clone, Debug)]
struct Cursor {
    /// Number of arrivals before this position.
    count: u64,
    /// Due time of the arrival at this position, in ticks of active time since the start.
    at: f64,
    course: Course,
}

/// What determines the next arrival.
#[derive(Clone, Debug)]
enum Course {
    /// Gaps of one distribution.
    Gaps(Gaps),
    /// A rate that changes from step to step.
    Steps(StepCursor),
}

/// The arrivals of one direction. Waiting arrivals are not stored: a second position in the same sequence runs
/// ahead of the first and counts them.
#[derive(Clone, Debug)]
pub(in crate::worker) struct Schedule {
    start: u64,
    /// Mean gap during active time, ticks.
    gap: f64,
    /// If arrivals come in bursts: the ticks of active time, and of a whole cycle.
    bursts: Option<(f64, f64)>,
    /// The next arrival to be started.
    next: Cursor,
    /// The first arrival that is not due yet.
    ahead: Cursor,
}

impl Schedule {
    /// The schedule of a direction with this rate in arrivals per second. Seeds are those of a closed loop with
    /// the same process.
    pub(in crate::worker) fn new(
        plan: &ArrivalsPlan,
        per_second: f64,
        direction: Direction,
        seeds: &Seeds,
        clock: Clock,
    ) -> Schedule {
        let seed = seeds.get(SeedUse::Poisson).wrapping_add(direction as u64);
        let ticks = |ns: u128| clock.ticks_of_ns(u64::try_from(ns).unwrap_or(u64::MAX)) as f64;
        let second = ticks(1_000_000_000);
        let (gaps, bursts) = match &plan.process {
            ArrivalProcess::Linear => (Gaps::Even, None),
            ArrivalProcess::Poisson => (Gaps::exponential(seed), None),
            ArrivalProcess::Gamma { variation } => (Gaps::gamma(*variation, seed), None),
            ArrivalProcess::OnOff { busy, idle, poisson } => {
                let busy = ticks(busy.as_nanos()).max(1.0);
                let gaps = if *poisson { Gaps::exponential(seed) } else { Gaps::Even };
                (gaps, Some((busy, busy + ticks(idle.as_nanos()))))
            }
            ArrivalProcess::Steps { length, weights, variation } => {
                let length = ticks(length.as_nanos()).max(1.0);
                let shares = Shares::new(*variation, seed);
                let steps = StepCursor::new(length, per_second / second, weights, shares);
                let first = Cursor { count: 0, at: steps.at(), course: Course::Steps(steps) };
                return Schedule { start: 0, gap: 0.0, bursts: None, ahead: first.clone(), next: first };
            }
        };
        // The rate is the mean over bursts and pauses.
        let share = bursts.map_or(1.0, |(busy, turn)| busy / turn);
        let gap = second / per_second * share;
        // Evenly spaced arrivals begin with the run; others begin with a gap.
        let mut gaps = gaps;
        let at = if matches!(gaps, Gaps::Even) { 0.0 } else { gaps.next_gap() * gap };
        let first = Cursor { count: 0, at, course: Course::Gaps(gaps) };
        Schedule { start: 0, gap, bursts, ahead: first.clone(), next: first }
    }

    /// Starts the run at this tick.
    pub(in crate::worker) fn begin(&mut self, now: u64) {
        self.start = now;
    }

    /// Tick at which the next arrival is due.
    pub(in crate::worker) fn due(&self) -> u64 {
        self.due_at(self.next.at)
    }

    /// Takes the next arrival, which is started or counted.
    pub(in crate::worker) fn take(&mut self) {
        step(&mut self.next, self.gap);
    }

    /// Number of arrivals that are due by this tick and not taken yet; counts at most `most` new ones.
    pub(in crate::worker) fn waiting(&mut self, now: u64, most: u64) -> u64 {
        if self.ahead.count < self.next.count {
            self.ahead = self.next.clone();
        }
        let until = self.ahead.count.saturating_add(most);
        while self.ahead.count < until && self.due_at(self.ahead.at) <= now {
            step(&mut self.ahead, self.gap);
        }
        self.ahead.count - self.next.count
    }

    fn due_at(&self, at: f64) -> u64 {
        let real = match self.bursts {
            None => at,
            Some((busy, turn)) => (at / busy).floor() * turn + at % busy,
        };
        self.start + real as u64
    }
}

fn step(cursor: &mut Cursor, gap: f64) {
    cursor.count += 1;
    cursor.at = match &mut cursor.course {
        // A product is exact where a sum of many gaps would drift.
        Course::Gaps(Gaps::Even) => cursor.count as f64 * gap,
        Course::Gaps(gaps) => cursor.at + gaps.next_gap() * gap,
        Course::Steps(steps) => {
            steps.advance();
            steps.at()
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::PerDirection;
    use fathom_sys::clock::VirtualTime;
    use proptest::prelude::*;
    use std::time::Duration;

    const SECOND: u64 = 1_000_000_000;

    fn schedule(process: ArrivalProcess, per_second: f64) -> Schedule {
        let plan = ArrivalsPlan { per_second: PerDirection::default(), process, is_mix: false, spins: true };
        let clock = Clock::of_virtual_time(VirtualTime::starting_at(0));
        let seeds = Seeds::new(11, 1);
        let mut schedule = Schedule::new(&plan, per_second, Direction::Read, &seeds, clock);
        schedule.begin(SECOND);
        schedule
    }

    fn dues(mut schedule: Schedule, count: usize) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let due = schedule.due();
                schedule.take();
                due - SECOND
            })
            .collect()
    }

    #[test]
    fn even_arrivals_do_not_drift() {
        let dues = dues(schedule(ArrivalProcess::Linear, 3.0), 3_000_001);
        assert_eq!(dues[0], 0);
        assert!(dues[3_000_000].abs_diff(1_000_000 * SECOND) <= 1);
    }

    #[test]
    fn bursts_have_pauses_and_the_rate_as_their_mean() {
        let (busy, idle) = (Duration::from_millis(100), Duration::from_millis(300));
        let dues = dues(schedule(ArrivalProcess::OnOff { busy, idle, poisson: false }, 1000.0), 8000);
        assert!(dues.iter().all(|due| due % (400 * 1_000_000) < 100 * 1_000_000), "all in a busy spell");
        assert!(dues[7999].abs_diff(8 * SECOND) < SECOND / 2, "{}", dues[7999]);
        let gap = dues[1] - dues[0];
        assert_eq!(gap, SECOND / 4000, "four times as fast while they come");
    }

    #[test]
    fn each_step_has_its_rate() {
        let process = |variation| ArrivalProcess::Steps {
            length: Duration::from_millis(500),
            weights: vec![1.0, 0.0, 3.0, 4.0],
            variation,
        };
        for variation in [0.0, 1.0, 2.0] {
            // A cycle of two seconds at a mean rate of 1000 has 2000 arrivals, 250 per unit of weight.
            let mut counts = [0u32; 4];
            for due in dues(schedule(process(variation), 1000.0), 100 * 2000) {
                counts[(due % (2 * SECOND) / (SECOND / 2)) as usize] += 1;
            }
            assert_eq!(counts, [25_000, 0, 75_000, 100_000], "{variation}");
        }
    }

    #[test]
    fn a_look_is_as_long_as_it_may_be_and_the_next_goes_on() {
        let mut schedule = schedule(ArrivalProcess::Linear, 1000.0);
        let waiting: Vec<u64> = (0..4).map(|_| schedule.waiting(2 * SECOND, 400)).collect();
        assert_eq!(waiting, [400, 800, 1001, 1001]);
    }

    proptest! {
        #[test]
        fn those_that_wait_are_those_that_are_due(
            process in prop_oneof![
                Just(ArrivalProcess::Linear),
                Just(ArrivalProcess::Poisson),
                Just(ArrivalProcess::Gamma { variation: 3.0 }),
                Just(ArrivalProcess::OnOff {
                                        busy: Duration::from_millis(3), idle: Duration::from_millis(40), poisson: true,
                }),
                Just(ArrivalProcess::Steps {
                    length: Duration::from_millis(7), weights: vec![0.0, 3.0, 0.5], variation: 2.0,
                }),
            ],
            looks in prop::collection::vec((0u64..20_000_000, 0usize..40), 1..50),
        ) {
            let all = dues(schedule(process.clone(), 1000.0), 4000);
            let mut schedule = schedule(process, 1000.0);
            let (mut now, mut taken) = (SECOND, 0);
            for (span, takes) in looks {
                now += span;
                let due = all.iter().filter(|&&due| due + SECOND <= now).count();
                prop_assume!(due < all.len());
                prop_assert_eq!(schedule.waiting(now, u64::MAX), due as u64 - taken);
                for _ in 0..takes.min(due - taken as usize) {
                    schedule.take();
                    taken += 1;
                }
            }
        }
    }
}
