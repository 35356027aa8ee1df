//! Compares one figure of two sets of runs.

use super::figure::Figure;
use fathom_stats::histogram::{bounds_of, short_bin_of};
use fathom_stats::inference::difference::{Ratio, ratio, ratio_of_estimates};
use fathom_stats::inference::percentile::is_carried;
use fathom_stats::inference::{Interval, effect, median, ranks};

/// The value of a figure in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Its value.
    pub(crate) value: f64,
    /// Interval of the value within the run.
    pub(crate) within: Option<Interval>,
    /// Number of I/Os behind the value; `None` if the number does not matter.
    pub(crate) ios: Option<u64>,
}

impl Sample {
    /// A value without further information.
    pub(crate) fn of(value: f64) -> Sample {
        Sample { value, within: None, ios: None }
    }
}

/// The runs of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Median of the values of all runs.
    pub(crate) median: f64,
    /// 95 % interval of the median; for a single run, the interval within that run.
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
    /// The figures have no interval.
    Unknown,
    /// One side has too few I/Os for the percentile.
    TooFew,
    /// The maxima are of different numbers of I/Os; more I/Os make the maximum larger.
    UnlikeCounts,
    /// The latencies differ by less than the clock or the bins of the histogram can distinguish.
    Unresolved,
    /// The measurements of one side vary so much that the interval is meaningless.
    Scattered,
    /// The figures of a side are wrong.
    Refused,
}

/// How B differs from A in one figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// The figure.
    pub(crate) figure: Figure,
    /// The runs of A, the baseline.
    pub(crate) a: Summary,
    /// The runs of B, which are compared with A.
    pub(crate) b: Summary,
    /// Ratio of B's median to A's, with its interval, if it has one.
    pub(crate) ratio: Option<Ratio>,
    /// The ratio without an interval; `None` if A is zero.
    pub(crate) plain_ratio: Option<f64>,
    /// Hedges' g; requires at least two runs on each side.
    pub(crate) hedges_g: Option<f64>,
    /// Cliff's delta; requires at least two runs on each side.
    pub(crate) cliffs_delta: Option<f64>,
    /// p-value of the Mann-Whitney test; requires at least two runs on each side.
    pub(crate) rank_p: Option<f64>,
    /// True if the figures of one side are wrong, so that the difference is not called real.
    pub(crate) is_refused: bool,
    /// Why there is neither an interval nor a verdict, although both sides have values.
    obstacle: Option<ComparisonVerdict>,
}

/// Maximum factor between the change and either end of its interval; a wider interval is meaningless, unless it
/// excludes zero.
const WIDEST: f64 = 10.0;
/// Maximum ratio of the numbers of I/Os for maxima to be comparable.
const MOST_UNLIKE: f64 = 1.1;

/// The reason why the numbers of I/Os do not allow a verdict on a figure, if they do not.
fn obstacle_of_counts(figure: Figure, a: &[Sample], b: &[Sample]) -> Option<ComparisonVerdict> {
    let count = |samples: &[Sample]| samples.iter().map(|sample| sample.ios).sum::<Option<u64>>();
    let (own, other) = (count(a)?, count(b)?);
    match figure {
        Figure::Percentile(percent) => {
            let is_carried = is_carried(percent, own) && is_carried(percent, other);
            (!is_carried).then_some(ComparisonVerdict::TooFew)
        }
        Figure::LatencyMax => {
            let (own, other) = (own as f64 / a.len() as f64, other as f64 / b.len() as f64);
            let is_alike = own.max(other) <= own.min(other) * MOST_UNLIKE;
            (!is_alike).then_some(ComparisonVerdict::UnlikeCounts)
        }
        _ => None,
    }
}

/// Minimum difference, in ns, of short latencies that are distinguished: some machines count time in steps of
/// 42 ns (24 MHz), and on others two readings of the clock take about as long.
const CLOCK_NS: f64 = 50.0;
/// Latency, in ns, from which the clock's resolution hardly matters, so that means show smaller differences.
const SHORT_NS: f64 = 500.0;

/// True for latencies that differ by less than the clock can distinguish, or for percentiles in the same bin or
/// in adjacent bins.
fn is_unresolved(figure: Figure, a: f64, b: f64) -> bool {
    let difference = (a - b).abs();
    let is_of_clock = difference < CLOCK_NS && a.min(b) < SHORT_NS;
    let of_bins = |ns: f64| {
        let (low, high) = bounds_of(short_bin_of(ns as u64));
        (high - low + 1) as f64
    };
    match figure {
        Figure::Percentile(_) => is_of_clock || difference <= of_bins(a.min(b)),
        Figure::LatencyMean | Figure::LatencyMax => is_of_clock,
        Figure::Bandwidth | Figure::Iops | Figure::ProcessorTime => false,
    }
}

/// True for an interval of measurements that vary by orders of magnitude.
fn is_scattered(ratio: &Ratio) -> bool {
    let Interval { low, high } = ratio.interval;
    !ratio.is_distinguishable() && (high > ratio.value * WIDEST || low * WIDEST < ratio.value)
}

