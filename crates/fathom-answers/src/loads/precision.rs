//! How often a load is run, and whether it meets the limits.

use super::measure::MeasuredLoad;
use super::objective::{Objective, ResponseFigure};
use fathom_stats::inference::median;

/// Minimum number of runs of a load for an interval.
pub(crate) const LEAST_RUNS: u32 = 3;

/// The required precision of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precision {
    /// A load is repeated until half of its interval is at most this share of its p99, in percent.
    pub(crate) percent: f64,
    /// Maximum number of runs of a load.
    pub(crate) most_runs: u32,
}

impl Precision {
    /// A step needs no more runs if its interval is narrow, all limits are clearly met or missed, its backlog
    /// grows, or the maximum is reached.
    pub(crate) fn is_sure(&self, runs: &[&MeasuredLoad], objectives: &[Objective]) -> bool {
        let count = runs.len() as u32;
        if count >= self.most_runs {
            return true;
        }
        // A step with a growing backlog has no stable response time, so two such runs suffice.
        if count >= 2 && runs.iter().all(|run| run.is_growing) {
            return true;
        }
        if count < LEAST_RUNS {
            return false;
        }
        let is_narrow = |values: &[f64]| {
            let (Some(middle), Some(interval)) = (median::median(values), median::interval(values)) else {
                return false;
            };
            (interval.high - interval.low) / 2.0 <= self.percent / 100.0 * middle
        };
        let p99: Vec<f64> =
            runs.iter().filter_map(|run| run.figure(None, ResponseFigure::Percentile(99.0))).collect();
        let is_clear = |objective: &Objective| {
            let values: Vec<f64> = runs.iter().filter_map(|run| run.value_of(objective)).collect();
            median::interval(&values).is_some_and(|interval| {
                interval.high < objective.limit_ns || interval.low > objective.limit_ns
            })
        };
        is_narrow(&p99) || !objectives.is_empty() && objectives.iter().all(is_clear)
    }
}

/// True if the backlog does not grow and the medians meet all limits.
pub(crate) fn verdict(runs: &[&MeasuredLoad], objectives: &[Objective]) -> bool {
    let keeps = |objective: &Objective| {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.value_of(objective)).collect();
        median::median(&values).is_none_or(|middle| middle <= objective.limit_ns)
    };
    is_sustained(runs) && objectives.iter().all(keeps)
}

/// True if the backlog did not grow in more than half of the runs.
pub(crate) fn is_sustained(runs: &[&MeasuredLoad]) -> bool {
    2 * runs.iter().filter(|run| run.is_growing).count() < runs.len()
}

/// Says which limits concern I/Os that none of the runs had, so that nothing could miss them.
pub(crate) fn without_values(objectives: &[Objective], runs: &[&MeasuredLoad]) -> Vec<String> {
    let is_idle =
        |objective: &&Objective| !runs.is_empty() && runs.iter().all(|run| run.value_of(objective).is_none());
    let line = |objective: &Objective| {
        let what = objective
            .direction
            .map_or_else(|| "I/Os".to_owned(), |direction| format!("{}s", direction.word()));
        format!("{objective}: there were no {what}, so nothing could miss it.")
    };
    objectives.iter().filter(is_idle).map(line).collect()
}
