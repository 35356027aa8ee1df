//! Latencies, with percentiles and bins if requested.

use fathom_results::LatencyResult;
use fathom_results::figure;
use fathom_stats::LatencyStats;
use fathom_stats::histogram::{Histogram, RANGE_END_NS};
use fathom_stats::report::ViewOptions;
use std::collections::BTreeMap;

/// Returns a latency, with percentiles and bins if requested.
pub(super) fn latency(
    stats: &LatencyStats,
    view: &ViewOptions,
    shown: bool,
    with_bins: bool,
) -> LatencyResult {
    let plain = LatencyResult {
        min_ns: stats.min_ns as f64,
        max_ns: stats.max_ns as f64,
        mean_ns: figure(stats.mean_ns()),
        stddev_ns: figure(stats.stddev_ns()),
        count: stats.count,
        ..LatencyResult::default()
    };
    if !shown || stats.histogram.count() == 0 {
        return plain;
    }
    LatencyResult {
        percentiles: percentiles(&stats.histogram, &view.percentiles),
        // Percentiles among these values are lower bounds, which a number alone cannot express.
        beyond_range: Some(stats.histogram.beyond_range).filter(|&beyond| beyond > 0),
        bins: if with_bins { bins(&stats.histogram) } else { BTreeMap::new() },
        ..plain
    }
}

/// Returns the values of these percentiles.
pub(super) fn percentiles(histogram: &Histogram, percentiles: &[f64]) -> Vec<(f64, u64)> {
    percentiles.iter().map(|&percent| figure(percent)).zip(histogram.percentiles(percentiles)).collect()
}

/// Returns values in nanoseconds and their counts. Values beyond the range are counted at its end.
pub(super) fn bins(histogram: &Histogram) -> BTreeMap<u64, u64> {
    let beyond = (histogram.beyond_range > 0).then_some((RANGE_END_NS, histogram.beyond_range));
    histogram.values().chain(beyond).collect()
}