/// Summarises the runs of a side; `None` without any.
pub(crate) fn summary(samples: &[Sample]) -> Option<Summary> {
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let median = median::median(&values)?;
    let interval = match samples {
        [one] => one.within,
        _ => median::interval(&values).map(Interval::not_below_zero),
    };
    Some(Summary { median, interval, runs: samples.len() })
}

/// Compares one figure of both sides; `None` if one side does not have it.
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
    let found = found.zip(plain).map(|(found, plain)| of_medians(found, plain));
    let scattered = || found.filter(is_scattered).map(|_| ComparisonVerdict::Scattered);
    // The resolution matters only if the difference would be called real.
    let unresolved = || {
        let is_real = found.is_some_and(|found| found.is_distinguishable());
        (is_real && is_unresolved(figure, summary_a.median, summary_b.median))
            .then_some(ComparisonVerdict::Unresolved)
    };
    let obstacle = obstacle_of_counts(figure, a, b).or_else(scattered).or_else(unresolved);
    Some(Comparison {
        figure,
        a: summary_a,
        b: summary_b,
        ratio: found.filter(|_| obstacle.is_none()),
        plain_ratio: plain,
        hedges_g: repeated(effect::hedges_g(&values_a, &values_b)),
        cliffs_delta: repeated(effect::cliffs_delta(&values_a, &values_b)),
        rank_p: repeated(ranks::mann_whitney(&values_a, &values_b).map(|test| test.p_value)),
        is_refused: false,
        obstacle,
    })
}

/// The ratio of the medians, with an interval that was computed around another estimate (of means or of
/// shifts). The displayed change must match the medians next to it, so the interval is widened to contain both
/// estimates.
fn of_medians(found: Ratio, medians: f64) -> Ratio {
    let Interval { low, high } = found.interval;
    Ratio { value: medians, interval: Interval { low: low.min(medians), high: high.max(medians) } }
}

impl Comparison {
    /// The verdict: faster, slower, or not distinguishable.
    pub(crate) fn verdict(&self) -> ComparisonVerdict {
        match self.ratio {
            _ if self.is_refused => ComparisonVerdict::Refused,
            None => self.obstacle.unwrap_or(ComparisonVerdict::Unknown),
            Some(ratio) if !ratio.is_distinguishable() => ComparisonVerdict::NotDistinguishable,
            Some(ratio) if (ratio.value > 1.0) == self.figure.more_is_better() => ComparisonVerdict::Better,
            Some(_) => ComparisonVerdict::Worse,
        }
    }

