//! Slow reads in slices of time: the criterion of the `act` profile, which checks whether a device keeps its
//! latency over hours.

use crate::histogram::{Histogram, value_of};
use serde::{Deserialize, Serialize};

/// Latency limits for reads in ns, each with the share of reads in percent that may exceed it in a slice.
pub const LIMITS: [(u64, f64); 3] = [(1_000_000, 5.0), (8_000_000, 1.0), (64_000_000, 0.1)];

/// The reads in one slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// All reads.
    pub reads: u64,
    /// Number of reads that took longer than each of [`LIMITS`]; exact to the histogram bin (0.8 %) that
    /// contains the limit.
    pub above: [u64; LIMITS.len()],
}

impl Slice {
    /// Returns the reads in a histogram of latencies.
    pub fn of(histogram: &Histogram) -> Slice {
        let mut slice = Slice { reads: histogram.count(), above: [histogram.beyond_range; LIMITS.len()] };
        for (&bin, count) in &histogram.bins {
            for (above, (limit, _)) in slice.above.iter_mut().zip(LIMITS) {
                *above += if value_of(bin.into()) > limit { *count } else { 0 };
            }
        }
        slice
    }

    /// Adds the reads of another device or thread.
    pub fn merge(&mut self, other: &Slice) {
        self.reads += other.reads;
        for (above, others) in self.above.iter_mut().zip(other.above) {
            *above += others;
        }
    }

    /// Returns the reads since `earlier`, a total of the same reads.
    pub fn since(&self, earlier: &Slice) -> Slice {
        Slice {
            reads: self.reads.saturating_sub(earlier.reads),
            above: std::array::from_fn(|index| self.above[index].saturating_sub(earlier.above[index])),
        }
    }

    /// Returns the percentage of reads that took longer than each of [`LIMITS`].
    pub fn percent_above(&self) -> [f64; LIMITS.len()] {
        self.above.map(|above| above as f64 * 100.0 / self.reads.max(1) as f64)
    }

    /// True if there were reads, and sufficiently few of them were slow.
    pub fn passed(&self) -> bool {
        let shares = self.percent_above();
        self.reads > 0 && shares.iter().zip(LIMITS).all(|(share, (_, most))| *share <= most)
    }
}

/// The slices of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceReport {
    /// The slices in the order of time.
    pub slices: Vec<Slice>,
    /// A job failed.
    pub has_failed_jobs: bool,
    /// True if the run ended early, so that later slices are missing.
    pub is_interrupted: bool,
}

impl SliceReport {
    /// True if the devices met the limits in every slice, and no read failed.
    pub fn passed(&self) -> bool {
        !self.has_failed_jobs && !self.slices.is_empty() && self.slices.iter().all(Slice::passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a slice of reads; each entry is a latency in microseconds and the number of reads with it.
    fn slice(latencies: &[(u64, u64)]) -> Slice {
        let mut histogram = Histogram::default();
        for (latency, count) in latencies {
            (0..*count).for_each(|_| histogram.record(latency * 1000));
        }
        Slice::of(&histogram)
    }

    #[test]
    fn a_slow_read_counts_at_every_limit_that_it_exceeds() {
        let all = slice(&[(100, 900), (2000, 60), (10_000, 30), (100_000, 9), (u64::MAX / 1000, 1)]);
        assert_eq!(all, Slice { reads: 1000, above: [100, 40, 10] });
        assert_eq!(all.percent_above(), [10.0, 4.0, 1.0]);
        assert_eq!(slice(&[(980, 1), (7900, 1), (63_000, 1)]).above, [2, 1, 0]);
        assert_eq!(slice(&[(1020, 1), (8100, 1), (65_000, 1)]).above, [3, 2, 1]);
    }

    #[test]
    fn each_limit_decides() {
        let passed = |ms: u64, slow: u64| slice(&[(10, 10_000 - slow), (ms * 1000, slow)]).passed();
        assert!(passed(2, 500) && !passed(2, 501));
        assert!(passed(10, 100) && !passed(10, 101));
        assert!(passed(100, 10) && !passed(100, 11));
        assert!(!Slice::default().passed());
        let (good, bad) = (slice(&[(10, 10)]), slice(&[(2000, 10)]));
        let report = |slices: &[Slice]| SliceReport { slices: slices.to_vec(), ..SliceReport::default() };
        assert!(report(&[good, good]).passed() && !report(&[good, bad]).passed() && !report(&[]).passed());
        assert!(!SliceReport { has_failed_jobs: true, ..report(&[good]) }.passed());
    }

    #[test]
    fn slices_are_differences_of_totals() {
        let (first, second) = (slice(&[(10, 7), (2000, 1)]), slice(&[(10, 1), (100_000, 3)]));
        let mut total = first;
        total.merge(&second);
        assert_eq!(total.since(&first), second);
    }
}
