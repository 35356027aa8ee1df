//! The place of a change between two levels: the maximum of the likelihood, in which far values count less.

use crate::energy::FEWEST_OF_A_SEGMENT;
use crate::robust::{centre, mad};

/// Residuals beyond this many standard deviations count linearly. Source: P. J. Huber, "Robust estimation of a location
/// parameter", Annals of Mathematical Statistics 35 (1964).
const HUBER: f64 = 1.345;
/// Loss of likelihood up to which a place is possible; covers 95 % of steps (`examples/proof.rs`).
const POSSIBLE: f64 = 3.0;

/// Where a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Number of runs before the change.
    pub(crate) place: usize,
    /// Earliest and latest possible place.
    pub(crate) range: (usize, usize),
}

/// Moves the place of a change to where the levels before and after it fit best. `effective` is the share of
/// information in correlated runs.
pub(crate) fn locate(logs: &[f64], place: usize, effective: f64) -> Location {
    let levels = (centre(&logs[..place]), centre(&logs[place..]));
    let residuals: Vec<f64> = logs
        .iter()
        .enumerate()
        .map(|(index, log)| log - if index < place { levels.0 } else { levels.1 })
        .collect();
    let scale = mad(&residuals).max((levels.1 - levels.0).abs() * 1e-6).max(f64::MIN_POSITIVE);
    // Sum of what the runs before a place lose by belonging to the level before instead of the one after.
    let mut loss = 0.0;
    let mut losses = vec![0.0];
    for log in logs {
        loss += huber((log - levels.0) / scale) - huber((log - levels.1) / scale);
        losses.push(loss);
    }
    let allowed = FEWEST_OF_A_SEGMENT..=logs.len() - FEWEST_OF_A_SEGMENT;
    let best = allowed.clone().min_by(|a, b| losses[*a].total_cmp(&losses[*b])).unwrap_or(place);
    let possible = |at: &usize| losses[*at] - losses[best] <= POSSIBLE / effective;
    let earliest = allowed.clone().find(possible).unwrap_or(best);
    let latest = allowed.rev().find(possible).unwrap_or(best);
    Location { place: best, range: (earliest, latest) }
}

/// Huber's loss.
fn huber(residual: f64) -> f64 {
    let distance = residual.abs();
    if distance <= HUBER { 0.5 * distance * distance } else { HUBER * (distance - 0.5 * HUBER) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_beside_the_step_moves_to_it() {
        let logs: Vec<f64> =
            (0..40).map(|i| f64::from(i % 3) * 0.1 + if i < 17 { 0.0 } else { 1.0 }).collect();
        for place in [12, 17, 24] {
            assert_eq!(locate(&logs, place, 1.0), Location { place: 17, range: (17, 17) });
        }
    }

    #[test]
    fn a_step_between_equal_runs_is_where_it_is() {
        let logs: Vec<f64> = (0..30).map(|i| if i < 11 { 0.0 } else { 1.0 }).collect();
        assert_eq!(locate(&logs, 11, 1.0).place, 11);
    }
}
