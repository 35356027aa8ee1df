//! Two sets of runs, one figure.

use super::figure::Figure;
use fathom_stats::inference::difference::{Ratio, ratio, ratio_of_estimates};
use fathom_stats::inference::{Interval, effect, median, ranks};

/// A figure in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Its value.
    pub(crate) value: f64,
    /// How far it wandered within the run.
    pub(crate) within: Option<Interval>,
}

/// What the runs of one side say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Median of the runs.
    pub(crate) median: f64,
    /// Its 95 % interval; of a single run how far the figure wandered within it.
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
    /// The interval of the difference holds zero.
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
    /// B over A, with its interval, where there is one.
    pub(crate) ratio: Option<Ratio>,
    /// B over A without an interval; `None` when A is zero.
    pub(crate) plain_ratio: Option<f64>,
    /// Hedges' g, with two runs or more on either side.
    pub(crate) hedges_g: Option<f64>,
    /// Cliff's delta, likewise.
    pub(crate) cliffs_delta: Option<f64>,
    /// Probability by the test of Mann and Whitney, likewise.
    pub(crate) rank_p: Option<f64>,
    /// The figures of a side are wrong, so that no difference is called real.
    pub(crate) is_refused: bool,
}

/// The runs of a side in short; `None` without any.
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
    let plain = summary_b.median / summary_a.median;
    Some(Comparison {
        figure,
        a: summary_a,
        b: summary_b,
        ratio: found,
        plain_ratio: Some(plain).filter(|ratio| ratio.is_finite()),
        hedges_g: repeated(effect::hedges_g(&values_a, &values_b)),
        cliffs_delta: repeated(effect::cliffs_delta(&values_a, &values_b)),
        rank_p: repeated(ranks::mann_whitney(&values_a, &values_b).map(|test| test.p_value)),
        is_refused: false,
    })
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

    /// B over A: the estimate that the interval belongs to, otherwise the plain one.
    pub(crate) fn best_ratio(&self) -> Option<f64> {
        self.ratio.map(|ratio| ratio.value).or(self.plain_ratio)
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
    fn single_runs_have_what_happened_within() {
        let sample = |value: f64| [Sample { value, within: Some(Interval::around(value, 2.0)) }];
        let found = compare(Figure::Iops, &sample(100.0), &sample(110.0)).expect("values");
        assert_eq!((found.verdict(), found.hedges_g), (ComparisonVerdict::Better, None));
        let near = compare(Figure::Iops, &sample(100.0), &sample(102.0)).expect("values");
        assert_eq!(near.verdict(), ComparisonVerdict::NotDistinguishable);
    }
}
