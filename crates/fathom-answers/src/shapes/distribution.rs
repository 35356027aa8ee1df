//! The distribution of latencies, and the percentile curve.

use super::Moment;
use fathom_results::model::JobResult;
use fathom_stats::histogram::{Histogram, RANGE_END_NS, bounds_of};
use fathom_stats::latency::at_most;
use fathom_stats::report::DISTRIBUTION_BOUNDS_NS;
use fathom_stats::timeline::{BINS_MERGED, coarse_bin_of};
use std::collections::BTreeMap;

/// Number of histogram bins per bar; this gives eight bars per power of two.
const BINS_PER_BAR: usize = 8;
/// The usual percentiles, in addition to the evenly spaced points of the curve.
pub(super) const ASKED_FOR: [f64; 7] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

/// A bar of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bin {
    pub(crate) start_ns: f64,
    pub(crate) end_ns: f64,
    /// Share of the I/Os, percent.
    pub(crate) percent: f64,
}

/// The percentile curve, as far as the histogram has values and not above the maximum. Its points are evenly
/// spaced by nines, plus the usual percentiles.
pub(crate) fn curve(histogram: &Histogram, max_ns: f64) -> Vec<(f64, f64)> {
    let count = histogram.count();
    if count == 0 {
        return Vec::new();
    }
    let most_nines = (count as f64).log10().min(6.0);
    let steps = (most_nines * 10.0).ceil() as u32;
    let even = (0..=steps).map(|step| 100.0 * (1.0 - 10f64.powf(-f64::from(step) / 10.0)));
    let mut percents: Vec<f64> = even.chain(ASKED_FOR).collect();
    // The curve ends at the last value of the histogram.
    percents.retain(|percent| (100.0 - percent) / 100.0 * count as f64 >= 0.999);
    percents.sort_by(f64::total_cmp);
    percents.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    let values = histogram.percentiles(&percents);
    percents.into_iter().zip(values.into_iter().map(|ns| at_most(ns, max_ns as u64) as f64)).collect()
}

fn shares(counts: BTreeMap<usize, u64>, merged: usize) -> Vec<Bin> {
    let total = counts.values().sum::<u64>().max(1) as f64;
    let bin = |(bar, count): (usize, u64)| {
        let (start, _) = bounds_of(bar * merged);
        let (_, end) = bounds_of(bar * merged + merged - 1);
        Bin { start_ns: start as f64, end_ns: end as f64 + 1.0, percent: 100.0 * count as f64 / total }
    };
    counts.into_iter().map(bin).collect()
}

/// The distribution from a complete histogram.
pub(super) fn of_histogram(histogram: &Histogram) -> Vec<Bin> {
    let mut counts = BTreeMap::new();
    for (&bin, &count) in &histogram.bins {
        *counts.entry(usize::from(bin) / BINS_PER_BAR).or_default() += count;
    }
    let mut bins = shares(counts, BINS_PER_BAR);
    if histogram.beyond_range > 0 {
        let percent = 100.0 * histogram.beyond_range as f64 / histogram.count() as f64;
        let inside = 1.0 - percent / 100.0;
        bins.iter_mut().for_each(|bin| bin.percent *= inside);
        let start_ns = RANGE_END_NS as f64;
        bins.push(Bin { start_ns, end_ns: 2.0 * start_ns, percent });
    }
    bins
}

/// The distribution from the coarse bins of all points together.
pub(super) fn of_timeline(timeline: &[Moment]) -> Vec<Bin> {
    let mut counts = BTreeMap::new();
    for (&ns, &count) in timeline.iter().flat_map(|moment| &moment.bins) {
        *counts.entry(usize::from(coarse_bin_of(ns))).or_default() += count;
    }
    shares(counts, BINS_MERGED)
}

/// The distribution from a report's shares of I/Os by upper bound of latency.
pub(super) fn of_shares(job: &JobResult) -> Vec<Bin> {
    let all = job.latency_ns.iter().chain(&job.latency_us).chain(&job.latency_ms);
    let mut start = 0.0;
    let mut bins = Vec::new();
    for ((_, percent), index) in all.zip(0..) {
        let end = DISTRIBUTION_BOUNDS_NS.get(index).map_or(2.0 * start, |&bound| bound as f64);
        if *percent > 0.0 {
            bins.push(Bin { start_ns: start, end_ns: end, percent: *percent });
        }
        start = end;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_curve_rises_and_ends_at_the_largest(values in prop::collection::vec(1u64..1 << 40, 1..500)) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.record(value));
            let max_ns = values.iter().copied().max().unwrap_or(0) as f64;
            let curve = curve(&histogram, max_ns);
            prop_assert!(curve.last().is_none_or(|&(_, ns)| ns <= max_ns));
            prop_assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
            let bins = of_histogram(&histogram);
            prop_assert!((bins.iter().map(|bin| bin.percent).sum::<f64>() - 100.0).abs() < 1e-6);
            prop_assert!(bins.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns + 1e-9));
            let within = |value: u64| bins.iter().any(|bin| bin.start_ns <= value as f64 && (value as f64) < bin.end_ns);
            prop_assert!(values.iter().all(|&value| within(value)));
        }
    }

    #[test]
    fn shares_of_a_plain_report() {
        let text = r#"{"fio version":"fio-3.33","jobs":[{"jobname":"a","latency_ns":{"2":0,"4":0,"10":0,"20":0,"50":0,"100":0,
            "250":0,"500":0,"750":0,"1000":0},"latency_us":{"2":0,"4":0,"10":0,"20":0,"50":25.5,"100":74.5,"250":0,"500":0,"750":0,
            "1000":0},"latency_ms":{}}]}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        let bins = of_shares(&run.jobs[0]);
        assert_eq!(bins.len(), 2);
        assert_eq!((bins[0].start_ns, bins[0].end_ns, bins[0].percent), (20_000.0, 50_000.0, 25.5));
        assert_eq!((bins[1].start_ns, bins[1].end_ns), (50_000.0, 100_000.0));
    }
}
