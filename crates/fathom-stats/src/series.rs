//! Bandwidth and IOPS samples taken at regular intervals (the `bw` and `iops` lines of a report).

use serde::{Deserialize, Serialize};

/// Mergeable statistics of interval samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleStats {
    /// Number of samples.
    pub samples: u64,
    /// Smallest sample; 0 when there is none.
    pub min: u64,
    /// Largest sample.
    pub max: u64,
    /// Sum of all samples.
    pub sum: f64,
    /// Sum of the squares of all samples.
    pub sum_of_squares: f64,
}

impl SampleStats {
    /// Adds one sample (KiB/s for bandwidth, I/Os per second for IOPS).
    pub fn record(&mut self, value: u64) {
        self.min = if self.samples == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.samples += 1;
        self.sum += value as f64;
        self.sum_of_squares += (value as f64) * (value as f64);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &SampleStats) {
        if other.samples == 0 {
            return;
        }
        self.min = if self.samples == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.samples += other.samples;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
    }

    /// Mean of the samples; 0 when there is none.
    pub fn mean(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.sum / self.samples as f64 }
    }

    /// Sample standard deviation (n - 1); 0 with fewer than two samples.
    pub fn stddev(&self) -> f64 {
        if self.samples < 2 {
            return 0.0;
        }
        let n = self.samples as f64;
        ((self.sum_of_squares - self.sum * self.sum / n).max(0.0) / (n - 1.0)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merge_equals_recording_together() {
        let mut a = SampleStats::default();
        let mut b = SampleStats::default();
        let mut both = SampleStats::default();
        for value in [10, 12, 9] {
            a.record(value);
            both.record(value);
        }
        for value in [100, 3] {
            b.record(value);
            both.record(value);
        }
        a.merge(&b);
        assert_eq!(a, both);
        assert_eq!((a.min, a.max, a.samples), (3, 100, 5));
    }
}
