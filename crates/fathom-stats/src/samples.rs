//! The counters of one worker, in a fixed layout that may be in memory shared between processes.
//!
//! The worker is the only writer. Readers (the supervisor) may read at any time without locks: every field is
//! an atomic that the writer stores with `Relaxed`, which costs no more than a plain store, and atomic
//! read-modify-write operations are never used. A reader may see an I/O counted in one field and not yet in the
//! next, but it never sees a torn number, and all fields agree once the worker has stopped.

use crate::buckets::{DEPTH_BUCKETS, DISTRIBUTION_BOUNDS_NS, DISTRIBUTION_BUCKETS};
use crate::direction::Direction;
use crate::histogram::{BIN_COUNT, Histogram, bin_by_float, bin_of, short_bin_of};
use crate::latency::LatencyStats;
use crate::per_direction::PerDirection;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Adds to a counter that only this thread writes.
#[inline(always)]
pub fn bump(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Latencies below this limit (four seconds) have squares that fit in 64 bits.
pub const SHORT_NS: u64 = 1 << 32;

/// Maximum number of values that are counted together.
pub const MOST_TOGETHER: usize = 256;

/// Only values below this limit (a quarter of a second) are counted together, so that the sum of their squares
/// fits in 64 bits.
pub const TOGETHER_NS: u64 = 1 << 28;

/// Number of values in a vector.
const LANES: usize = 8;

/// Number of bins that are computed together.
const BINS_TOGETHER: usize = 32;

const _: () = assert!((TOGETHER_NS - 1).pow(2) <= u64::MAX / MOST_TOGETHER as u64);
const _: () = assert!(MOST_TOGETHER.is_multiple_of(LANES) && BINS_TOGETHER.is_multiple_of(LANES));

/// Returns the number of values, rounded up to fill the last vector.
#[inline(always)]
pub fn padded(count: usize) -> usize {
    count.next_multiple_of(LANES).min(MOST_TOGETHER)
}

/// Sums of values that are counted together with operations that vector units have.
#[derive(Clone, Copy)]
pub struct Sums {
    sum: u64,
    squares: u64,
    min: u32,
    max: u32,
}

impl Sums {
    /// Empty sums.
    pub const NONE: Sums = Sums { sum: 0, squares: 0, min: u32::MAX, max: 0 };

    /// Adds a value below [`TOGETHER_NS`].
    #[inline(always)]
    pub fn add(&mut self, ns: u32) {
        self.sum += u64::from(ns);
        self.squares += u64::from(ns) * u64::from(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Subtracts a value that padding has added this many times.
    #[inline(always)]
    pub fn take_out(&mut self, ns: u32, times: usize) {
        let ns = u64::from(ns);
        self.sum -= ns * times as u64;
        self.squares -= ns * ns * times as u64;
    }
}

/// Statistics of one latency; [`LatencyStats`] is the owned form. All-zero memory is the empty value.
#[repr(C, align(64))]
pub struct LatencySamples {
    count: AtomicU64,
    sum_ns: AtomicU64,
    sum_of_squares_low: AtomicU64,
    sum_of_squares_high: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    /// Difference of the extremes, so that a single comparison shows whether a value changes one of them.
    spread_ns: AtomicU64,
    beyond_range: AtomicU64,
    bins: [AtomicU64; BIN_COUNT],
}

impl LatencySamples {
    /// Counts one value in nanoseconds; `with_bins` also adds it to the histogram.
    pub fn record(&self, ns: u64, with_bins: bool) {
        if ns < SHORT_NS {
            return self.record_short_with(ns, with_bins);
        }
        self.add_wide_square(ns);
        self.record_all_but_square(ns, with_bins);
    }

    /// Counts several equal values, in the histogram as well.
    pub fn record_many(&self, ns: u64, count: u64) {
        let Some(others) = count.checked_sub(1) else { return };
        self.record(ns, true);
        let squares = u128::from(ns).saturating_mul(u128::from(ns)).saturating_mul(u128::from(others));
        self.add_squares(squares);
        bump(&self.count, others);
        bump(&self.sum_ns, ns.saturating_mul(others));
        match bin_of(ns) {
            Some(bin) => bump(&self.bins[bin], others),
            None => bump(&self.beyond_range, others),
        }
    }

    /// Counts a value that must be below [`SHORT_NS`] like [`record`](LatencySamples::record), without the
    /// histogram.
    #[inline(always)]
    pub fn record_short(&self, ns: u64) {
        self.add_short_square(ns.wrapping_mul(ns));
        self.record_all_but_square(ns, false);
    }

    #[inline(always)]
    fn add_short_square(&self, square: u64) {
        let (low, carry) = self.sum_of_squares_low.load(Relaxed).overflowing_add(square);
        self.sum_of_squares_low.store(low, Relaxed);
        if carry {
            self.carry_square();
        }
    }

    /// Counts a value like [`record_short`](LatencySamples::record_short), with the histogram; returns the bin.
    #[inline(always)]
    pub fn record_short_in_bins(&self, ns: u64) -> usize {
        self.record_short(ns);
        let bin = short_bin_of(ns);
        bump(&self.bins[bin], 1);
        bin
    }

    /// Counts a value like [`record_short`](LatencySamples::record_short), with or without the histogram.
    #[inline(always)]
    pub fn record_short_with(&self, ns: u64, with_bins: bool) {
        if with_bins {
            self.record_short_in_bins(ns);
        } else {
            self.record_short(ns);
        }
    }

    /// Counts values with these sums, but does not add them to the histogram.
    #[inline(always)]
    pub fn record_sums(&self, sums: &Sums, count: usize) {
        bump(&self.sum_ns, sums.sum);
        self.add_short_square(sums.squares);
        let (min, max) = (u64::from(sums.min), u64::from(sums.max));
        if min < self.min_ns.load(Relaxed) || max > self.max_ns.load(Relaxed) {
            self.widen_to(min, max);
        }
        bump(&self.count, count as u64);
    }

    /// Adds the first `count` of these values to the histogram, each below [`TOGETHER_NS`].
    #[inline(always)]
    pub fn record_bins(&self, values: &[u32; MOST_TOGETHER], count: usize) {
        self.record_bins_and(values, count, |_, _| {});
    }

    /// Like [`record_bins`](Self::record_bins), and calls `look` with each value and its bin.
    // The loop uses an index, because a zipped iterator is not inlined in some builds.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn record_bins_and(&self, values: &[u32; MOST_TOGETHER], count: usize, look: impl Fn(u32, usize)) {
        let (mut bins, padded) = ([0; BINS_TOGETHER], padded(count));
        for first in (0..padded).step_by(BINS_TOGETHER) {
            let values = &values[first..padded.min(first + BINS_TOGETHER)];
            let bins = &mut bins[..values.len()];
            for place in 0..values.len() {
                bins[place] = bin_by_float(values[place]);
            }
            let counted = values.len().min(count - first);
            let (values, bins) = (&values[..counted], &bins[..counted]);
            for place in 0..counted {
                let bin = bins[place] as usize;
                bump(&self.bins[bin], 1);
                look(values[place], bin);
            }
        }
    }

    /// Extends minimum and maximum to include values that are not counted yet.
    #[cold]
    #[inline(never)]
    fn widen_to(&self, least: u64, most: u64) {
        match self.count.load(Relaxed) {
            0 => self.set_range(least, most),
            _ => self.set_range(self.min_ns.load(Relaxed).min(least), self.max_ns.load(Relaxed).max(most)),
        }
    }

    fn set_range(&self, min: u64, max: u64) {
        self.min_ns.store(min, Relaxed);
        self.max_ns.store(max, Relaxed);
        self.spread_ns.store(max - min, Relaxed);
    }

    #[inline(always)]
    fn record_all_but_square(&self, ns: u64, with_bins: bool) {
        bump(&self.count, 1);
        bump(&self.sum_ns, ns);
        if ns.wrapping_sub(self.min_ns.load(Relaxed)) > self.spread_ns.load(Relaxed) {
            self.widen(ns);
        }
        if with_bins {
            match bin_of(ns) {
                Some(bin) => bump(&self.bins[bin], 1),
                None => bump(&self.beyond_range, 1),
            }
        }
    }

    /// Records a new minimum or maximum.
    #[cold]
    #[inline(never)]
    fn widen(&self, ns: u64) {
        let (min, max) = match self.count.load(Relaxed) {
            1 => (ns, ns),
            _ => (self.min_ns.load(Relaxed).min(ns), self.max_ns.load(Relaxed).max(ns)),
        };
        self.set_range(min, max);
    }

    #[cold]
    #[inline(never)]
    fn carry_square(&self) {
        bump(&self.sum_of_squares_high, 1);
    }

    #[inline(never)]
    fn add_wide_square(&self, ns: u64) {
        self.add_squares(u128::from(ns) * u128::from(ns));
    }

    #[inline(always)]
    fn add_squares(&self, squares: u128) {
        let (low, carry) = self.sum_of_squares_low.load(Relaxed).overflowing_add(squares as u64);
        self.sum_of_squares_low.store(low, Relaxed);
        bump(&self.sum_of_squares_high, (squares >> 64) as u64 + u64::from(carry));
    }

    /// Returns the number of values so far.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Returns the number of values in the histogram so far, including values beyond its range.
    pub fn in_bins(&self) -> u64 {
        self.used_bins().map(|(_, count)| count).sum::<u64>() + self.beyond_range.load(Relaxed)
    }

    /// Returns the bins from the smallest value to the largest, with their indices. The other bins are empty
    /// and are not read, because reading shared memory would allocate it.
    fn used_bins(&self) -> impl Iterator<Item = (usize, u64)> {
        let (min, max) = (bin_of(self.min_ns.load(Relaxed)), bin_of(self.max_ns.load(Relaxed)));
        let end = if self.count() == 0 { 0 } else { max.map_or(BIN_COUNT, |bin| bin + 1) };
        let start = min.unwrap_or(end).min(end);
        let counts = self.bins[start..end].iter().map(|bin| bin.load(Relaxed));
        (start..end).zip(counts)
    }

    /// Returns the largest value so far in ns.
    pub fn max_ns(&self) -> u64 {
        self.max_ns.load(Relaxed)
    }

    /// Returns the sum of the values so far in ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns.load(Relaxed)
    }

    /// Resets all values.
    pub fn reset(&self) {
        if self.count() == 0 {
            return;
        }
        for (bin, _) in self.used_bins() {
            self.bins[bin].store(0, Relaxed);
        }
        for counter in [
            &self.count,
            &self.sum_ns,
            &self.sum_of_squares_low,
            &self.sum_of_squares_high,
            &self.min_ns,
            &self.max_ns,
            &self.spread_ns,
            &self.beyond_range,
        ] {
            counter.store(0, Relaxed);
        }
    }

    /// Returns an owned copy of the current statistics.
    pub fn snapshot(&self) -> LatencyStats {
        let count = self.count.load(Relaxed);
        if count == 0 {
            return LatencyStats::default();
        }
        let high = u128::from(self.sum_of_squares_high.load(Relaxed));
        let mut histogram =
            Histogram { beyond_range: self.beyond_range.load(Relaxed), ..Histogram::default() };
        for (index, count) in self.used_bins() {
            if count != 0 {
                histogram.bins.insert(index as u16, count);
            }
        }
        LatencyStats {
            count,
            sum_ns: self.sum_ns.load(Relaxed),
            sum_of_squares: (high << 64) | u128::from(self.sum_of_squares_low.load(Relaxed)),
            min_ns: self.min_ns.load(Relaxed),
            max_ns: self.max_ns.load(Relaxed),
            histogram,
        }
    }
}

/// Counters of one direction.
#[repr(C, align(64))]
pub struct DirectionSamples {
    /// Number of bytes moved by completed I/Os.
    pub bytes: AtomicU64,
    /// Number of I/Os submitted to the engine.
    pub issued: AtomicU64,
    /// I/Os ended.
    pub completed: AtomicU64,
    /// Number of I/Os that moved fewer bytes than requested.
    pub short: AtomicU64,
    /// I/Os dropped.
    pub dropped: AtomicU64,
    /// Submission latency.
    pub slat: LatencySamples,
    /// Completion latency.
    pub clat: LatencySamples,
    /// Total latency.
    pub lat: LatencySamples,
}

/// All statistics of one worker. All-zero memory is a valid value.
#[repr(C, align(128))]
pub struct WorkerSamples {
    /// Number of resets (at the end of a ramp), by which readers that compute differences notice a reset.
    pub epoch: AtomicU64,
    /// Number of errors that `continue_on_error` tolerated.
    pub tolerated_errors: AtomicU64,
    /// errno of the first tolerated error.
    pub first_error: AtomicU64,
    /// Zones reset.
    pub zone_resets: AtomicU64,
    /// Source of total latency; see [`lat`](WorkerSamples::lat).
    lat_source: AtomicU64,
    /// Depth distribution of issued I/Os.
    pub depth_map: [AtomicU64; DEPTH_BUCKETS],
    /// Number of I/Os per submission.
    pub submit_map: [AtomicU64; DEPTH_BUCKETS],
    /// Number of I/Os per reap.
    pub complete_map: [AtomicU64; DEPTH_BUCKETS],
    /// Corrections of the report's latency distribution, in addition to the values of the histograms; see
    /// [`distribution`](WorkerSamples::distribution).
    beside_histograms: [AtomicU64; DISTRIBUTION_BUCKETS],
    /// Counters per direction.
    pub directions: PerDirection<DirectionSamples>,
    /// Latency of fsync, fdatasync, sync_file_range and syncfs.
    pub sync: LatencySamples,
}

/// Values of `lat_source`.
const LAT_IS_RECORDED: u64 = 0;
const LAT_IS_CLAT: u64 = 1;
const LAT_IS_CLAT_WITHOUT_BINS: u64 = 2;

impl DirectionSamples {
    /// True until an I/O has been submitted or has completed, so that there are no latencies.
    pub fn is_unused(&self) -> bool {
        [&self.bytes, &self.issued, &self.completed].iter().all(|counter| counter.load(Relaxed) == 0)
    }
}

impl WorkerSamples {
    /// Derives total latency, which equals completion latency, from the latter's samples instead of recording
    /// it; `with_bins` includes the histogram. Must be called before the first value is recorded.
    pub fn take_lat_from_clat(&self, with_bins: bool) {
        self.lat_source.store(if with_bins { LAT_IS_CLAT } else { LAT_IS_CLAT_WITHOUT_BINS }, Relaxed);
    }

    /// Returns the total latency of a direction.
    pub fn lat(&self, direction: Direction) -> LatencyStats {
        let samples = &self.directions[direction];
        match self.lat_source.load(Relaxed) {
            LAT_IS_RECORDED => samples.lat.snapshot(),
            LAT_IS_CLAT => samples.clat.snapshot(),
            _ => LatencyStats { histogram: Histogram::default(), ..samples.clat.snapshot() },
        }
    }

    /// Resets all statistics (start of a run, end of a ramp) except errors, because errors during a ramp count
    /// as well.
    pub fn reset(&self) {
        for map in [&self.depth_map, &self.submit_map, &self.complete_map] {
            map.iter().for_each(|counter| counter.store(0, Relaxed));
        }
        self.beside_histograms.iter().for_each(|counter| counter.store(0, Relaxed));
        self.zone_resets.store(0, Relaxed);
        for direction in self.directions.values().filter(|direction| !direction.is_unused()) {
            for counter in [
                &direction.bytes,
                &direction.issued,
                &direction.completed,
                &direction.short,
                &direction.dropped,
            ] {
                counter.store(0, Relaxed);
            }
            direction.slat.reset();
            direction.clat.reset();
            direction.lat.reset();
        }
        self.sync.reset();
        bump(&self.epoch, 1);
    }

    /// Returns the distribution of completion latency over the bounds of the report. It is derived from the
    /// histograms, except for latencies beyond them, and for bins that contain a bound, whose values beyond the
    /// bound were moved to the next bucket.
    pub fn distribution(&self) -> [u64; DISTRIBUTION_BUCKETS] {
        let mut buckets = self.beside_histograms.each_ref().map(|counter| counter.load(Relaxed));
        let mut add = |bucket: usize, count: u64| buckets[bucket] = buckets[bucket].wrapping_add(count);
        for direction in self.directions.values().filter(|direction| !direction.is_unused()) {
            for (bin, count) in direction.clat.used_bins() {
                add(usize::from(FIRST_BUCKET[bin]), count);
            }
            add(DISTRIBUTION_BUCKETS - 1, direction.clat.beyond_range.load(Relaxed));
        }
        // At the end of a ramp, a reader may see that a value was moved out of a bin that has since been
        // cleared, so a count may be negative.
        buckets.map(|count| count.cast_signed().max(0).cast_unsigned())
    }

    /// Counts a latency that no histogram contains in the report's coarse distribution.
    pub fn record_distribution(&self, ns: u64) {
        bump(&self.beside_histograms[distribution_bucket(ns)], 1);
    }

    /// Counts a completion latency of any length of one direction, with or without its histogram, and in the
    /// distribution.
    pub fn record_long_clat(&self, clat: &LatencySamples, ns: u64, with_bins: bool) {
        clat.record(ns, with_bins);
        match bin_of(ns) {
            _ if !with_bins => self.record_distribution(ns),
            Some(bin) => self.record_distribution_of_bin(ns, bin),
            // The bucket of values beyond the histogram's range is derived from their count.
            None => {}
        }
    }

    /// Counts the first `count` of several latencies, each below [`TOGETHER_NS`], with these sums.
    #[inline(always)]
    pub fn record_clats(
        &self,
        clat: &LatencySamples,
        sums: &Sums,
        values: &[u32; MOST_TOGETHER],
        count: usize,
        with_bins: bool,
    ) {
        clat.record_sums(sums, count);
        match with_bins {
            true => {
                clat.record_bins_and(values, count, |ns, bin| self.record_distribution_of_bin(ns.into(), bin))
            }
            false => values[..count].iter().for_each(|&ns| self.record_distribution(ns.into())),
        }
    }

    /// Counts a latency in this bin of its direction's histogram.
    #[inline(always)]
    pub fn record_distribution_of_bin(&self, ns: u64, bin: usize) {
        if HAS_BOUND[bin & (HAS_BOUND.len() - 1)] {
            self.move_beyond_bound(ns, bin);
        }
    }

    /// Moves a value beyond the bound of its bin to the next bucket. A bin contains at most one bound.
    #[cold]
    #[inline(never)]
    fn move_beyond_bound(&self, ns: u64, bin: usize) {
        let bucket = usize::from(FIRST_BUCKET[bin]);
        if ns >= DISTRIBUTION_BOUNDS_NS[bucket] {
            bump(&self.beside_histograms[bucket], u64::MAX);
            bump(&self.beside_histograms[bucket + 1], 1);
        }
    }
}

/// Returns the bucket of the coarse latency distribution, which is the first whose bound is above the value.
pub fn distribution_bucket(ns: u64) -> usize {
    DISTRIBUTION_BOUNDS_NS.partition_point(|&bound| bound <= ns)
}

/// Bucket of the smallest value of each bin.
const FIRST_BUCKET: [u8; BIN_COUNT] = {
    let mut table = [0; BIN_COUNT];
    let mut bin = 0;
    while bin < BIN_COUNT {
        let mut bucket = 0;
        while bucket < DISTRIBUTION_BOUNDS_NS.len() && smallest_of(bin) >= DISTRIBUTION_BOUNDS_NS[bucket] {
            bucket += 1;
        }
        table[bin] = bucket as u8;
        bin += 1;
    }
    table
};

/// True for bins that contain a bound. The length is a power of two, so that indexing needs no check.
static HAS_BOUND: [bool; 4096] = {
    let mut table = [false; 4096];
    let mut bin = 0;
    while bin + 1 < BIN_COUNT {
        let bucket = FIRST_BUCKET[bin] as usize;
        table[bin] =
            bucket < DISTRIBUTION_BOUNDS_NS.len() && DISTRIBUTION_BOUNDS_NS[bucket] < smallest_of(bin + 1);
        bin += 1;
    }
    table
};

/// Returns the smallest value of a bin.
const fn smallest_of(bin: usize) -> u64 {
    if bin < 128 { bin as u64 } else { (64 + (bin as u64 & 63)) << ((bin >> 6) - 1) }
}

/// Returns the bucket of the depth distribution: 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64 and more.
#[inline(always)]
pub fn depth_bucket(depth: u32) -> usize {
    (31 - (depth | 1).leading_zeros()).min(6) as usize
}

/// Returns the bucket of the submit and complete distributions: 0, 1-4, 5-8, 9-16, 17-32, 33-64, more.
#[inline(always)]
pub fn batch_bucket(batch: u32) -> usize {
    match batch {
        0 => 0,
        1..=4 => 1,
        _ => (32 - (batch - 1).leading_zeros()).min(7) as usize - 1,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn zeroed() -> LatencySamples {
        let samples = LatencySamples {
            count: AtomicU64::new(0),
            sum_ns: AtomicU64::new(0),
            sum_of_squares_low: AtomicU64::new(0),
            sum_of_squares_high: AtomicU64::new(0),
            min_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
            spread_ns: AtomicU64::new(0),
            beyond_range: AtomicU64::new(0),
            bins: [const { AtomicU64::new(0) }; BIN_COUNT],
        };
        samples.reset();
        samples
    }

    fn all_zeroed() -> Box<WorkerSamples> {
        let counter = || AtomicU64::new(0);
        let map = || std::array::from_fn(|_| counter());
        let direction = |_| DirectionSamples {
            bytes: counter(),
            issued: counter(),
            completed: counter(),
            short: counter(),
            dropped: counter(),
            slat: zeroed(),
            clat: zeroed(),
            lat: zeroed(),
        };
        Box::new(WorkerSamples {
            epoch: counter(),
            tolerated_errors: counter(),
            first_error: counter(),
            zone_resets: counter(),
            lat_source: counter(),
            depth_map: map(),
            submit_map: map(),
            complete_map: map(),
            beside_histograms: std::array::from_fn(|_| counter()),
            directions: PerDirection::from_fn(direction),
            sync: zeroed(),
        })
    }

    #[test]
    fn total_latency_is_recorded_or_that_of_completion() {
        let direction = Direction::Write;
        for (with_bins, derived) in [(false, true), (true, true), (true, false)] {
            let samples = all_zeroed();
            if derived {
                samples.take_lat_from_clat(with_bins);
            }
            for ns in [3, 5_000, 1 << 40] {
                samples.directions[direction].clat.record(ns, true);
                if !derived {
                    samples.directions[direction].lat.record(ns, with_bins);
                }
            }
            let lat = samples.lat(direction);
            assert_eq!((lat.count, lat.max_ns), (3, 1 << 40));
            assert_eq!(lat.histogram.count() > 0, with_bins, "derived: {derived}");
            assert_eq!(samples.lat(Direction::Read), LatencyStats::default());
        }
    }

    #[test]
    fn buckets_of_depth_and_batch() {
        let depths: Vec<usize> = [1, 2, 3, 4, 8, 16, 32, 63, 64, 1000].map(depth_bucket).to_vec();
        assert_eq!(depths, [0, 1, 1, 2, 3, 4, 5, 5, 6, 6]);
        let batches: Vec<usize> = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 5000].map(batch_bucket).to_vec();
        assert_eq!(batches, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }

    proptest! {
        #[test]
        fn a_snapshot_is_what_was_recorded(values in prop::collection::vec(0u64..1 << 45, 0..200)) {
            let samples = zeroed();
            let mut expected = LatencyStats::default();
            for &value in &values {
                if value < SHORT_NS {
                    samples.record_short_in_bins(value);
                } else {
                    samples.record(value, true);
                }
                expected.record(value);
            }
            prop_assert_eq!(samples.snapshot(), expected);
            samples.reset();
            prop_assert_eq!(samples.snapshot(), LatencyStats::default());
        }

        #[test]
        fn values_count_together_as_one_by_one(
            before in prop::collection::vec(latency(), 0..3),
            values in prop::collection::vec(latency().prop_map(|ns| (ns % TOGETHER_NS) as u32), 1..=MOST_TOGETHER - 7),
            repeated in 0..8usize,
            with_bins in any::<bool>(),
        ) {
            let [single, together] = [(); 2].map(|()| all_zeroed());
            let lats = |samples: &WorkerSamples| samples.directions[Direction::Read].lat.snapshot();
            let clats = |samples: &WorkerSamples| samples.directions[Direction::Read].clat.snapshot();
            for samples in [&single, &together] {
                let counters = &samples.directions[Direction::Read];
                // The call avoids a warning about an unused function.
                bump(&counters.completed, 1);
                for &ns in &before {
                    counters.lat.record(ns, with_bins);
                    samples.record_long_clat(&counters.clat, ns, with_bins);
                }
            }
            let mut sums = Sums::NONE;
            for &ns in &values {
                sums.add(ns);
                single.directions[Direction::Read].lat.record(ns.into(), with_bins);
                single.record_long_clat(&single.directions[Direction::Read].clat, ns.into(), with_bins);
            }
            (0..repeated).for_each(|_| sums.add(values[0]));
            sums.take_out(values[0], repeated);
            let (count, mut all) = (values.len(), [TOGETHER_NS as u32; MOST_TOGETHER]);
            all[..count].copy_from_slice(&values);
            let counters = &together.directions[Direction::Read];
            counters.lat.record_sums(&sums, count);
            if with_bins {
                counters.lat.record_bins(&all, count);
            }
            together.record_clats(&counters.clat, &sums, &all, count, with_bins);
            prop_assert_eq!(lats(&together), lats(&single));
            prop_assert_eq!(clats(&together), clats(&single));
            prop_assert_eq!(together.distribution(), single.distribution());
        }

        #[test]
        fn distribution_bucket_is_the_first_bound_above(ns in latency()) {
            let expected = DISTRIBUTION_BOUNDS_NS.iter().position(|&bound| ns < bound).unwrap_or(31);
            prop_assert_eq!(distribution_bucket(ns), expected);
        }

        #[test]
        fn the_distribution_follows_from_the_histograms(
            latencies in prop::collection::vec((latency(), any::<bool>(), 0usize..3), 0..200),
        ) {
            let samples = all_zeroed();
            let mut expected = [0; DISTRIBUTION_BUCKETS];
            for (ns, has_bins, direction) in latencies {
                let counters = &samples.directions[crate::Direction::ALL[direction]];
                bump(&counters.completed, 1);
                let clat = &counters.clat;
                samples.record_long_clat(clat, ns, has_bins);
                expected[distribution_bucket(ns)] += 1;
                if ns < SHORT_NS {
                    samples.record_distribution_of_bin(ns, clat.record_short_in_bins(ns));
                    expected[distribution_bucket(ns)] += 1;
                }
            }
            prop_assert_eq!(samples.distribution(), expected);
            samples.reset();
            prop_assert_eq!(samples.distribution(), [0; DISTRIBUTION_BUCKETS]);
        }
    }

    /// Generates latencies around bounds, short ones, and arbitrary ones.
    fn latency() -> impl Strategy<Value = u64> {
        let around = (prop::sample::select(&DISTRIBUTION_BOUNDS_NS[..]), 0u64..3)
            .prop_map(|(bound, more)| bound + more - 1);
        prop_oneof![around, 0u64..3000, 0u64..4_000_000_000, any::<u64>()]
    }
}
