//! The highest load that meets the limits.

use super::measure::MeasuredLoad;
use super::objective::Objective;
use super::precision::{LEAST_RUNS, is_sustained, verdict};
use fathom_stats::inference::{Interval, median};
use fathom_stats::split_mix::split_mix;

/// Number of bootstrap samples for an interval.
const DRAWS: usize = 1000;
/// Seed of the bootstrap; it is fixed, so that the same results always give the same interval.
const SEED: u64 = 1;

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

/// Estimates the rate at which a limit is first missed. Its interval comes from resampling the runs of each
/// step (bootstrap).
pub(crate) fn highest(loads: &[(f64, Vec<&MeasuredLoad>)], objectives: &[Objective]) -> Option<Highest> {
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
