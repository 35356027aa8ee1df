//! Differences between two sets of runs.

use super::distributions::{student_cdf, student_quantile};
use super::{CONFIDENCE, Interval, mean, ranks, variance};

/// Number of runs on either side from which on ranks are used instead of means, so that a single outlier has no
/// influence.
pub const FEWEST_FOR_RANKS: usize = 5;

/// A difference with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The second set minus the first.
    pub value: f64,
    /// 95 % interval.
    pub interval: Interval,
    /// Two-sided probability that a difference this large occurs by chance.
    pub p_value: f64,
}

/// The ratio of the second set to the first, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio; 1 if the sets are equal.
    pub value: f64,
    /// 95 % interval.
    pub interval: Interval,
}

impl Ratio {
    /// True if the interval does not contain 1.
    pub fn is_distinguishable(&self) -> bool {
        !self.interval.contains(1.0)
    }
}

/// Returns the difference of means without assuming equal variances. `None` unless both sets have two values.
/// Source: B. L. Welch, "The generalization of Student's problem when several different population variances
/// are involved", Biometrika 34 (1947), with degrees of freedom after Satterthwaite (1946).
pub fn welch(first: &[f64], second: &[f64]) -> Option<Difference> {
    if first.len() < 2 || second.len() < 2 {
        return None;
    }
    let share = |values: &[f64]| variance(values) / values.len() as f64;
    let (own, other) = (share(first), share(second));
    let freedom = |share: f64, values: &[f64]| share * share / (values.len() as f64 - 1.0);
    let degrees = (own + other).powi(2) / (freedom(own, first) + freedom(other, second));
    Some(difference(mean(second) - mean(first), (own + other).sqrt(), degrees))
}

/// Returns the difference between one run and several, assuming that the single run has the same variance.
/// `None` unless one set has one value and the other at least two. Source: J. R. Crawford and D. C. Howell,
/// "Comparing an individual's test score against norms derived from small samples", The Clinical
/// Neuropsychologist 12 (1998).
pub fn one_against_several(first: &[f64], second: &[f64]) -> Option<Difference> {
    let several = match (first.len(), second.len()) {
        (1, 2..) => second,
        (2.., 1) => first,
        _ => return None,
    };
    let count = several.len() as f64;
    let error = (variance(several) * (1.0 + 1.0 / count)).sqrt();
    Some(difference(mean(second) - mean(first), error, count - 1.0))
}

fn difference(value: f64, error: f64, degrees: f64) -> Difference {
    // Runs with identical figures, such as those with a rate limit, leave no degrees of freedom.
    if error == 0.0 {
        let p_value = if value == 0.0 { 1.0 } else { 0.0 };
        return Difference { value, interval: Interval::around(value, 0.0), p_value };
    }
    let t = student_quantile(0.5 + CONFIDENCE / 2.0, degrees);
    let p_value = (2.0 * student_cdf(-(value / error).abs(), degrees)).min(1.0);
    Difference { value, interval: Interval::around(value, t * error), p_value }
}

/// Returns the ratio of the second set of runs to the first. It is computed on a logarithmic scale, so that
/// twice and half the speed are equally far from equal speed. `None` unless all values are positive and one set
/// has two of them. With five or more runs on each side, the Hodges-Lehmann shift is used, which is robust
/// against a single outlier. With fewer runs, Welch's difference of means is used; a single run on one side is
/// compared with the variation of the others.
pub fn ratio(first: &[f64], second: &[f64]) -> Option<Ratio> {
    let (first, second) = (logarithms(first)?, logarithms(second)?);
    let (value, interval) = match first.len().min(second.len()) >= FEWEST_FOR_RANKS {
        true => ranks::shift(&first, &second).map(|shift| (shift.value, shift.interval))?,
        false => welch(&first, &second)
            .or_else(|| one_against_several(&first, &second))
            .map(|difference| (difference.value, difference.interval))?,
    };
    Some(Ratio { value: value.exp(), interval: interval.map(f64::exp) })
}

fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let positive = values.iter().all(|value| *value > 0.0 && value.is_finite());
    positive.then(|| values.iter().map(|value| value.ln()).collect())
}

