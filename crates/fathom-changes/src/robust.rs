//! Robust statistics of one sample: location and scale that a few odd runs cannot move, and scores by rank.

use fathom_stats::inference::median::median;

/// Scale of the median absolute deviation that makes it the standard deviation of normal values.
const MAD_OF_NORMAL: f64 = 1.482_602_218_505_602;
/// Winsorisation: values further from the median than this many robust standard deviations count as being there.
const WINSOR: f64 = 3.0;

/// Returns the median of values that are known to exist; 0 for none.
pub(crate) fn centre(values: &[f64]) -> f64 {
    median(values).unwrap_or(0.0)
}

/// Returns the median absolute deviation, scaled to be the standard deviation of normal values.
pub(crate) fn mad(values: &[f64]) -> f64 {
    let centre = centre(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    MAD_OF_NORMAL * self::centre(&distances)
}

/// Pulls values far from the median in, so that a spike counts as a high value and no more.
pub(crate) fn winsorised(values: &[f64]) -> Vec<f64> {
    let (centre, limit) = (centre(values), WINSOR * mad(values));
    match limit > 0.0 {
        true => values.iter().map(|value| value.clamp(centre - limit, centre + limit)).collect(),
        // More than half of the values are equal: nothing says what is far.
        false => values.to_vec(),
    }
}

/// Returns Rousseeuw and Croux' Qn, scaled to be the standard deviation of normal values: a quartile of the distances
/// between all pairs, of which half may be arbitrarily wrong. Source: P. J. Rousseeuw and C. Croux, "Alternatives to the
/// median absolute deviation", Journal of the American Statistical Association 88 (1993), with the correction for small samples by
/// Croux and Rousseeuw, "Time-efficient algorithms for two highly robust estimators of scale" (1992), for ten values or more.
pub(crate) fn qn(values: &[f64]) -> f64 {
    let count = values.len();
    let half = count / 2 + 1;
    let mut distances: Vec<f64> = values
        .iter()
        .enumerate()
        .flat_map(|(index, one)| values[..index].iter().map(move |other| (one - other).abs()))
        .collect();
    if distances.is_empty() {
        return 0.0;
    }
    let rank = half * (half - 1) / 2 - 1;
    let (_, quartile, _) = distances.select_nth_unstable_by(rank, f64::total_cmp);
    let n = count as f64;
    let correction = if count % 2 == 1 { n / (n + 1.4) } else { n / (n + 3.8) };
    2.2219 * correction * *quartile
}

/// Replaces values by normal scores: the normal quantiles of their ranks; equal values share the mean of their ranks.
/// The quantile is Tukey's lambda approximation (B. L. Joiner and J. R. Rosenblatt, "Some properties of the range in
/// samples from Tukey's symmetric lambda distributions", 1971), within 0.02 of the normal one: scores need no more.
pub(crate) fn normal_scores(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut scores = vec![0.0; values.len()];
    let mut below = 0;
    for ties in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = below as f64 + (ties.len() as f64 + 1.0) / 2.0;
        let share = rank / (values.len() as f64 + 1.0);
        let score = (share.powf(0.135) - (1.0 - share).powf(0.135)) / 0.1975;
        ties.iter().for_each(|index| scores[*index] = score);
        below += ties.len();
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::inference::distributions::normal_quantile;
    use proptest::prelude::*;

    #[test]
    fn scores_are_normal_quantiles() {
        let values: Vec<f64> = (0..999).map(f64::from).collect();
        for (index, score) in normal_scores(&values).iter().enumerate() {
            let wanted = normal_quantile((index as f64 + 1.0) / 1000.0);
            assert!((score - wanted).abs() < 0.025, "{index}: {score} for {wanted}");
        }
        assert_eq!(normal_scores(&[7.0; 5]), [0.0; 5]);
    }

    #[test]
    fn scales_of_normal_values_are_their_deviation() {
        let values: Vec<f64> = (1..200).map(|i| 3.0 * normal_quantile(f64::from(i) / 200.0)).collect();
        for (name, scale) in [("mad", mad(&values)), ("qn", qn(&values))] {
            assert!((scale / 3.0 - 1.0).abs() < 0.04, "{name}: {scale}");
        }
    }

    proptest! {
        #[test]
        fn a_third_of_wrong_values_does_not_break_the_scale(wrong in -1e6f64..1e6) {
            let values: Vec<f64> = (0..30).map(|i| if i % 3 == 0 { wrong } else { f64::from(i) }).collect();
            prop_assert!(mad(&values) < 60.0 && qn(&values) < 60.0);
            let pulled = winsorised(&values);
            prop_assert!(pulled.iter().all(|value| value.abs() < 300.0));
        }
    }
}
