//! Reports for whoever watches from outside, at regular times: what was counted so far, and where the jobs stand.

use super::gather::Occasion;
use super::{Observer, Supervisor};
use crate::crew::WorkerState;
use fathom_stats::moment::JobMoment;
use std::time::Duration;

/// When the next snapshot is due.
pub(super) struct SnapshotTimer {
    every_ns: u64,
    due_ns: u64,
}

impl SnapshotTimer {
    /// The first one comes as soon as there is something to see.
    pub(super) fn begin(every: Duration, now_ns: u64) -> SnapshotTimer {
        SnapshotTimer { every_ns: every.as_nanos() as u64, due_ns: now_ns }
    }

    pub(super) fn time_to_next(&self, now_ns: u64) -> Duration {
        Duration::from_nanos(self.due_ns.saturating_sub(now_ns))
    }

    /// Whether it is due. If so, the time to the next begins: one that is late is not made up for.
    fn is_due(&mut self, now_ns: u64) -> bool {
        let is_due = now_ns >= self.due_ns;
        if is_due {
            self.due_ns = now_ns + self.every_ns;
        }
        is_due
    }
}

impl<O: Observer> Supervisor<'_, O> {
    pub(super) fn take_snapshot_if_due(&mut self, now_ns: u64) {
        if self.snapshots.as_mut().is_some_and(|timer| timer.is_due(now_ns)) {
            let report = self.report(Occasion::Snapshot);
            self.observer.snapshot(&report);
        }
    }

    /// Where a clone in this state stands.
    pub(super) fn moment(&self, index: usize, state: &WorkerState) -> JobMoment {
        let worker = &self.plan.workers[index];
        let mut moment = JobMoment {
            states: vec![self.run_state(index, state)],
            waiting: worker.arrivals.as_ref().map(|_| state.waiting),
            errors: state.tolerated_errors + u64::from(state.has_failed),
            ..JobMoment::default()
        };
        if self.tracked[index].is_started() && state.stage.does_io() {
            let patience_ns = self.patience_ns(index, state);
            let in_flight = self.crew.in_flight(index);
            moment.asked_depth = u64::from(worker.report.latency_goal.depth);
            moment.in_flight = in_flight.len() as u64;
            moment.stuck = in_flight.iter().filter(|io| io.age_ns > patience_ns).count() as u64;
            moment.oldest_ns = in_flight.iter().map(|io| io.age_ns).max().unwrap_or(0);
        }
        moment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_snapshot_is_not_made_up_for() {
        let mut timer = SnapshotTimer::begin(Duration::from_nanos(100), 1000);
        assert!(timer.is_due(1000), "the first one is due at once");
        assert_eq!(timer.time_to_next(1040), Duration::from_nanos(60));
        assert!(!timer.is_due(1099));
        assert!(timer.is_due(1350));
        assert_eq!(timer.time_to_next(1350), Duration::from_nanos(100));
    }
}
