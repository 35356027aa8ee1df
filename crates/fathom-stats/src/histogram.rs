//! Latency bins: 64 per power of two of nanoseconds, so that the error of a bin is below 0.8 %.
//!
//! Layout: values below 128 have a bin each. For larger values, let `m` be the index of the highest set bit and
//! `e = m - 6`; the bin is `64 * (e + 1) + ((value >> e) & 63)`. The first 1856 bins are those that fio's JSON+
//! and histogram logs print; fathom's bins continue to 2^44 ns (4.9 hours). Larger values are counted
//! separately, not in the last bin.
//!
//! Source: the layout is published in fio's documentation of `json+`; SPDK's `histogram_data.h` has a similar
//! layout.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Binary logarithm of the number of bins per power of two.
const GROUP_BITS: u32 = 6;
/// Index of the highest bit that has its own bins.
const HIGHEST_BIT: u32 = 43;
/// Number of bins of a histogram.
pub const BIN_COUNT: usize = ((HIGHEST_BIT - GROUP_BITS + 2) as usize) << GROUP_BITS;
/// First value in nanoseconds that is beyond all bins.
pub const RANGE_END_NS: u64 = 1 << (HIGHEST_BIT + 1);

/// Returns the bin of a latency in nanoseconds; `None` beyond the range.
#[inline(always)]
pub fn bin_of(ns: u64) -> Option<usize> {
    (ns < RANGE_END_NS).then(|| short_bin_of(ns))
}

/// Returns the bin of a value that must be within the range; other values get the last bin.
#[inline(always)]
pub fn short_bin_of(ns: u64) -> usize {
    // `| 127` makes the formula valid for values below 128 too, because their exponent becomes 0.
    let exponent = 63 - (ns | 127).leading_zeros() - GROUP_BITS;
    (((exponent as usize) << GROUP_BITS) + (ns >> exponent) as usize).min(BIN_COUNT - 1)
}

/// Computes [`short_bin_of`] for values below 2^31 with operations that vector units have. From 64 on, the
/// exponent of a floating-point number and its leading mantissa bits form the bin. Smaller values are shifted
/// into this range and back. The last bits of large values are cleared, so that the conversion is exact and
/// does not round up to the next bin.
#[inline(always)]
pub(crate) fn bin_by_float(ns: u32) -> u32 {
    let moved = if ns < 64 { 64 } else { 0 };
    let exact = if ns < 1 << f32::MANTISSA_DIGITS { ns } else { ns & !0xff };
    let bits = ((exact + moved) as i32 as f32).to_bits() >> (f32::MANTISSA_DIGITS - 1 - GROUP_BITS);
    bits.wrapping_sub(((f32::MAX_EXP as u32 - 1 + GROUP_BITS - 1) << GROUP_BITS) + moved)
}

/// Returns the value in nanoseconds reported for a bin, which is its middle, truncated.
pub fn value_of(bin: usize) -> u64 {
    if bin < 128 {
        return bin as u64;
    }
    let exponent = (bin >> GROUP_BITS) - 1;
    let offset = (bin & 63) as u64;
    let half_step = (1u64 << exponent) >> 1;
    (1u64 << (exponent + GROUP_BITS as usize)) + (offset << exponent) + half_step
}

/// Returns the smallest and the largest value in nanoseconds that a bin contains.
pub fn bounds_of(bin: usize) -> (u64, u64) {
    if bin < 128 {
        return (bin as u64, bin as u64);
    }
    let exponent = (bin >> GROUP_BITS) - 1;
    let low = ((bin as u64 & 63) + 64) << exponent;
    (low, low + (1 << exponent) - 1)
}

/// Factor between the numbers of bins from which on each added bin is looked up, because traversing both maps
/// would be slower.
const FEW: usize = 16;

/// Adds the counts of bins. Both maps are traversed together, so bins that exist already, which are nearly all
/// when many histograms are added, need no lookup.
pub(crate) fn add_bins(own: &mut BTreeMap<u16, u64>, theirs: &BTreeMap<u16, u64>) {
    if own.is_empty() {
        own.clone_from(theirs);
        return;
    }
    if theirs.len() < own.len() / FEW {
        for (&bin, &count) in theirs {
            *own.entry(bin).or_default() += count;
        }
        return;
    }
    let mut new = Vec::new();
    let mut places = own.iter_mut();
    let mut place = places.next();
    for (&bin, &count) in theirs {
        while place.as_ref().is_some_and(|(at, _)| **at < bin) {
            place = places.next();
        }
        match &mut place {
            Some((at, sum)) if **at == bin => **sum += count,
            _ => new.push((bin, count)),
        }
    }
    own.extend(new);
}

/// An owned histogram, which merges exactly by addition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Count by bin index; empty bins are absent.
    pub bins: BTreeMap<u16, u64>,
    /// Number of values at or beyond [`RANGE_END_NS`].
    pub beyond_range: u64,
}

