//! Comparison by ranks alone, which makes no assumptions about the distribution and is robust against outliers.

use super::distributions::{normal_cdf, normal_quantile};
use super::{CONFIDENCE, Interval, sorted};

/// Maximum product of the two counts for which probabilities are computed exactly instead of approximated.
const LARGEST_EXACT: usize = 2_500;

/// The outcome of the Mann-Whitney-Wilcoxon test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Number of pairs in which the first set's value is larger; a tie counts as half a pair.
    pub u: f64,
    /// Two-sided probability of ranks at least this uneven if both sets have the same distribution.
    pub p_value: f64,
}

/// A shift of location with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The shift from the first set to the second.
    pub value: f64,
    /// 95 % interval.
    pub interval: Interval,
}

/// Tests whether values of one set tend to be larger than those of the other. `None` if a set is empty. For
/// small sets without ties, the probability is exact; otherwise it is a normal approximation with corrections
/// for ties and continuity. Source: H. B. Mann and D. R. Whitney, "On a test of whether one of two random
/// variables is stochastically larger than the other", Annals of Mathematical Statistics 18 (1947), which has
/// the recurrence; the correction for ties from E. L. Lehmann, "Nonparametrics" (1975), section 1.4.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<RankTest> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let (m, n) = (first.len(), second.len());
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
    let u: f64 = pairs
        .map(|(a, b)| {
            if a > b {
                1.0
            } else if a == b {
                0.5
            } else {
                0.0
            }
        })
        .sum();
    let larger = u.max((m * n) as f64 - u);
    let all = sorted(&[first, second].concat());
    let runs: Vec<usize> = all.chunk_by(|a, b| a == b).map(<[f64]>::len).collect();
    let has_ties = runs.iter().any(|length| *length > 1);
    let p_value = match !has_ties && m * n <= LARGEST_EXACT {
        true => {
            // By symmetry, as many orders have a sum of at least `larger` as have at most the remainder.
            let smaller = m * n - larger as usize;
            2.0 * cumulative(m, n)[smaller]
        }
        false => {
            let total = (m + n) as f64;
            let ties: f64 = runs.iter().map(|&length| (length as f64).powi(3) - length as f64).sum();
            let spread = total + 1.0 - ties / (total * (total - 1.0));
            let deviation = ((m * n) as f64 / 12.0 * spread).sqrt();
            match deviation > 0.0 {
                true => 2.0 * normal_cdf(-((larger - (m * n) as f64 / 2.0 - 0.5) / deviation)),
                false => 1.0,
            }
        }
    };
    Some(RankTest { u, p_value: p_value.clamp(0.0, 1.0) })
}

/// Returns the shift between two sets: the median of all differences between a value of the second and a value
/// of the first. `None` if no 95 % interval exists, as for three values against three.
///
/// Source: J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics
/// 34 (1963); the interval from the same test, as in M. Hollander and D. A. Wolfe, "Nonparametric Statistical Methods".
pub fn shift(first: &[f64], second: &[f64]) -> Option<Shift> {
    let differences: Vec<f64> = first.iter().flat_map(|a| second.iter().map(move |b| b - a)).collect();
    let differences = sorted(&differences);
    let outer = outer_differences(first.len(), second.len())?;
    let value = super::median::median(&differences)?;
    let interval = Interval { low: differences[outer], high: differences[differences.len() - 1 - outer] };
    Some(Shift { value, interval })
}

/// Returns the number of differences outside of the interval on each side.
fn outer_differences(m: usize, n: usize) -> Option<usize> {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    if m * n > LARGEST_EXACT {
        let pairs = (m * n) as f64;
        let deviation = (pairs * (m + n + 1) as f64 / 12.0).sqrt();
        let outer = pairs / 2.0 - normal_quantile(1.0 - tail) * deviation;
        return (outer >= 1.0).then(|| outer as usize - 1);
    }
    let fits = cumulative(m, n).iter().take_while(|share| **share <= tail).count();
    fits.checked_sub(1)
}

