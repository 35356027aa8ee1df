//! Bins of histogram logs, and percentiles of them.

/// Division of latencies into bins: `groups` of `2^bits`, of which the first two have a bin for each value
/// and every further one has bins twice as wide. The unit is nanoseconds, or microseconds in logs of fio 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) groups: u32,
    pub(super) bits: u32,
    /// Unit in nanoseconds.
    pub(super) unit_ns: u64,
}

impl Layout {
    /// fio 3 and fathom.
    pub(super) const NANOSECONDS: Layout = Layout { groups: 29, bits: 6, unit_ns: 1 };
    /// fio 2.
    pub(super) const MICROSECONDS: Layout = Layout { groups: 19, bits: 6, unit_ns: 1000 };

    /// Number of bins of a log that is not coarsened.
    pub(super) fn bins(self) -> usize {
        (self.groups as usize) << self.bits
    }

    /// Number of merged bins for lines with `bins` bins, as a power of two (coarseness).
    pub(super) fn coarseness(self, bins: usize) -> Option<u32> {
        (0..=self.bits).find(|coarseness| self.bins() >> coarseness == bins)
    }

    /// First value of a bin in nanoseconds; for the bin after the last, the end of the range.
    pub(super) fn start_ns(self, bin: usize) -> f64 {
        let per_group = 1usize << self.bits;
        let start = match bin / per_group {
            0 => bin as f64,
            group => (per_group + bin % per_group) as f64 * 2f64.powi(group as i32 - 1),
        };
        start * self.unit_ns as f64
    }
}

/// Counts per bin; fractional if a window of a log overlaps two intervals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Histogram {
    layout: Layout,
    coarseness: u32,
    counts: Vec<f64>,
}

impl Histogram {
    /// An empty histogram for bins of this coarseness.
    pub(super) fn new(layout: Layout, coarseness: u32) -> Histogram {
        Histogram { layout, coarseness, counts: vec![0.0; layout.bins() >> coarseness] }
    }

    /// Adds the counts of a line times `weight`. A finer line is coarsened; a coarser one cannot be added.
    pub(super) fn add(&mut self, counts: &[u64], weight: f64) {
        let merged = (counts.len() / self.counts.len()).max(1);
        for (sum, counts) in self.counts.iter_mut().zip(counts.chunks(merged)) {
            *sum += counts.iter().map(|count| *count as f64).sum::<f64>() * weight;
        }
    }

    pub(super) fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Drops all latencies above this value.
    pub(super) fn cut_above(&mut self, latency_ns: f64) {
        for bin in 0..self.counts.len() {
            if self.bounds(bin).0 >= latency_ns {
                self.counts[bin] = 0.0;
            }
        }
    }

    /// First value of a bin and of the next, in nanoseconds.
    fn bounds(&self, bin: usize) -> (f64, f64) {
        let [start, end] = [bin, bin + 1].map(|bin| self.layout.start_ns(bin << self.coarseness));
        (start, end)
    }

    fn used(&self) -> impl DoubleEndedIterator<Item = (usize, f64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0.0)
    }

    /// The percentile in nanoseconds, assuming that values are spread evenly over a bin. 0 gives the lower
    /// bound of the first bin used, 100 the upper bound of the last. `None` if it is empty.
    pub(super) fn percentile_ns(&self, percent: f64) -> Option<f64> {
        let wanted = percent / 100.0 * self.total();
        let mut below = 0.0;
        for (bin, count) in self.used() {
            if below + count >= wanted {
                let (start, end) = self.bounds(bin);
                return Some(start + (wanted - below) / count * (end - start));
            }
            below += count;
        }
        // Rounding of fractional sums may miss the total slightly, so the last bin is taken then.
        self.used().next_back().map(|(bin, _)| self.bounds(bin).1)
    }

    /// The mean, with the values of a bin at its middle.
    pub(super) fn mean_ns(&self) -> Option<f64> {
        let sum: f64 = self
            .used()
            .map(|(bin, count)| {
                let (start, end) = self.bounds(bin);
                (start + end) / 2.0 * count
            })
            .sum();
        let total = self.total();
        (total > 0.0).then(|| sum / total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::histogram::{bin_of, value_of};
    use proptest::prelude::*;

    #[test]
    fn bins_are_those_of_the_reports() {
        let layout = Layout::NANOSECONDS;
        for bin in 0..layout.bins() {
            let (start, end) = (layout.start_ns(bin) as u64, layout.start_ns(bin + 1) as u64);
            assert_eq!((bin_of(start), bin_of(end - 1)), (Some(bin), Some(bin)));
            assert!((start..end).contains(&value_of(bin)));
        }
        assert_eq!(layout.coarseness(29), Some(6));
        assert_eq!(Layout::MICROSECONDS.coarseness(1216), Some(0));
        assert_eq!(layout.coarseness(1216), None);
    }

    #[test]
    fn values_spread_evenly_over_their_bin() {
        let mut histogram = Histogram::new(Layout::NANOSECONDS, 0);
        let mut counts = vec![0; 1856];
        // These bins hold 1024..1040 ns and 6784..6848 ns.
        (counts[320], counts[490]) = (3, 1);
        histogram.add(&counts, 1.0);
        assert_eq!(histogram.percentile_ns(0.0), Some(1024.0));
        assert_eq!(histogram.percentile_ns(50.0), Some(1024.0 + 16.0 * 2.0 / 3.0));
        assert_eq!(histogram.percentile_ns(75.0), Some(1040.0));
        assert_eq!(histogram.percentile_ns(90.0), Some(6784.0 + 64.0 * 0.6));
        assert_eq!(histogram.percentile_ns(100.0), Some(6848.0));
        assert_eq!(histogram.mean_ns(), Some((3.0 * 1032.0 + 6816.0) / 4.0));
        histogram.cut_above(5000.0);
        assert_eq!(histogram.percentile_ns(100.0), Some(1040.0));
        assert_eq!(Histogram::new(Layout::NANOSECONDS, 6).percentile_ns(50.0), None);
    }

    proptest! {
        #[test]
        fn percentiles_rise_and_stay_within_the_bins(counts in proptest::collection::vec(0u64..5, 1856), coarseness in 0u32..7) {
            let mut histogram = Histogram::new(Layout::NANOSECONDS, coarseness);
            histogram.add(&counts, 0.3);
            let total: u64 = counts.iter().sum();
            prop_assert!((histogram.total() - total as f64 * 0.3).abs() < 1e-6);
            let values: Vec<f64> = (0..=100).filter_map(|percent| histogram.percentile_ns(f64::from(percent))).collect();
            prop_assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
