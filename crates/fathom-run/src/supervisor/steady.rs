//! `steadystate`: samples the jobs' figures, and ends jobs that have reached steady state, without involving
//! the workers.

use super::Supervisor;
use crate::crew::{Crew, Order};
use crate::plan::Plan;
use crate::plan::model::report::SteadyPlan;
use fathom_stats::report::{SteadyStateMetric, SteadyStateReport};
use fathom_stats::steady_state::{Criterion, Judgement, Sample, Window};
use std::time::Duration;

/// Clones that are assessed together: a single clone, or all clones of a group with `group_reporting`.
pub(super) struct SteadyGroup {
    /// Indices of the clones.
    members: Vec<usize>,
    criterion: Criterion,
    ramp_ns: u64,
    interval_ns: u64,
    duration: Duration,
    window: Window,
    judgement: Judgement,
    attained: bool,
    /// Start of the current sampling step; set once the clones record.
    step: Option<Step>,
}

/// Totals of the clones at the start of a sampling step.
#[derive(Clone, Copy)]
struct Step {
    since_ns: u64,
    /// Sum of the clones' epochs; it changes when a clone resets its figures.
    epochs: u64,
    ios: u64,
    bytes: u64,
    latencies: u64,
    latency_sum_ns: u64,
}

/// All groups of a plan.
pub(super) fn groups(plan: &Plan) -> Vec<SteadyGroup> {
    let mut groups: Vec<SteadyGroup> = Vec::new();
    for (index, worker) in plan.workers.iter().enumerate() {
        let Some(steady) = &worker.steady else { continue };
        let mut group = SteadyGroup::of(steady);
        let partner = groups.iter_mut().find(|group| {
            let first = &plan.workers[group.members[0]];
            let grouped = worker.report.is_grouped && first.report.is_grouped;
            grouped && first.group_id == worker.group_id
        });
        match partner {
            Some(partner) => partner.members.push(index),
            None => {
                group.members.push(index);
                groups.push(group);
            }
        }
    }
    groups
}

impl SteadyGroup {
    fn of(plan: &SteadyPlan) -> SteadyGroup {
        let length = plan.duration.as_nanos() as u64 / plan.interval_ns;
        SteadyGroup {
            members: Vec::new(),
            criterion: plan.criterion,
            ramp_ns: plan.ramp_ns,
            interval_ns: plan.interval_ns,
            duration: plan.duration,
            window: Window::new(length as usize),
            judgement: Judgement::default(),
            attained: false,
            step: None,
        }
    }

    /// Time until the next sample is due.
    pub(super) fn time_to_next(&self, now_ns: u64) -> Duration {
        match &self.step {
            Some(step) if !self.attained => {
                Duration::from_nanos((step.since_ns + self.interval_ns).saturating_sub(now_ns))
            }
            _ => Duration::MAX,
        }
    }

    /// Takes a sample if one is due; true when the group has just reached steady state.
    fn sample(&mut self, crew: &dyn Crew, now_ns: u64) -> bool {
        if self.attained {
            return false;
        }
        let start = self.members.iter().map(|&index| crew.state(index).start_ns).min();
        // A group has figures only while all of its clones are recording.
        let Some(begin) = start.filter(|&start| start != 0).map(|start| start + self.ramp_ns) else {
            return false;
        };
        if now_ns < begin {
            return false;
        }
        let totals = self.totals(crew, now_ns);
        let Some(step) = self.step.filter(|step| step.epochs == totals.epochs) else {
            self.window.clear();
            self.step = Some(totals);
            return false;
        };
        if now_ns < step.since_ns + self.interval_ns {
            return false;
        }
        self.window.push(totals.since(&step));
        self.step = Some(totals);
        if let Some(judgement) = self.window.judge(&self.criterion) {
            self.judgement = judgement;
            self.attained = judgement.attained;
        }
        self.attained
    }

    fn totals(&self, crew: &dyn Crew, now_ns: u64) -> Step {
        let mut totals =
            Step { since_ns: now_ns, epochs: 0, ios: 0, bytes: 0, latencies: 0, latency_sum_ns: 0 };
        for &index in &self.members {
            let state = crew.state(index);
            totals.epochs += state.epoch;
            for direction in state.directions.values() {
                totals.ios += direction.ios;
                totals.bytes += direction.bytes;
                totals.latencies += direction.latencies;
                totals.latency_sum_ns += direction.latency_sum_ns;
            }
        }
        totals
    }

    /// The result of the criterion so far.
    fn report(&self) -> SteadyStateReport {
        let latency = self.criterion.metric == SteadyStateMetric::Latency;
        SteadyStateReport {
            metric: self.criterion.metric,
            slope_mode: self.criterion.slope,
            percent: self.criterion.percent,
            limit: self.criterion.limit,
            duration_seconds: self.duration.as_secs(),
            attained: self.attained,
            criterion: self.judgement.criterion,
            max_deviation: self.judgement.max_deviation,
            slope: self.judgement.slope,
            iops: self.window.figures(|sample| sample.iops),
            bytes_per_second: self.window.figures(|sample| sample.bytes_per_second),
            latency_ns: if latency { self.window.figures(|sample| sample.latency_ns) } else { Vec::new() },
        }
    }
}

impl Step {
    /// The rates since an earlier step.
    fn since(&self, earlier: &Step) -> Sample {
        let span_ns = u128::from((self.since_ns - earlier.since_ns).max(1));
        // The rates are rounded, because samples are slightly late: 500 I/Os in 1.0001 s count as 500 per
        // second.
        let per_second = |now: u64, before: u64| {
            ((u128::from(now.saturating_sub(before)) * 1_000_000_000 + span_ns / 2) / span_ns) as u64
        };
        let latencies = self.latencies.saturating_sub(earlier.latencies).max(1);
        Sample {
            iops: per_second(self.ios, earlier.ios),
            bytes_per_second: per_second(self.bytes, earlier.bytes),
            latency_ns: self.latency_sum_ns.saturating_sub(earlier.latency_sum_ns) / latencies,
        }
    }
}

impl Supervisor<'_> {
    /// Samples jobs with a steady-state criterion, and ends those that have reached it.
    pub(super) fn watch_steady_states(&mut self, now_ns: u64) {
        let mut settled = Vec::new();
        for group in &mut self.steady {
            let is_running = group.members.iter().any(|&index| self.tracked[index].is_started());
            if is_running && group.sample(self.crew, now_ns) {
                settled.extend(&group.members);
            }
        }
        for index in settled {
            self.tell(index, Order::Stop);
        }
    }

    /// The result of the steady-state criterion of a clone.
    pub(super) fn steady_state_of(&self, index: usize) -> Option<SteadyStateReport> {
        self.steady.iter().find(|group| group.members.contains(&index)).map(SteadyGroup::report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_late_sample_are_rounded() {
        let step = |since_ns, ios, bytes| Step {
            since_ns,
            epochs: 0,
            ios,
            bytes,
            latencies: ios,
            latency_sum_ns: ios * 70,
        };
        let sample = step(2_000_100_000, 750, 750 * 4096).since(&step(1_000_000_000, 250, 250 * 4096));
        assert_eq!((sample.iops, sample.latency_ns), (500, 70));
        assert_eq!(sample.bytes_per_second, 2_047_795);
    }
}
