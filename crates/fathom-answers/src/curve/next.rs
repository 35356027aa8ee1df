//! Chooses the next run. The choice depends only on the plan and the recorded runs, so a curve resumed after a
//! crash gives the same result.

use super::load::Load;
use super::plan::rounded;
use super::record::RecordedCurve;
use crate::loads::objective::Objective;
use crate::loads::precision::verdict;

/// Resolution of a search, which ends when the lowest bad rate exceeds the highest good one by no more than
/// this share.
const RESOLUTION: f64 = 0.03;
/// Initial rates of a search, as shares of the rate without a limit.
const FIRST: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// Maximum number of times that a search raises the rate while all rates so far were good, or lowers it while
/// none was.
const FURTHER: usize = 4;
/// Factor by which these steps raise or lower the rate.
const UP: f64 = 1.25;
const DOWN: f64 = 0.5;

/// The next run, and its number within its step, from 0; `None` when the curves are done.
pub(super) fn next(recorded: &RecordedCurve, objectives: &[Objective]) -> Option<(usize, Load)> {
    let plan = &recorded.plan;
    let needs_capacity = plan.searches || plan.rates.is_empty();
    let curves = 0..plan.curves();
    if needs_capacity && let Some(curve) = curves.clone().find(|&curve| recorded.capacity(curve).is_none()) {
        return Some((curve, Load::Closed));
    }
    match plan.searches {
        true => {
            curves.into_iter().find_map(|curve| Some((curve, next_of_search(recorded, curve, objectives)?)))
        }
        false => next_of_steps(recorded, objectives),
    }
}

/// Steps run in rounds of random order; a step that is precise enough is skipped.
fn next_of_steps(recorded: &RecordedCurve, objectives: &[Objective]) -> Option<(usize, Load)> {
    let plan = &recorded.plan;
    let steps: Vec<Vec<f64>> =
        (0..plan.curves()).map(|curve| plan.steps(recorded.capacity(curve).unwrap_or(0.0))).collect();
    let counts: Vec<usize> = steps.iter().map(Vec::len).collect();
    (0..plan.most_runs).find_map(|round| {
        let order = plan.order(&counts, round);
        let due =
            order.into_iter().map(|(curve, step)| (curve, steps[curve][step])).find(|&(curve, rate)| {
                let runs = recorded.runs_at(curve, rate);
                runs.len() == round as usize && !plan.precision().is_sure(&runs, objectives)
            });
        due.map(|(curve, rate)| (curve, Load::Offered(rate)))
    })
}

/// Bisects between the highest good rate and the lowest bad one.
fn next_of_search(recorded: &RecordedCurve, curve: usize, objectives: &[Objective]) -> Option<Load> {
    let plan = &recorded.plan;
    let capacity = recorded.capacity(curve).unwrap_or(0.0);
    if capacity < 1.0 {
        return None;
    }
    let begun = recorded.rates_of(curve);
    // A step that has begun is completed first.
    let unsure =
        begun.iter().find(|&&rate| !plan.precision().is_sure(&recorded.runs_at(curve, rate), objectives));
    if let Some(&rate) = unsure {
        return Some(Load::Offered(rate));
    }
    let first = FIRST.map(|share| rounded(share * capacity));
    if let Some(&rate) = first.iter().find(|rate| !begun.contains(rate)) {
        return Some(Load::Offered(rate));
    }
    let is_good = |rate: &f64| verdict(&recorded.runs_at(curve, *rate), objectives);
    // A good rate above a bad one does not count.
    let good = begun.iter().copied().take_while(is_good).last();
    let bad = begun.iter().copied().find(|rate| !is_good(rate));
    let next = match (good, bad) {
        (Some(good), Some(bad)) if bad / good <= 1.0 + RESOLUTION => return None,
        (Some(good), Some(bad)) => rounded((good + bad) / 2.0),
        (Some(good), None) if begun.len() < FIRST.len() + FURTHER => rounded(good * UP),
        (None, Some(bad)) if begun.len() < FIRST.len() + FURTHER => rounded(bad * DOWN),
        _ => return None,
    };
    (!begun.contains(&next)).then_some(Load::Offered(next))
}
