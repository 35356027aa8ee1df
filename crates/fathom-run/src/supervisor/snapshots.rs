//! Reports for external viewers at regular intervals: the counters so far and the state of each job.

use super::Supervisor;
use super::gather::Occasion;
use crate::crew::WorkerState;
use fathom_stats::moment::JobMoment;

impl Supervisor<'_> {
    pub(super) fn take_snapshot_if_due(&mut self, now_ns: u64) {
        if self.snapshots.is_due(now_ns) {
            let report = self.report(Occasion::Snapshot);
            self.observer.snapshot(&report);
        }
    }

    /// State of a clone.
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
