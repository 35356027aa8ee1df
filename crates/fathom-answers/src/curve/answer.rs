//! Evaluates a curve: its steps, its knee, and the highest rate that meets the limits.

use super::measure::MeasuredLoad;
use super::next::{is_sustained, verdict};
use super::objective::{Objective, ResponseFigure};
use super::plan::LEAST_RUNS;
use super::record::RecordedCurve;
use fathom_stats::inference::{Interval, median};
use fathom_stats::split_mix::split_mix;

/// Percentiles of a step that are shown.
pub(crate) const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];
/// Number of bootstrap samples for an interval.
const DRAWS: usize = 1000;
/// Seed of the bootstrap; it is fixed, so that the same results always give the same interval.
const SEED: u64 = 1;

/// A load together with the results of its runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadStep {
    /// Offered I/Os per second.
    pub(crate) rate: f64,
    /// Number of valid runs.
    pub(crate) runs: usize,
    /// I/Os per second that became due, and I/Os per second that completed.
    pub(crate) offered: f64,
    pub(crate) served: f64,
    /// Response times at [`PERCENTILES`], ns: the median over the runs and its interval.
    pub(crate) percentiles: [Option<(f64, Option<Interval>)>; PERCENTILES.len()],
    /// Mean response time, ns.
    pub(crate) mean_ns: f64,
    /// Mean number of waiting I/Os.
    pub(crate) backlog: f64,
    /// True if the backlog does not grow.
    pub(crate) is_sustained: bool,
    /// p99 of the tester's own delay, ns.
    pub(crate) own_delay_ns: f64,
}

/// The curve of one combination of varied values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// `bs=4k`; empty when nothing varies.
    pub(crate) name: String,
    /// Rate without a rate limit, if it was measured.
    pub(crate) capacity: Option<f64>,
    /// Ascending.
    pub(crate) steps: Vec<LoadStep>,
    /// Index of the step with the highest ratio of rate to response time.
    pub(crate) knee: Option<usize>,
    /// The highest rate within the limits, if limits were given.
    pub(crate) highest: Option<Highest>,
}

/// The highest rate that meets all limits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Highest {
    /// Estimated.
    Found {
        /// I/Os per second.
        rate: f64,
        /// 95 % interval of the rate, if there are enough runs for one.
        interval: Option<Interval>,
    },
    /// All tried rates meet the limits, so the highest such rate is at least this one.
    AtLeast(f64),
    /// None of the tried rates meets the limits, so the highest such rate is below this one.
    Below(f64),
}

/// The curves of a results file.
pub(crate) fn curves(recorded: &RecordedCurve, objectives: &[Objective]) -> Vec<Curve> {
    (0..recorded.plan.curves()).map(|number| curve(recorded, number, objectives)).collect()
}

fn curve(recorded: &RecordedCurve, number: usize, objectives: &[Objective]) -> Curve {
    let loads: Vec<(f64, Vec<&MeasuredLoad>)> =
        recorded.rates_of(number).into_iter().map(|rate| (rate, recorded.runs_at(number, rate))).collect();
    let steps: Vec<LoadStep> = loads.iter().map(|(rate, runs)| step(*rate, runs)).collect();
    Curve {
        name: recorded.plan.name_of(number),
        capacity: recorded.capacity(number),
        knee: knee(&steps),
        highest: if objectives.is_empty() { None } else { highest(&loads, objectives) },
        steps,
    }
}

fn step(rate: f64, runs: &[&MeasuredLoad]) -> LoadStep {
    let middle = |value: &dyn Fn(&MeasuredLoad) -> f64| {
        let values: Vec<f64> = runs.iter().map(|run| value(run)).collect();
        median::median(&values).unwrap_or(0.0)
    };
    let percentiles = PERCENTILES.map(|percent| {
        let values: Vec<f64> =
            runs.iter().filter_map(|run| run.figure(None, ResponseFigure::Percentile(percent))).collect();
        let has_interval = values.len() >= LEAST_RUNS as usize;
        let interval = median::interval(&values).filter(|_| has_interval).map(Interval::not_below_zero);
        Some((median::median(&values)?, interval))
    });
    LoadStep {
        rate,
        runs: runs.len(),
        offered: middle(&|run| run.offered),
        served: middle(&|run| run.served),
        percentiles,
        mean_ns: middle(&|run| run.figure(None, ResponseFigure::Mean).unwrap_or(0.0)),
        backlog: middle(&|run| run.backlog),
        is_sustained: is_sustained(runs),
        own_delay_ns: middle(&|run| run.own_delay_ns),
    }
}