    /// The verdict as text of at most 19 columns, so that a table fits into 80.
    pub(crate) fn words(&self) -> &'static str {
        let is_time_of_processor = self.figure == Figure::ProcessorTime;
        match self.verdict() {
            ComparisonVerdict::Better if is_time_of_processor => "costs less CPU",
            ComparisonVerdict::Worse if is_time_of_processor => "costs more CPU",
            ComparisonVerdict::Better => "faster",
            ComparisonVerdict::Worse => "slower",
            ComparisonVerdict::NotDistinguishable => "not distinguishable",
            ComparisonVerdict::Unknown => "not tested",
            ComparisonVerdict::TooFew => "too few I/Os",
            ComparisonVerdict::UnlikeCounts => "unlike I/O counts",
            ComparisonVerdict::Scattered => "too much scatter",
            ComparisonVerdict::Unresolved => "below resolution",
            ComparisonVerdict::Refused => "a side is wrong",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples(values: &[f64]) -> Vec<Sample> {
        values.iter().map(|&value| Sample::of(value)).collect()
    }

    #[test]
    fn more_bandwidth_is_faster_and_more_latency_slower() {
        let (low, high) = (samples(&[100.0, 101.0, 99.0]), samples(&[120.0, 121.0, 119.0]));
        let words = |figure, a: &[Sample], b: &[Sample]| compare(figure, a, b).expect("values").words();
        assert_eq!(words(Figure::Bandwidth, &low, &high), "faster");
        let (short, long) = (samples(&[1000.0, 1010.0, 990.0]), samples(&[1200.0, 1210.0, 1190.0]));
        assert_eq!(words(Figure::LatencyMean, &short, &long), "slower");
        assert_eq!(words(Figure::ProcessorTime, &high, &low), "costs less CPU");
        assert_eq!(words(Figure::Iops, &low, &samples(&[90.0, 112.0, 101.0])), "not distinguishable");
        assert_eq!(words(Figure::Iops, &low[..1], &high[..1]), "not tested");
        let refused = Comparison { is_refused: true, ..compare(Figure::Iops, &low, &high).expect("values") };
        assert_eq!((refused.verdict(), refused.words()), (ComparisonVerdict::Refused, "a side is wrong"));
        // The variation of several runs also decides when they are compared with a single run.
        assert_eq!(words(Figure::Iops, &low, &high[..1]), "faster");
    }

    #[test]
    fn every_verdict_leaves_room_for_the_figures() {
        use ComparisonVerdict::{
            NotDistinguishable, Refused, Scattered, TooFew, Unknown, UnlikeCounts, Unresolved,
        };
        let any = compare(Figure::Iops, &samples(&[1.0]), &samples(&[1.0])).expect("values");
        for verdict in [NotDistinguishable, Unknown, TooFew, UnlikeCounts, Unresolved, Scattered, Refused] {
            let words = Comparison { obstacle: Some(verdict), ..any.clone() }.words();
            assert!(words.len() <= 19, "{words}");
        }
    }

    #[test]
    fn a_change_has_the_sign_of_the_medians_even_where_the_means_have_another() {
        let (a, b) = (samples(&[7.26, 7.0, 6.8, 2.0]), samples(&[5.5, 5.4, 5.6]));
        let found = compare(Figure::LatencyMean, &a, &b).expect("values");
        let ratio = found.ratio.expect("there are enough runs");
        assert!((ratio.value - 5.5 / 6.9).abs() < 1e-9, "{ratio:?}");
        assert_eq!(found.verdict(), ComparisonVerdict::NotDistinguishable);
    }

    #[test]
    fn few_ios_carry_no_percentile_and_unlike_numbers_no_maximum() {
        let of = |ios: u64, values: &[f64]| -> Vec<Sample> {
            values.iter().map(|&value| Sample { ios: Some(ios), ..Sample::of(value) }).collect()
        };
        let (low, high) = ([1000.0, 1010.0, 990.0], [1200.0, 1210.0, 1190.0]);
        let judged = |figure, a: u64, b: u64| {
            let found = compare(figure, &of(a, &low), &of(b, &high)).expect("values");
            assert!(found.plain_ratio.is_some_and(|ratio| ratio == 1.2));
            (found.words(), found.ratio.is_some())
        };
        let p999 = Figure::Percentile(99.9);
        assert_eq!(judged(p999, 20, 100_000), ("too few I/Os", false));
        assert_eq!(judged(p999, 3_333, 100_000), ("too few I/Os", false), "9,999 in three runs");
        assert_eq!(judged(p999, 3_334, 100_000), ("slower", true));
        assert_eq!(judged(Figure::LatencyMax, 20, 40), ("unlike I/O counts", false));
        assert_eq!(judged(Figure::LatencyMax, 100, 109), ("slower", true));
        assert_eq!(judged(Figure::LatencyMean, 20, 40), ("slower", true));
    }

    #[test]
    fn what_the_clock_and_the_bins_cannot_tell_apart_has_no_verdict() {
        let judged = |figure, a: f64, b: f64| {
            let of = |value: f64| samples(&[value, value * 1.0001, value * 0.9999]);
            let found = compare(figure, &of(a), &of(b)).expect("values");
            assert_eq!(found.ratio.is_none(), found.words() == "below resolution");
            found.words()
        };
        for figure in [Figure::LatencyMean, Figure::Percentile(50.0), Figure::LatencyMax] {
            assert_eq!(judged(figure, 20.0, 30.0), "below resolution", "{figure:?}");
            assert_eq!(judged(figure, 100.0, 160.0), "slower", "{figure:?}");
        }
        assert_eq!(judged(Figure::ProcessorTime, 20.0, 30.0), "costs more CPU");
        assert_eq!(judged(Figure::LatencyMean, 700.0, 740.0), "slower", "more than the clock");
        // The percentiles are centres of bins that are 2048 ns wide.
        assert_eq!(judged(Figure::Percentile(99.0), 246_784.0, 248_832.0), "below resolution");
        assert_eq!(judged(Figure::Percentile(99.0), 246_784.0, 250_880.0), "slower");
        assert_eq!(judged(Figure::LatencyMean, 246_784.0, 248_832.0), "slower", "means have no bins");
    }

    #[test]
    fn runs_that_scatter_over_orders_of_magnitude_have_no_interval() {
        let wild = compare(Figure::Iops, &samples(&[1.0, 1e4]), &samples(&[2.0, 3e4])).expect("values");
        assert_eq!((wild.words(), wild.ratio), ("too much scatter", None));
        let apart =
            compare(Figure::Iops, &samples(&[1.0, 2.0, 1.5]), &samples(&[1e6, 3e6, 2e6])).expect("values");
        assert_eq!(apart.words(), "faster", "far apart, whatever the scatter");
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
        let sample =
            |value: f64| [Sample { within: Some(Interval::around(value, 2.0)), ..Sample::of(value) }];
        let found = compare(Figure::Iops, &sample(100.0), &sample(110.0)).expect("values");
        assert_eq!((found.verdict(), found.hedges_g), (ComparisonVerdict::Better, None));
        let near = compare(Figure::Iops, &sample(100.0), &sample(102.0)).expect("values");
        assert_eq!(near.verdict(), ComparisonVerdict::NotDistinguishable);
    }
}
