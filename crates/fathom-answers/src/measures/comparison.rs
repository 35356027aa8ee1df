//! Compares one figure of two sets of runs.

use super::figure::Figure;
use fathom_stats::inference::difference::{Ratio, ratio, ratio_of_estimates};
use fathom_stats::inference::{Interval, effect, median, ranks};

/// A figure in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Its value.
    pub(crate) value: f64,
    /// Its interval within the run.
    pub(crate) within: Option<Interval>,
}

/// The runs of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Median of the runs.
    pub(crate) median: f64,
    /// Its 95 % interval; for a single run, the interval within it.
    pub(crate) interval: Option<Interval>,
    /// Number of runs.
    pub(crate) runs: usize,
}

/// The verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparisonVerdict {
    /// B is better.
    Better,
    /// B is worse.
    Worse,
    /// The interval of the difference contains zero.
    NotDistinguishable,
    /// There is no interval.
    Unknown,
    /// The figures of a side are wrong.
    Refused,
}

/// How B differs from A in a figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// The figure.
    pub(crate) figure: Figure,
    /// The runs before.
    pub(crate) a: Summary,
    /// The runs after.
    pub(crate) b: Summary,
    /// Median of B over median of A, with its interval, if there is one.
    pub(crate) ratio: Option<Ratio>,
    /// The same without an interval; `None` if A is zero.
    pub(crate) plain_ratio: Option<f64>,
    /// Hedges' g, with two runs or more on each side.
    pub(crate) hedges_g: Option<f64>,
    /// Cliff's delta, likewise.
    pub(crate) cliffs_delta: Option<f64>,
    /// p-value of the Mann-Whitney test, likewise.
    pub(crate) rank_p: Option<f64>,
    /// The figures of a side are wrong, so the difference is not called real.
    pub(crate) is_refused: bool,
}

/// Summary of the runs of a side; `None` without any.
pub(crate) fn summary(samples: &[Sample]) -> Option<Summary> {
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let median = median::median(&values)?;
    let interval = match samples {
        [one] => one.within,
        _ => median::interval(&values).map(Interval::not_below_zero),
    };
    Some(Summary { median, interval, runs: samples.len() })
}

/// Compares a figure; `None` if a side does not have it.
pub(crate) fn compare(figure: Figure, a: &[Sample], b: &[Sample]) -> Option<Comparison> {
    let (summary_a, summary_b) = (summary(a)?, summary(b)?);
    let values = |samples: &[Sample]| samples.iter().map(|sample| sample.value).collect::<Vec<f64>>();
    let (values_a, values_b) = (values(a), values(b));
    let found = match (a, b) {
        ([one], [other]) => one.within.zip(other.within).and_then(|(within_one, within_other)| {
            ratio_of_estimates((one.value, within_one), (other.value, within_other))
        }),
        _ => ratio(&values_a, &values_b),
    };
    let are_repeated = a.len() > 1 && b.len() > 1;
    let repeated = |value: Option<f64>| value.filter(|_| are_repeated);
    let plain = Some(summary_b.median / summary_a.median).filter(|ratio| ratio.is_finite());
    Some(Comparison {
        figure,
        a: summary_a,
        b: summary_b,
        ratio: found.zip(plain).map(|(found, plain)| of_medians(found, plain)),
        plain_ratio: plain,
        hedges_g: repeated(effect::hedges_g(&values_a, &values_b)),
        cliffs_delta: repeated(effect::cliffs_delta(&values_a, &values_b)),
        rank_p: repeated(ranks::mann_whitney(&values_a, &values_b).map(|test| test.p_value)),
        is_refused: false,
    })
}

/// The ratio of the medians with an interval that was found around another estimate, of means or of shifts. The change has to be that
/// of the medians next to it, so the interval is as wide as it takes to hold them.
fn of_medians(found: Ratio, medians: f64) -> Ratio {
    let Interval { low, high } = found.interval;
    Ratio { value: medians, interval: Interval { low: low.min(medians), high: high.max(medians) } }
}

