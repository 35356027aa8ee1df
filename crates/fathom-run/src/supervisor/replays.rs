//! Reports how punctually the entries of logs were replayed.

use super::Supervisor;
use crate::crew::Figures;
use fathom_stats::report::ReplayReport;

impl Supervisor<'_> {
    /// Replay statistics of each job.
    pub(super) fn replays(&self, figures: &[Figures]) -> Vec<ReplayReport> {
        let mut reports: Vec<(usize, ReplayReport)> = Vec::new();
        for (index, worker) in self.plan.workers.iter().enumerate() {
            let Some(plan) = &worker.replay else { continue };
            if reports.last().is_none_or(|(job, _)| *job != worker.job) {
                let job = worker.name.clone();
                reports.push((worker.job, ReplayReport { job, ..ReplayReport::default() }));
            }
            let Some((_, report)) = reports.last_mut() else { continue };
            report.entries += plan.scan.entries();
            report.lateness.merge(&figures[index].lateness);
            if !report.logs.contains(&plan.name) {
                report.logs.push(plan.name.clone());
            }
        }
        reports.into_iter().map(|(_, report)| report).collect()
    }

    /// Notes on the pace of a replay.
    pub(super) fn notes_of_replays(&self, replays: &[ReplayReport]) -> Vec<String> {
        let timed = replays.iter().filter(|report| report.lateness.count > 0);
        let note = |report: &ReplayReport| {
            let lateness = &report.lateness;
            let percentiles = lateness.percentiles(&[50.0, 99.0]);
            let us = |ns: f64| format!("{:.1}", ns / 1000.0);
            format!(
                "job {}: replayed on time within (usec): mean={}, 50th={}, 99th={}, max={}, of {} I/Os with a time in {}",
                report.job,
                us(lateness.mean_ns()),
                us(percentiles.first().copied().unwrap_or(0) as f64),
                us(percentiles.get(1).copied().unwrap_or(0) as f64),
                us(lateness.max_ns as f64),
                lateness.count,
                report.logs.join(" ")
            )
        };
        timed.map(note).collect()
    }
}
