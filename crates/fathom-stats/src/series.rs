//! Bandwidth and IOPS samples that are taken at regular intervals (the `bw` and `iops` lines of a report).

use serde::{Deserialize, Serialize};

/// Mergeable statistics of interval samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleStats {
    /// Number of samples.
    pub samples: u64,
    /// Smallest sample; 0 without samples.
    pub min: u64,
    /// Largest sample.
    pub max: u64,
    /// Mean of the samples; for merged clones, the sum of their means, because they ran concurrently.
    pub mean: f64,
    /// Sum of the squared distances from the mean, for each clone from its own mean.
    pub squared_distances: f64,
}

impl SampleStats {
    /// Adds one sample (KiB/s for bandwidth, I/Os per second for IOPS).
    pub fn record(&mut self, value: u64) {
        self.min = if self.samples == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.samples += 1;
        // Welford's update moves the mean by a fraction of the distance, which avoids cancellation between
        // large sums.
        let distance = value as f64 - self.mean;
        self.mean += distance / self.samples as f64;
        self.squared_distances += distance * (value as f64 - self.mean);
    }

    /// Adds a clone that ran at the same time. Rates are added (three clones at 100 MiB/s are 300 MiB/s), and
    /// so are the numbers of samples.
    pub fn merge(&mut self, other: &SampleStats) {
        self.min += other.min;
        self.max += other.max;
        self.samples += other.samples;
        self.mean += other.mean;
        self.squared_distances += other.squared_distances;
    }

    /// Returns the mean of the samples; 0 without samples.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the sample standard deviation (n - 1); 0 with fewer than two samples.
    pub fn stddev(&self) -> f64 {
        if self.samples < 2 { 0.0 } else { (self.squared_distances / (self.samples - 1) as f64).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values: &[u64]) -> SampleStats {
        let mut stats = SampleStats::default();
        values.iter().for_each(|&value| stats.record(value));
        stats
    }

    #[test]
    fn mean_and_deviation() {
        let stats = recorded(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert!((stats.mean() - 5.0).abs() < 1e-12);
        assert!((stats.stddev() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((stats.min, stats.max, stats.samples), (2, 9, 8));
    }

    #[test]
    fn clones_add_up() {
        let mut both = recorded(&[3328, 3336, 3344]);
        both.merge(&recorded(&[3328, 3336, 3344]));
        assert_eq!((both.min, both.max, both.samples), (6656, 6688, 6));
        assert!((both.mean() - 6672.0).abs() < 1e-9);
        assert!((both.stddev() - 7.155418).abs() < 1e-6);
    }
}
