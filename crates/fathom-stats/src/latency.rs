//! Statistics of one latency (slat, clat or lat): count, sum, extremes, deviation and optionally a histogram.

use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Exact, mergeable statistics of latencies in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyStats {
    /// Number of values.
    pub count: u64,
    /// Sum in ns.
    pub sum_ns: u64,
    /// Sum of squares in ns², which has room for 10^9 values of an hour each.
    pub sum_of_squares: u128,
    /// Smallest value in ns; 0 without values.
    pub min_ns: u64,
    /// Largest value in ns; 0 without values.
    pub max_ns: u64,
    /// Distribution of the values; empty if no percentiles of them are needed.
    pub histogram: Histogram,
}

impl LatencyStats {
    /// Adds one value in nanoseconds to all figures, including the histogram.
    pub fn record(&mut self, ns: u64) {
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        self.sum_ns += ns;
        self.sum_of_squares += u128::from(ns) * u128::from(ns);
        self.histogram.record(ns);
    }

    /// Adds all values of `other`, as if both had been recorded together.
    pub fn merge(&mut self, other: &LatencyStats) {
        if other.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_of_squares += other.sum_of_squares;
        self.histogram.merge(&other.histogram);
    }

    /// Returns the mean in ns; 0 without values.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Returns a percentile (0 to 100) in ns; `None` without values. It is limited to the largest value, which
    /// the centre of a bin may exceed. Reports in fio's formats print the centres of bins instead, as fio does.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.percentiles(&[percent]).first().copied()
    }

    /// Returns several percentiles in the same way, in ascending order; empty without values.
    pub fn percentiles(&self, percents: &[f64]) -> Vec<u64> {
        self.histogram.percentiles(percents).into_iter().map(|ns| at_most(ns, self.max_ns)).collect()
    }

    /// Returns the sample standard deviation (n - 1) in ns; 0 with fewer than two values.
    pub fn stddev_ns(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        // n·Σx² − (Σx)² is computed in integers if it fits, so that the subtraction loses no precision.
        let n = u128::from(self.count);
        let squared_sum = u128::from(self.sum_ns) * u128::from(self.sum_ns);
        let spread = match n.checked_mul(self.sum_of_squares) {
            Some(product) => product.saturating_sub(squared_sum) as f64,
            None => (n as f64 * self.sum_of_squares as f64 - squared_sum as f64).max(0.0),
        };
        (spread / (self.count as f64 * (self.count - 1) as f64)).sqrt()
    }
}

/// Limits a percentile, which is the centre of a bin, to the known maximum; 0 without values.
pub fn at_most(percentile_ns: u64, max_ns: u64) -> u64 {
    if max_ns == 0 { percentile_ns } else { percentile_ns.min(max_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(values: &[u64]) -> LatencyStats {
        let mut stats = LatencyStats::default();
        values.iter().for_each(|&v| stats.record(v));
        stats
    }

    #[test]
    fn deviation_of_a_small_set() {
        let stats = recorded(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(stats.mean_ns(), 5.0);
        assert!((stats.stddev_ns() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn no_percentile_is_above_the_maximum() {
        let stats = recorded(&[1_000_001; 40]);
        assert!(stats.histogram.percentiles(&[99.0])[0] > 1_000_001);
        assert_eq!(
            (stats.percentile(99.0), LatencyStats::default().percentile(50.0)),
            (Some(1_000_001), None)
        );
    }

    proptest! {
        #[test]
        fn merging_is_exact(a in prop::collection::vec(0u64..1 << 42, 0..100), b in prop::collection::vec(0u64..1 << 42, 0..100)) {
            let mut merged = recorded(&a);
            merged.merge(&recorded(&b));
            let together: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&merged, &recorded(&together));
            prop_assert_eq!(merged.histogram.count(), merged.count);
        }
    }
}