impl Histogram {
    /// Adds a value in nanoseconds.
    pub fn record(&mut self, ns: u64) {
        match bin_of(ns) {
            Some(bin) => *self.bins.entry(bin as u16).or_default() += 1,
            None => self.beyond_range += 1,
        }
    }

    /// Returns the number of values recorded, including values beyond the range.
    pub fn count(&self) -> u64 {
        self.bins.values().sum::<u64>() + self.beyond_range
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        add_bins(&mut self.bins, &other.bins);
        self.beyond_range += other.beyond_range;
    }

    /// Returns the values recorded since `earlier`, a snapshot of the same histogram, as an exact difference
    /// for each bin.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let before = |bin: &u16| earlier.bins.get(bin).copied().unwrap_or(0);
        Histogram {
            bins: self
                .bins
                .iter()
                .map(|(bin, count)| (*bin, count.saturating_sub(before(bin))))
                .filter(|(_, count)| *count > 0)
                .collect(),
            beyond_range: self.beyond_range.saturating_sub(earlier.beyond_range),
        }
    }

    /// Returns `(value in ns, count)` of every non-empty bin, in ascending order.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.bins.iter().map(|(&bin, &count)| (value_of(bin as usize), count))
    }

    /// Returns the values in nanoseconds at the given percentiles (0..=100, ascending). Each is the value of
    /// the smallest bin whose cumulative count reaches that share. A percentile beyond the range gives
    /// [`RANGE_END_NS`]. The list is empty if the histogram is.
    pub fn percentiles(&self, percentiles: &[f64]) -> Vec<u64> {
        let total = self.count();
        if total == 0 {
            return Vec::new();
        }
        let mut cumulative = 0;
        let mut bins = self.values().peekable();
        percentiles
            .iter()
            .map(|&percentile| {
                let wanted = percentile / 100.0 * total as f64;
                while let Some(&(value, count)) = bins.peek() {
                    if (cumulative + count) as f64 >= wanted {
                        return value;
                    }
                    cumulative += count;
                    bins.next();
                }
                RANGE_END_NS
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn floats_have_the_same_bins() {
        let around = |power: u32| (0..130).map(move |step| (1u32 << power).wrapping_add(step << power >> 6));
        for ns in (0..70_000).chain((6..31).flat_map(around)).filter(|&ns| ns < 1 << 31) {
            for ns in [ns.saturating_sub(1), ns] {
                assert_eq!(bin_by_float(ns) as usize, short_bin_of(ns.into()), "{ns}");
            }
        }
    }

    #[test]
    fn known_bins() {
        assert_eq!(bin_of(0), Some(0));
        assert_eq!(bin_of(127), Some(127));
        assert_eq!(bin_of(128), Some(128));
        for ns in 536..=543 {
            assert_eq!(value_of(bin_of(ns).expect("in range")), 540);
        }
        assert_eq!(bin_of(RANGE_END_NS - 1), Some(BIN_COUNT - 1));
        assert_eq!(bin_of(RANGE_END_NS), None);
        assert_eq!(bin_of(u64::MAX), None);
    }

    #[test]
    fn bins_are_contiguous() {
        for bin in 0..BIN_COUNT {
            assert_eq!(bin_of(value_of(bin)), Some(bin));
            let (low, high) = bounds_of(bin);
            assert_eq!((bin_of(low), bin_of(high)), (Some(bin), Some(bin)));
            assert_eq!(bin_of(high + 1), Some(bin + 1).filter(|&next| next < BIN_COUNT));
        }
    }

    #[test]
    fn beyond_the_range_is_told_apart() {
        let mut histogram = Histogram::default();
        histogram.record(1000);
        histogram.record(RANGE_END_NS);
        assert_eq!(
            histogram.percentiles(&[50.0, 99.0]),
            vec![value_of(bin_of(1000).expect("in")), RANGE_END_NS]
        );
    }

    proptest! {
        #[test]
        fn error_is_below_one_percent(ns in 0u64..RANGE_END_NS) {
            let value = value_of(bin_of(ns).expect("in range"));
            prop_assert!(value.abs_diff(ns) as f64 <= 0.008 * ns as f64 + 0.5);
        }

        #[test]
        fn merged_equals_recorded_together(a in prop::collection::vec(any::<u64>(), 0..200), b in prop::collection::vec(0u64..1 << 30, 0..200)) {
            let record = |values: &[u64]| { let mut h = Histogram::default(); values.iter().for_each(|&v| h.record(v)); h };
            let mut merged = record(&a);
            merged.merge(&record(&b));
            let together: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&merged, &record(&together));
            prop_assert_eq!(merged.count(), together.len() as u64);
        }

        #[test]
        fn percentiles_agree_with_an_exact_sort(mut values in prop::collection::vec(0u64..1 << 40, 1..300), p in 0.1f64..100.0) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&v| histogram.record(v));
            values.sort_unstable();
            let rank = ((p / 100.0 * values.len() as f64).ceil() as usize).max(1) - 1;
            let exact = values[rank.min(values.len() - 1)];
            prop_assert_eq!(bin_of(histogram.percentiles(&[p])[0]), bin_of(exact));
        }
    }
}
