//! Effect size: the difference relative to the variation between runs.

use super::distributions::ln_gamma;
use super::{mean, variance};

/// Computes Hedges' g: the difference of the means in standard deviations, corrected for small sets. `None`
/// unless both sets have two values and at least one of them varies.
///
/// Source: L. V. Hedges, "Distribution theory for Glass's estimator of effect size and related estimators", Journal of
/// Educational Statistics 6 (1981), with the exact correction.
pub fn hedges_g(first: &[f64], second: &[f64]) -> Option<f64> {
    if first.len() < 2 || second.len() < 2 {
        return None;
    }
    let squares = |values: &[f64]| variance(values) * (values.len() as f64 - 1.0);
    let degrees = (first.len() + second.len() - 2) as f64;
    let deviation = ((squares(first) + squares(second)) / degrees).sqrt();
    let correction =
        (ln_gamma(degrees / 2.0) - ln_gamma((degrees - 1.0) / 2.0)).exp() / (degrees / 2.0).sqrt();
    (deviation > 0.0).then(|| correction * (mean(second) - mean(first)) / deviation)
}

/// Computes Cliff's delta, from -1 to 1: the share of pairs in which the second set's value is larger, less the
/// share in which it is smaller. `None` if a set is empty.
///
/// Source: N. Cliff, "Dominance statistics: ordinal analyses to answer ordinal questions", Psychological Bulletin 114
/// (1993).
pub fn cliffs_delta(first: &[f64], second: &[f64]) -> Option<f64> {
    let pairs = (first.len() * second.len()) as f64;
    let sign = |a: &f64, b: &f64| f64::from(i8::from(b > a) - i8::from(b < a));
    let sum: f64 = first.iter().flat_map(|a| second.iter().map(move |b| sign(a, b))).sum();
    (pairs > 0.0).then(|| sum / pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_cases() {
        let (low, high) = ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]);
        // The means are one standard deviation apart; the correction for four degrees of freedom is 0.7979.
        let g = hedges_g(&low, &high).expect("there are enough");
        assert!((g - 0.797_884_56).abs() < 1e-6, "{g}");
        assert!((cliffs_delta(&low, &high).expect("values") - 5.0 / 9.0).abs() < 1e-12);
        assert_eq!(cliffs_delta(&low, &[9.0]), Some(1.0));
        assert_eq!((hedges_g(&low, &[9.0]), hedges_g(&[1.0; 3], &[1.0; 3])), (None, None));
    }

    proptest! {
        #[test]
        fn signs_follow_the_order(first in prop::collection::vec(0.0f64..50.0, 2..12), second in prop::collection::vec(0.0f64..50.0, 2..12)) {
            let (there, back) = (cliffs_delta(&first, &second), cliffs_delta(&second, &first));
            prop_assert_eq!(there.map(|delta| -delta), back.map(|delta| delta + 0.0));
            if let (Some(there), Some(back)) = (hedges_g(&first, &second), hedges_g(&second, &first)) {
                prop_assert!((there + back).abs() < 1e-9);
            }
        }
    }
}