/// Returns for each u from 0 to m·n the probability that U is at most u if all orders are equally likely.
/// Source: the recurrence of Mann and Whitney, with shares instead of counts to avoid overflow. The largest
/// value belongs to the first set with probability m / (m + n), and then adds n.
fn cumulative(m: usize, n: usize) -> Vec<f64> {
    // Each row is for a size of the first set, and the current size of the second.
    let mut rows: Vec<Vec<f64>> = (0..=m).map(|_| vec![1.0]).collect();
    for second in 1..=n {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for first in 1..=m {
            let of_first = first as f64 / (first + second) as f64;
            let mut row = vec![0.0; first * second + 1];
            for (u, chance) in next[first - 1].iter().enumerate() {
                row[u + second] += of_first * chance;
            }
            for (u, chance) in rows[first].iter().enumerate() {
                row[u] += (1.0 - of_first) * chance;
            }
            next.push(row);
        }
        rows = next;
    }
    let mut sum = 0.0;
    let chances = rows.pop().unwrap_or_default();
    chances
        .into_iter()
        .map(|chance| {
            sum += chance;
            sum
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::simulation::{Noise, coverage};
    use proptest::prelude::*;

    #[test]
    fn probabilities_are_counted_out() {
        for (m, n) in [(1, 1), (2, 3), (3, 3), (4, 2), (5, 4)] {
            // All assignments of m + n positions to the first set are counted.
            let mut counts = vec![0u32; m * n + 1];
            for places in (0u32..1 << (m + n)).filter(|places| places.count_ones() as usize == m) {
                let is_first = |place: &usize| places >> place & 1 == 1;
                let below = |place: usize| (0..place).filter(|other| !is_first(other)).count();
                counts[(0..m + n).filter(is_first).map(below).sum::<usize>()] += 1;
            }
            let total: u32 = counts.iter().sum();
            let mut sum = 0;
            for (u, share) in cumulative(m, n).iter().enumerate() {
                sum += counts[u];
                assert!((share - f64::from(sum) / f64::from(total)).abs() < 1e-12, "{m} {n} {u}");
            }
        }
    }

    #[test]
    fn three_against_three_have_no_interval() {
        let low = [1.0, 2.0, 3.0];
        assert_eq!(shift(&low, &[4.0, 5.0, 6.0]), None);
        // All values of one set exceed all values of the other, as in one of twenty orders in either direction.
        let test = mann_whitney(&low, &[4.0, 5.0, 6.0]).expect("there are values");
        assert!((test.p_value - 0.1).abs() < 1e-12);
        assert!(shift(&[1.0, 2.0, 3.0, 4.0], &[4.5, 5.0, 6.0, 7.0]).is_some());
    }

    #[test]
    fn equal_values_are_no_difference() {
        let test = mann_whitney(&[5.0; 6], &[5.0; 6]).expect("there are values");
        assert_eq!((test.u, test.p_value), (18.0, 1.0));
    }

    #[test]
    fn shifts_hold_the_truth_as_often_as_promised() {
        let share = coverage(|noise: &mut Noise| {
            // The values are skewed, as latencies are.
            let mut runs =
                |shift: f64| -> Vec<f64> { (0..6).map(|_| shift + noise.normal().exp()).collect() };
            let (first, second) = (runs(0.0), runs(2.0));
            shift(&first, &second).expect("there are enough").interval.contains(2.0)
        });
        assert!(share > 0.945, "{share}");
    }

    proptest! {
        #[test]
        fn the_test_has_no_favourite(first in prop::collection::vec(0.0f64..50.0, 1..12), second in prop::collection::vec(0.0f64..50.0, 1..12)) {
            let there = mann_whitney(&first, &second).expect("there are values");
            let back = mann_whitney(&second, &first).expect("there are values");
            prop_assert!((there.p_value - back.p_value).abs() < 1e-12);
            prop_assert!((there.u + back.u - (first.len() * second.len()) as f64).abs() < 1e-9);
        }

        #[test]
        fn shifts_follow_the_values(values in prop::collection::vec(-1e3f64..1e3, 4..10), by in -1e3f64..1e3) {
            let moved: Vec<f64> = values.iter().map(|value| value + by).collect();
            let found = shift(&values, &moved).expect("there are enough");
            prop_assert!((found.value - by).abs() < 1e-6);
            prop_assert!(found.interval.low <= by + 1e-6 && by - 1e-6 <= found.interval.high);
        }
    }
}