/// Returns the ratio of the second figure to the first, if each has its own interval. `None` unless all of them
/// are positive. Source: G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a
/// general approach", Statistics in Medicine 27 (2008), on a logarithmic scale.
pub fn ratio_of_estimates(first: (f64, Interval), second: (f64, Interval)) -> Option<Ratio> {
    let ends = [first.0, first.1.low, first.1.high, second.0, second.1.low, second.1.high];
    let ends = logarithms(&ends)?;
    let [a, a_low, a_high, b, b_low, b_high] = <[f64; 6]>::try_from(ends).ok()?;
    let value = b - a;
    let low = value - (b - b_low).hypot(a_high - a);
    let high = value + (b_high - b).hypot(a - a_low);
    Some(Ratio { value: value.exp(), interval: Interval { low: low.exp(), high: high.exp() } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::simulation::{Noise, coverage};
    use proptest::prelude::*;

    #[test]
    fn ratios_hold_the_truth_as_often_as_promised() {
        for (first, second) in [(2, 2), (3, 3), (5, 5), (10, 7), (1, 5), (4, 1)] {
            let share = coverage(|noise: &mut Noise| {
                let mut runs = |count, level: f64| -> Vec<f64> {
                    (0..count).map(|_| level * (0.05 * noise.normal()).exp()).collect()
                };
                let (first, second) = (runs(first, 100.0), runs(second, 120.0));
                ratio(&first, &second).expect("there are enough").interval.contains(1.2)
            });
            assert!(share > 0.935, "{share} with {first} and {second} runs");
        }
    }

    #[test]
    fn single_runs_and_zeros_say_nothing() {
        assert_eq!(ratio(&[1.0], &[2.0]), None);
        assert_eq!(ratio(&[0.0, 1.0], &[2.0, 3.0]), None);
        assert_eq!((welch(&[1.0], &[2.0, 3.0]), one_against_several(&[1.0], &[2.0])), (None, None));
    }

    #[test]
    fn runs_without_any_scatter() {
        let same = ratio(&[5.0, 5.0, 5.0], &[5.0, 5.0]).expect("there are enough");
        assert!(!same.is_distinguishable());
        let other = ratio(&[5.0, 5.0, 5.0], &[6.0, 6.0]).expect("there are enough");
        assert!(other.is_distinguishable() && (other.value - 1.2).abs() < 1e-12);
    }

    #[test]
    fn an_odd_run_does_not_decide() {
        let usual = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];
        let with_odd = [100.1, 100.9, 99.2, 100.4, 99.6, 10.0];
        assert!(!ratio(&usual, &with_odd).expect("there are enough").is_distinguishable());
        let faster: Vec<f64> = with_odd.iter().map(|value| value * 1.1).collect();
        let found = ratio(&usual, &faster).expect("there are enough");
        assert!((found.value - 1.1).abs() < 0.02, "{found:?}");
    }

    proptest! {
        #[test]
        fn the_other_way_round_is_the_inverse(first in prop::collection::vec(1.0f64..1e6, 1..9), second in prop::collection::vec(1.0f64..1e6, 2..9)) {
            let there = ratio(&first, &second).expect("there are enough");
            let back = ratio(&second, &first).expect("there are enough");
            prop_assert!((there.value * back.value - 1.0).abs() < 1e-9);
            prop_assert!((there.interval.low.ln() + back.interval.high.ln()).abs() < 1e-6 * there.interval.low.ln().abs().max(1.0));
        }

        #[test]
        fn estimates_without_width_divide(a in 1.0f64..1e9, b in 1.0f64..1e9, half in 0.0f64..0.5) {
            let exact = ratio_of_estimates((a, Interval::around(a, 0.0)), (b, Interval::around(b, 0.0))).expect("positive");
            prop_assert!((exact.value / (b / a) - 1.0).abs() < 1e-9);
            let wide = ratio_of_estimates((a, Interval::around(a, a * half)), (b, Interval::around(b, 0.0))).expect("positive");
            prop_assert!(wide.interval.low <= exact.interval.low * (1.0 + 1e-9) && wide.interval.high * (1.0 + 1e-9) >= exact.interval.high);
        }
    }
}