/// L. Kleinrock's "power", rate divided by response time, is largest where more load begins to cost more than
/// it brings ("Power and deterministic rules of thumb for probabilistic problems in computer communications",
/// ICC 1979).
fn knee(steps: &[LoadStep]) -> Option<usize> {
    let power = |step: &LoadStep| step.served / step.mean_ns;
    let all = steps.iter().enumerate().filter(|(_, step)| step.is_sustained && step.mean_ns > 0.0);
    let best = all.max_by(|a, b| power(a.1).total_cmp(&power(b.1)))?.0;
    // A maximum at either end is not a knee, because the curve may continue beyond it.
    (best > 0 && best + 1 < steps.len()).then_some(best)
}

/// Estimates the rate at which a limit is first missed. Its interval comes from resampling the runs of each
/// step (bootstrap).
fn highest(loads: &[(f64, Vec<&MeasuredLoad>)], objectives: &[Objective]) -> Option<Highest> {
    let first = loads.first()?.0;
    let fewest = loads.iter().position(|(_, runs)| !verdict(runs, objectives)).map_or(0, |bad| {
        loads[bad.saturating_sub(1)..=bad].iter().map(|(_, runs)| runs.len()).min().unwrap_or(0)
    });
    let rate = match crossing(loads, objectives) {
        Crossing::At(rate) => rate,
        Crossing::Above(rate) => return Some(Highest::AtLeast(rate)),
        Crossing::Below => return Some(Highest::Below(first)),
    };
    if fewest < LEAST_RUNS as usize {
        return Some(Highest::Found { rate, interval: None });
    }
    let mut state = SEED;
    let mut drawn: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let again: Vec<(f64, Vec<&MeasuredLoad>)> = loads
                .iter()
                .map(|(rate, runs)| {
                    let pick = |_| runs[(split_mix(&mut state) % runs.len() as u64) as usize];
                    (*rate, (0..runs.len()).map(pick).collect())
                })
                .collect();
            match crossing(&again, objectives) {
                Crossing::At(rate) | Crossing::Above(rate) => rate,
                Crossing::Below => first,
            }
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let end = |share: f64| drawn[((DRAWS - 1) as f64 * share).round() as usize];
    let (low, high) = (end(0.025).min(rate), end(0.975).max(rate));
    Some(Highest::Found { rate, interval: Some(Interval { low, high }) })
}

enum Crossing {
    At(f64),
    Above(f64),
    Below,
}

/// Interpolates between the last good load and the first bad one, by the logarithms of the ratios of the worst
/// figure to its limit. If the backlog grows at the bad load, the response time has no stable value, so the
/// middle is used.
fn crossing(loads: &[(f64, Vec<&MeasuredLoad>)], objectives: &[Objective]) -> Crossing {
    let Some(bad) = loads.iter().position(|(_, runs)| !verdict(runs, objectives)) else {
        return loads.last().map_or(Crossing::Below, |(rate, _)| Crossing::Above(*rate));
    };
    let Some(good) = bad.checked_sub(1) else { return Crossing::Below };
    let (low, high) = (&loads[good], &loads[bad]);
    let excess = |runs: &[&MeasuredLoad], objective: &Objective| {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.value_of(objective)).collect();
        Some((median::median(&values)?.max(1.0) / objective.limit_ns).ln())
    };
    let share = objectives
        .iter()
        .filter_map(|objective| {
            let (below, above) = (excess(&low.1, objective)?, excess(&high.1, objective)?);
            (above > 0.0).then(|| (-below / (above - below)).clamp(0.0, 1.0))
        })
        .reduce(f64::min);
    let share = if is_sustained(&high.1) { share.unwrap_or(0.5) } else { share.unwrap_or(0.5).min(0.5) };
    Crossing::At(low.0 + share * (high.0 - low.0))
}
