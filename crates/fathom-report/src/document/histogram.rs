//! What JSON says of a histogram: percentiles, and the bins themselves.

use super::layout::Object;
use fathom_stats::histogram::{Histogram, RANGE_END_NS};

/// The values of these percentiles.
pub(super) fn percentiles(histogram: &Histogram, percentiles: &[f64]) -> Object {
    let keys = percentiles.iter().map(|percentile| format!("{percentile:.6}"));
    keys.zip(histogram.percentiles(percentiles)).collect()
}

/// Values in nanoseconds and how often they came. What lies beyond the range is counted where that ends.
pub(super) fn bins(histogram: &Histogram) -> Object {
    let beyond = (histogram.beyond_range > 0).then_some((RANGE_END_NS, histogram.beyond_range));
    histogram.values().chain(beyond).map(|(value, count)| (value.to_string(), count)).collect()
}