impl Comparison {
    /// Faster, slower, or not distinguishable.
    pub(crate) fn verdict(&self) -> ComparisonVerdict {
        match self.ratio {
            _ if self.is_refused => ComparisonVerdict::Refused,
            None => ComparisonVerdict::Unknown,
            Some(ratio) if !ratio.is_distinguishable() => ComparisonVerdict::NotDistinguishable,
            Some(ratio) if (ratio.value > 1.0) == self.figure.more_is_better() => ComparisonVerdict::Better,
            Some(_) => ComparisonVerdict::Worse,
        }
    }

    /// The verdict as text.
    pub(crate) fn words(&self) -> &'static str {
        let is_time_of_processor = self.figure == Figure::ProcessorTime;
        match self.verdict() {
            ComparisonVerdict::Better if is_time_of_processor => "costs less CPU",
            ComparisonVerdict::Worse if is_time_of_processor => "costs more CPU",
            ComparisonVerdict::Better => "faster",
            ComparisonVerdict::Worse => "slower",
            ComparisonVerdict::NotDistinguishable => "not distinguishable",
            ComparisonVerdict::Unknown => "not tested",
            ComparisonVerdict::Refused => "not judged: a side is wrong",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples(values: &[f64]) -> Vec<Sample> {
        values.iter().map(|&value| Sample { value, within: None }).collect()
    }

    #[test]
    fn more_bandwidth_is_faster_and_more_latency_slower() {
        let (low, high) = (samples(&[100.0, 101.0, 99.0]), samples(&[120.0, 121.0, 119.0]));
        let words = |figure, a: &[Sample], b: &[Sample]| compare(figure, a, b).expect("values").words();
        assert_eq!(words(Figure::Bandwidth, &low, &high), "faster");
        assert_eq!(words(Figure::LatencyMean, &low, &high), "slower");
        assert_eq!(words(Figure::ProcessorTime, &high, &low), "costs less CPU");
        assert_eq!(words(Figure::Iops, &low, &samples(&[90.0, 112.0, 101.0])), "not distinguishable");
        assert_eq!(words(Figure::Iops, &low[..1], &high[..1]), "not tested");
        let refused = Comparison { is_refused: true, ..compare(Figure::Iops, &low, &high).expect("values") };
        assert_eq!(
            (refused.verdict(), refused.words()),
            (ComparisonVerdict::Refused, "not judged: a side is wrong")
        );
        // One run against several is judged by their scatter.
        assert_eq!(words(Figure::Iops, &low, &high[..1]), "faster");
    }

    #[test]
    fn a_change_has_the_sign_of_the_medians_even_where_the_means_have_another() {
        let (a, b) = (samples(&[7.26, 7.0, 0.5]), samples(&[4.01, 4.0, 4.2]));
        let found = compare(Figure::LatencyMean, &a, &b).expect("values");
        let ratio = found.ratio.expect("there are enough runs");
        assert!((ratio.value - 4.01 / 7.0).abs() < 1e-9, "{ratio:?}");
        assert_eq!(found.verdict(), ComparisonVerdict::NotDistinguishable);
    }

    proptest! {
        #[test]
        fn change_interval_and_verdict_agree_with_the_medians(
            a in prop::collection::vec(1.0f64..1e3, 1..8),
            b in prop::collection::vec(1.0f64..1e3, 1..8),
        ) {
            let found = compare(Figure::Iops, &samples(&a), &samples(&b)).expect("values");
            let plain = found.b.median / found.a.median;
            prop_assert_eq!(found.plain_ratio, Some(plain));
            if let Some(ratio) = found.ratio {
                prop_assert!(ratio.value == plain && ratio.interval.contains(plain));
            }
            match found.verdict() {
                ComparisonVerdict::Better => prop_assert!(plain > 1.0),
                ComparisonVerdict::Worse => prop_assert!(plain < 1.0),
                _ => {}
            }
        }
    }

    #[test]
    fn single_runs_have_what_happened_within() {
        let sample = |value: f64| [Sample { value, within: Some(Interval::around(value, 2.0)) }];
        let found = compare(Figure::Iops, &sample(100.0), &sample(110.0)).expect("values");
        assert_eq!((found.verdict(), found.hedges_g), (ComparisonVerdict::Better, None));
        let near = compare(Figure::Iops, &sample(100.0), &sample(102.0)).expect("values");
        assert_eq!(near.verdict(), ComparisonVerdict::NotDistinguishable);
    }
}
