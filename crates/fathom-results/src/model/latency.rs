//! Latencies, with percentiles and histograms if they were printed.

use crate::{lenient, written};
use fathom_stats::histogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A latency in ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyResult {
    /// Smallest.
    #[serde(rename = "min", deserialize_with = "lenient::number", serialize_with = "written::whole")]
    pub min_ns: f64,
    /// Largest.
    #[serde(rename = "max", deserialize_with = "lenient::number", serialize_with = "written::whole")]
    pub max_ns: f64,
    /// Mean.
    #[serde(rename = "mean", deserialize_with = "lenient::number")]
    pub mean_ns: f64,
    /// Standard deviation.
    #[serde(rename = "stddev", deserialize_with = "lenient::number")]
    pub stddev_ns: f64,
    /// Number of values.
    #[serde(rename = "N", deserialize_with = "lenient::whole")]
    pub count: u64,
    /// Printed percentiles: percent and ns, ascending.
    #[serde(
        rename = "percentile",
        deserialize_with = "lenient::percentiles",
        serialize_with = "written::percentiles",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub percentiles: Vec<(f64, u64)>,
    /// Values beyond the range of the histogram; percentiles among them are lower bounds.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub beyond_range: Option<u64>,
    /// The histogram (JSON+ only): centre of a bin in ns, and its count.
    #[serde(deserialize_with = "lenient::bins", skip_serializing_if = "BTreeMap::is_empty")]
    pub bins: BTreeMap<u64, u64>,
}

impl LatencyResult {
    /// The histogram in fathom's bins; `None` when none was printed.
    pub fn histogram(&self) -> Option<Histogram> {
        let mut histogram = Histogram::default();
        for (&ns, &count) in &self.bins {
            match fathom_stats::histogram::bin_of(ns) {
                Some(bin) => *histogram.bins.entry(bin as u16).or_default() += count,
                None => histogram.beyond_range += count,
            }
        }
        (!self.bins.is_empty()).then_some(histogram)
    }

    /// A percentile in ns, from the histogram or as printed, but never above the maximum; `None` if neither is available.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        if let Some(histogram) = self.histogram() {
            return histogram.percentiles(&[percent]).first().map(|&ns| self.at_most(ns));
        }
        self.printed().find(|(key, _)| (key - percent).abs() < 1e-6).map(|(_, ns)| ns)
    }

    /// The printed percentiles, limited to the maximum, which the centre of a bin may exceed.
    pub fn printed(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.percentiles.iter().map(|&(percent, ns)| (percent, self.at_most(ns)))
    }

    fn at_most(&self, ns: u64) -> f64 {
        fathom_stats::latency::at_most(ns, self.max_ns as u64) as f64
    }
}
