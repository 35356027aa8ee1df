//! Measures a run at an offered load.

use super::objective::{Objective, ResponseFigure};
use fathom_results::RunResult;
use fathom_stats::latency::at_most;
use fathom_stats::{Direction, Histogram, PerDirection};

/// Minimum share of arrivals that wait at the end of a run for its backlog to count as growing.
const LEAST_LEFT: f64 = 0.01;
/// Minimum ratio of the final backlog to its mean: a steadily growing backlog ends at twice its mean, a stable
/// one anywhere around it.
const LEAST_GROWTH: f64 = 1.5;
/// Number of arrivals that may have come just before the end by chance.
const CHANCE: f64 = 3.0;

/// The figures of a run, summed over all jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MeasuredLoad {
    /// I/Os per second that became due.
    pub(super) offered: f64,
    /// I/Os per second that completed.
    pub(super) served: f64,
    /// I/Os still waiting at the end.
    pub(super) waiting: u64,
    /// Mean number of waiting I/Os.
    pub(super) backlog: f64,
    /// True if the backlog grew.
    pub(super) is_growing: bool,
    /// p99 of fathom's own delay, ns; the maximum over all jobs.
    pub(super) own_delay_ns: f64,
    /// Response times of each direction.
    pub(super) responses: PerDirection<Histogram>,
    sum_ns: PerDirection<f64>,
    max_ns: PerDirection<f64>,
}

impl MeasuredLoad {
    /// The figures of a result whose jobs ran in open loops.
    pub(super) fn of(result: &RunResult) -> MeasuredLoad {
        let mut all = MeasuredLoad::default();
        let mut due = 0;
        for job in &result.jobs {
            for (direction, figures) in Direction::ALL.into_iter().zip(job.directions()) {
                let Some(figures) = figures else { continue };
                all.served += figures.iops;
                let (Some(arrivals), Some(response)) = (&figures.arrivals, &figures.response) else {
                    continue;
                };
                due += arrivals.due;
                all.offered += arrivals.offered_iops;
                all.waiting += arrivals.waiting;
                all.backlog += arrivals.backlog_mean;
                all.own_delay_ns = all.own_delay_ns.max(arrivals.own_delay.percentile(99.0).unwrap_or(0.0));
                all.responses[direction].merge(&response.histogram().unwrap_or_default());
                all.sum_ns[direction] += response.mean_ns * response.count as f64;
                all.max_ns[direction] = all.max_ns[direction].max(response.max_ns);
            }
        }
        let waiting = all.waiting as f64;
        all.is_growing = waiting > LEAST_LEFT * due as f64 && waiting > LEAST_GROWTH * all.backlog + CHANCE;
        all
    }

    /// Value of the objective's figure, ns; `None` without such I/O.
    pub(super) fn value_of(&self, objective: &Objective) -> Option<f64> {
        self.figure(objective.direction, objective.figure)
    }

    /// A figure of the response times of one direction, or of all directions; `None` without I/O.
    pub(super) fn figure(&self, direction: Option<Direction>, figure: ResponseFigure) -> Option<f64> {
        let wanted = |own: &Direction| direction.is_none_or(|direction| direction == *own);
        let directions = || Direction::ALL.into_iter().filter(wanted);
        let mut histogram = Histogram::default();
        directions().for_each(|own| histogram.merge(&self.responses[own]));
        let count = histogram.count();
        if count == 0 {
            return None;
        }
        match figure {
            ResponseFigure::Percentile(percent) => {
                let largest = directions().map(|own| self.max_ns[own]).fold(0.0, f64::max);
                histogram.percentiles(&[percent]).first().map(|&ns| at_most(ns, largest as u64) as f64)
            }
            ResponseFigure::Mean => {
                Some(directions().map(|own| self.sum_ns[own]).sum::<f64>() / count as f64)
            }
            ResponseFigure::Max => directions().map(|own| self.max_ns[own]).reduce(f64::max),
        }
    }
}

/// I/Os per second of a run without a schedule, summed over all jobs.
pub(super) fn rate_of(result: &RunResult) -> f64 {
    let directions = result.jobs.iter().flat_map(|job| job.active());
    directions.map(|(_, figures)| figures.iops).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(waiting: u64, backlog: f64) -> MeasuredLoad {
        run_of(1000, waiting, backlog)
    }

    fn run_of(due: u64, waiting: u64, backlog: f64) -> MeasuredLoad {
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","read":{{"total_ios":1000,"iops":100,"io_bytes":1,
            "resp_ns":{{"N":1000,"mean":2000,"max":9000,"bins":{{"1000":900,"9000":100}}}},
            "arrivals":{{"due":{due},"offered_iops":110,"waiting":{waiting},"backlog_mean":{backlog},
            "own_delay_ns":{{"percentile":{{"99.000000":700}}}}}}}}}}]}}"#
        );
        MeasuredLoad::of(&fathom_results::parse(&text, "text").expect("reads"))
    }

    #[test]
    fn figures_of_a_run() {
        let run = run(0, 0.5);
        assert_eq!((run.offered, run.served, run.own_delay_ns, run.is_growing), (110.0, 100.0, 700.0, false));
        let p95 = run.figure(None, ResponseFigure::Percentile(95.0)).expect("reads");
        assert!((p95 - 9000.0).abs() < 80.0, "{p95}");
        assert_eq!(run.figure(Some(Direction::Read), ResponseFigure::Mean), Some(2000.0));
        assert_eq!(run.figure(Some(Direction::Write), ResponseFigure::Max), None);
    }

    #[test]
    fn a_backlog_grows_if_its_end_is_more_than_its_mean() {
        assert!(run(200, 100.0).is_growing);
        assert!(!run(200, 190.0).is_growing, "it stays about as long");
        assert!(!run(9, 1.0).is_growing, "few");
        assert!(!run_of(50, 1, 0.01).is_growing, "it came last");
        assert!(run_of(50, 25, 12.5).is_growing, "half of them");
    }
}
