//! Evaluates a rehearsal: its scales, the highest one that meets the limits, and the latencies at the recorded
//! rate.

use super::plan::Source;
use super::production::RecordedLatency;
use super::record::RecordedRehearsal;
use crate::loads::highest::{Highest, highest};
use crate::loads::measure::MeasuredLoad;
use crate::loads::objective::{Objective, ResponseFigure};
use crate::loads::precision::verdict;
use crate::loads::step::{LoadStep, PERCENTILES, step};
use fathom_stats::Direction;
use fathom_stats::inference::median;

/// A scale and the results of its runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScaleStep {
    /// The figures; `rate` is the scale.
    pub(crate) step: LoadStep,
    /// Length of a run in s, the median.
    pub(crate) seconds: f64,
}

/// Latencies of one direction at the recorded rate, ns: of the recording and of the target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compared {
    pub(crate) direction: Direction,
    pub(crate) recorded: RecordedLatency,
    /// Response times, which include the tester and the system call.
    pub(crate) response: Measured,
    /// Times in the block layer and the device, as in a recording; `None` if no layers could be recorded.
    pub(crate) block: Option<Measured>,
}

/// Figures of the target, ns: medians over the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// At [`PERCENTILES`].
    pub(crate) percentiles: [Option<f64>; PERCENTILES.len()],
    pub(crate) mean_ns: Option<f64>,
}

impl Compared {
    /// The figures that are next to the recorded ones.
    pub(crate) fn here(&self) -> Measured {
        self.block.unwrap_or(self.response)
    }
}

/// The evaluation of a results file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rehearsed {
    /// Ascending.
    pub(crate) steps: Vec<ScaleStep>,
    /// The highest scale within the limits; `None` without a run, and for dependencies without limits.
    pub(crate) highest: Option<Highest>,
    /// The limit that the lowest bad scale misses most, with its value there in ns.
    pub(crate) missed: Option<Missed>,
    /// Empty if the trace has no latencies, or the scale 1 was not run.
    pub(crate) compared: Vec<Compared>,
}

/// What the lowest bad scale misses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Missed {
    pub(crate) scale: f64,
    /// The limit and the figure; `None` if the backlog grows.
    pub(crate) limit: Option<(Objective, f64)>,
}

/// Evaluates a results file.
pub(crate) fn answer(recorded: &RecordedRehearsal, objectives: &[Objective]) -> Rehearsed {
    let loads: Vec<(f64, Vec<&MeasuredLoad>)> =
        recorded.scales().into_iter().map(|scale| (scale, recorded.runs_at(scale))).collect();
    let steps = loads.iter().map(|(scale, runs)| ScaleStep {
        step: step(*scale, runs),
        seconds: median::median(&recorded.seconds_at(*scale)).unwrap_or(0.0),
    });
    let has_answer = recorded.plan.source != Source::Dependencies || !objectives.is_empty();
    Rehearsed {
        steps: steps.collect(),
        highest: if has_answer { highest(&loads, objectives) } else { None },
        missed: missed(&loads, objectives),
        compared: compared(recorded),
    }
}

impl Rehearsed {
    /// True if the target carries this multiple of the load, false if it does not; `None` if that is unknown.
    pub(crate) fn carries(&self, scale: f64) -> Option<bool> {
        if self.missed.as_ref().is_some_and(|missed| missed.scale <= scale) {
            return Some(false);
        }
        match self.highest.as_ref()? {
            Highest::Found { rate, .. } => Some(*rate >= scale),
            Highest::AtLeast(rate) => (*rate >= scale).then_some(true),
            Highest::Below(_) => None,
        }
    }
}

/// The first bad scale, and the limit that is exceeded by the largest factor.
fn missed(loads: &[(f64, Vec<&MeasuredLoad>)], objectives: &[Objective]) -> Option<Missed> {
    let bad = |(_, runs): &&(f64, Vec<&MeasuredLoad>)| !verdict(runs, objectives);
    let (scale, runs) = loads.iter().find(bad)?;
    let over = objectives.iter().filter_map(|objective| {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.value_of(objective)).collect();
        let value = median::median(&values)?;
        (value > objective.limit_ns).then(|| (objective.clone(), value))
    });
    let limit = over.max_by(|a, b| (a.1 / a.0.limit_ns).total_cmp(&(b.1 / b.0.limit_ns)));
    Some(Missed { scale: *scale, limit })
}

fn compared(recorded: &RecordedRehearsal) -> Vec<Compared> {
    let runs = recorded.runs_at(1.0);
    let Some(production) = recorded.plan.production.as_ref().filter(|_| !runs.is_empty()) else {
        return Vec::new();
    };
    let of = |recorded: &RecordedLatency| {
        let direction = Direction::from_word(&recorded.direction)?;
        let response = measured(&runs, |run, figure| run.figure(Some(direction), figure));
        let block = measured(&runs, |run, figure| run.block_figure(direction, figure));
        let block = block.mean_ns.is_some().then_some(block);
        Some(Compared { direction, recorded: recorded.clone(), response, block })
    };
    production.latencies.iter().filter_map(of).collect()
}

fn measured(
    runs: &[&MeasuredLoad],
    figure_of: impl Fn(&MeasuredLoad, ResponseFigure) -> Option<f64>,
) -> Measured {
    let middle = |figure| {
        let values: Vec<f64> = runs.iter().filter_map(|run| figure_of(run, figure)).collect();
        median::median(&values)
    };
    Measured {
        percentiles: PERCENTILES.map(|percent| middle(ResponseFigure::Percentile(percent))),
        mean_ns: middle(ResponseFigure::Mean),
    }
}
