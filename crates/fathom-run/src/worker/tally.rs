//! The tally of a reap: contributions of its I/Os to the counters, collected while completions are processed
//! and added together at the end.

use super::Recording;
use crate::engine::REAP_BATCH;
use crate::unit::Unit;
use fathom_stats::samples::{
    DirectionSamples, MOST_TOGETHER, Sums, TOGETHER_NS, WorkerSamples, batch_bucket, bump, depth_bucket,
    padded,
};
use fathom_stats::{Direction, PerDirection};
use fathom_sys::clock::{Clock, ShortScale};

/// Minimum number of completions for a tally; with fewer, counting individually is cheaper.
const LEAST: u32 = 16;

/// Maximum age of the counters that readers see while I/Os are submitted in place of completed ones, unless a
/// single submission takes longer; in ns.
const LATEST_NS: u64 = 1_000_000;

/// A queue depth that no I/O reaches.
const NO_DEPTH: u32 = u32::MAX;

const _: () = assert!(REAP_BATCH <= MOST_TOGETHER);

/// Collects the I/Os of a reap that have no effect besides being counted.
pub(super) struct Tally {
    scale: ShortScale,
    recording: Recording,
    /// Minimum number of completions in a reap that are collected.
    least: u32,
    /// Latency in ticks below which an I/O is only counted.
    short_ticks: PerDirection<u64>,
    /// Equals `short_ticks` while I/Os are collected; otherwise 0.
    collected_ticks: PerDirection<u64>,
    /// Number of completed I/Os, and the bytes they moved.
    ended: PerDirection<usize>,
    bytes: PerDirection<u64>,
    /// Ticks of each I/O from start to end, and from issue to end: reads, writes, then trims.
    whole: [u32; 3 * MOST_TOGETHER],
    after_issue: [u32; 3 * MOST_TOGETHER],
    /// Time after the reap by which all I/Os are counted, in ticks.
    latest_ticks: u64,
    until: u64,
    /// Queue depth for which I/Os are collected.
    depth: u32,
    /// Number of I/Os submitted individually at this depth.
    issued: PerDirection<u64>,
}

impl Tally {
    /// Collects I/Os whose latency is below `short_ns`; none if a feature follows each submission, or ticks are
    /// too long for vectors.
    pub(super) fn new(
        clock: Clock,
        recording: Recording,
        short_ns: PerDirection<u64>,
        follows_issue: bool,
    ) -> Tally {
        let ticks = |ns: u64| clock.ticks_of_ns(ns.min(TOGETHER_NS)).min(u64::from(u32::MAX));
        let scale = clock.short_scale();
        Tally {
            scale: scale.unwrap_or(ShortScale::One),
            recording,
            least: if follows_issue || scale.is_none() { u32::MAX } else { LEAST },
            latest_ticks: clock.ticks_of_ns(LATEST_NS),
            until: 0,
            short_ticks: short_ns.map(|ns| if recording.submission { ticks(ns) } else { 0 }),
            collected_ticks: PerDirection::default(),
            ended: PerDirection::default(),
            bytes: PerDirection::default(),
            whole: [0; 3 * MOST_TOGETHER],
            after_issue: [0; 3 * MOST_TOGETHER],
            depth: NO_DEPTH,
            issued: PerDirection::default(),
        }
    }

    /// Begins a reap of `ends` completions at this depth and tick. Returns false if they must be counted
    /// individually.
    #[inline(always)]
    pub(super) fn begin(&mut self, ends: u32, depth: u32, now: u64) -> bool {
        let collects = ends >= self.least;
        if collects {
            self.collected_ticks = self.short_ticks;
            self.until = now.saturating_add(self.latest_ticks);
            self.depth = depth;
        }
        collects
    }

    /// Collects an I/O that has moved `length` bytes. Returns false if it must be counted individually.
    #[inline(always)]
    pub(super) fn take_end(&mut self, direction: Direction, unit: &Unit, length: u32, now: u64) -> bool {
        let whole = now.wrapping_sub(unit.start());
        if whole >= self.collected_ticks[direction] {
            return false;
        }
        let (after_issue, count) = (now.wrapping_sub(unit.issue()), self.ended[direction]);
        // The value is huge if the clock went backwards.
        if after_issue > whole || count >= MOST_TOGETHER {
            return false;
        }
        let place = direction.index() * MOST_TOGETHER + count;
        self.whole[place] = whole as u32;
        self.after_issue[place] = after_issue as u32;
        self.bytes[direction] += u64::from(length);
        self.ended[direction] = count + 1;
        true
    }

    /// Collects an I/O that was submitted alone. Returns false if it must be counted individually. A long
    /// submission ends the reap.
    #[inline(always)]
    pub(super) fn take_issue(
        &mut self,
        direction: Direction,
        depth: u32,
        now: u64,
        samples: &WorkerSamples,
    ) -> bool {
        if depth != self.depth {
            return false;
        }
        if now >= self.until {
            self.end(samples);
            return false;
        }
        self.issued[direction] += 1;
        true
    }

    /// Ends the reap and counts all collected I/Os.
    #[inline(never)]
    pub(super) fn end(&mut self, samples: &WorkerSamples) {
        let mut all_issued = 0;
        for direction in Direction::ALL {
            if self.ended[direction] > 0 {
                self.count_ends(direction, samples);
            }
            // Memory of an unused direction must never be written to.
            if self.issued[direction] > 0 {
                bump(&samples.directions[direction].issued, self.issued[direction]);
                all_issued += self.issued[direction];
            }
        }
        if all_issued > 0 {
            bump(&samples.depth_map[depth_bucket(self.depth)], all_issued);
            if self.recording.batches {
                bump(&samples.submit_map[batch_bucket(1)], all_issued);
            }
        }
        self.depth = NO_DEPTH;
        self.issued = PerDirection::new([0; 3]);
        self.collected_ticks = PerDirection::new([0; 3]);
    }

    fn count_ends(&mut self, direction: Direction, samples: &WorkerSamples) {
        let (count, counters) = (self.ended[direction], &samples.directions[direction]);
        bump(&counters.bytes, self.bytes[direction]);
        bump(&counters.completed, count as u64);
        (self.ended[direction], self.bytes[direction]) = (0, 0);
        let Recording { slat, clat, lat, .. } = self.recording;
        if !(slat || clat || lat) {
            return;
        }
        let first = direction.index() * MOST_TOGETHER;
        let latencies = Latencies { scale: self.scale, recording: &self.recording, samples, counters };
        if let Some(whole) = self.whole[first..].first_chunk_mut()
            && let Some(after_issue) = self.after_issue[first..].first_chunk_mut()
        {
            latencies.count(whole, after_issue, count);
        }
    }
}

/// Counters that receive the latencies.
struct Latencies<'a> {
    scale: ShortScale,
    recording: &'a Recording,
    samples: &'a WorkerSamples,
    counters: &'a DirectionSamples,
}

/// Latencies of several I/Os: first in ticks, then in nanoseconds.
type Spans = [u32; MOST_TOGETHER];

impl Latencies<'_> {
    /// Counts `count` I/Os by their ticks from start to end and from issue to end.
    #[inline(always)]
    fn count(&self, whole: &mut Spans, after_issue: &mut Spans, count: usize) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor supports these vector instructions.
            return unsafe { self.count_in_wide_vectors(whole, after_issue, count) };
        }
        self.count_in_vectors(whole, after_issue, count);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn count_in_wide_vectors(&self, whole: &mut Spans, after_issue: &mut Spans, count: usize) {
        self.count_in_vectors(whole, after_issue, count);
    }

    #[inline(always)]
    fn count_in_vectors(&self, lats: &mut Spans, clats: &mut Spans, count: usize) {
        let (recording, counters) = (self.recording, self.counters);
        let [slat_sums, clat_sums, lat_sums] = self.sums(lats, clats, count);
        if recording.slat {
            counters.slat.record_sums(&slat_sums, count);
        }
        if recording.clat {
            self.samples.record_clats(&counters.clat, &clat_sums, clats, count, recording.clat_bins);
        }
        if recording.lat {
            counters.lat.record_sums(&lat_sums, count);
        }
        if recording.lat && recording.lat_bins {
            counters.lat.record_bins(lats, count);
        }
        if recording.slat && recording.slat_bins {
            let mut slats = *lats;
            slats.iter_mut().zip(clats).for_each(|(slat, clat)| *slat = slat.wrapping_sub(*clat));
            counters.slat.record_bins(&slats, count);
        }
    }

    /// Converts ticks to nanoseconds; returns the sums of submission, completion and total latencies.
    #[inline(always)]
    fn sums(&self, whole: &mut Spans, after_issue: &mut Spans, count: usize) -> [Sums; 3] {
        // Each kind of scale has its own loop, in which the kind is a constant.
        match self.scale {
            ShortScale::One => sums_by(|ticks| ShortScale::One.span_ns(ticks), whole, after_issue, count),
            scale @ ShortScale::Below(_) => sums_by(|ticks| scale.span_ns(ticks), whole, after_issue, count),
        }
    }
}

#[inline(always)]
fn sums_by(
    to_ns: impl Fn(u32) -> u32,
    whole: &mut Spans,
    after_issue: &mut Spans,
    count: usize,
) -> [Sums; 3] {
    let (end, last) = (padded(count), count - 1);
    // The vector is padded with copies of the last I/O.
    for place in count..end {
        (whole[place], after_issue[place]) = (whole[last], after_issue[last]);
    }
    let [mut slats, mut clats, mut lats] = [Sums::NONE; 3];
    for place in 0..end {
        let slat = to_ns(whole[place] - after_issue[place]);
        let clat = to_ns(after_issue[place]);
        // The total is the sum of the other two latencies, each of which is rounded.
        let lat = slat + clat;
        slats.add(slat);
        clats.add(clat);
        lats.add(lat);
        (whole[place], after_issue[place]) = (lat, clat);
    }
    let (lat, clat) = (whole[last], after_issue[last]);
    slats.take_out(lat - clat, end - count);
    clats.take_out(clat, end - count);
    lats.take_out(lat, end - count);
    [slats, clats, lats]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::Region;
    use crate::targets::Target;
    use fathom_sys::clock::Calibration;
    use proptest::prelude::*;
    use std::sync::LazyLock;
    use std::sync::atomic::Ordering::Relaxed;

    const LENGTH: u32 = 4096;

    static CALIBRATED: LazyLock<Clock> = LazyLock::new(|| Calibration::start().finish());

    /// Ticks before submission, ticks from submission to the end, and the direction.
    type Times = (u64, u64, usize);

    fn times() -> impl Strategy<Value = Times> {
        let ticks = || prop_oneof![0u64..2000, 0u64..1 << 30, any::<u64>()];
        (ticks(), ticks(), 0usize..2)
    }

    /// Completes I/Os with a tally; returns which of them the tally collected.
    fn collect(tally: &mut Tally, samples: &WorkerSamples, ended: &[Times]) -> Vec<bool> {
        let now = 1 << 62;
        assert_eq!(tally.begin(ended.len() as u32, 7, now), ended.len() as u32 >= LEAST);
        let collected = ended.iter().map(|&(before, after, index)| {
            let (unit, direction) = (Unit::default(), Direction::ALL[index]);
            let issue = u64::wrapping_sub(now, after);
            let target = Target { offset: 0, length: LENGTH, file: 0, direction };
            unit.aim(target, issue.wrapping_sub(before));
            unit.issued_at(issue);
            assert!(!tally.take_issue(direction, 6, now, samples));
            assert!(tally.take_issue(direction, 7, now, samples));
            tally.take_end(direction, &unit, LENGTH, now)
        });
        let collected = collected.collect();
        tally.end(samples);
        collected
    }

    proptest! {
        #[test]
        fn a_tally_counts_what_single_ios_would(
            ended in prop::collection::vec(times(), LEAST as usize..300),
            flags in any::<[bool; 6]>(),
            limit_ns in prop_oneof![Just(u64::MAX), 0u64..10_000],
            has_ticks in any::<bool>(),
        ) {
            let clock = if has_ticks { *CALIBRATED } else { Clock::monotonic() };
            let [slat, clat, lat, slat_bins, clat_bins, lat_bins] = flags;
            let recording = Recording { slat, clat, lat, slat_bins, clat_bins, lat_bins, batches: true, submission: true };
            let region = Region::new(&[1, 1]).expect("mapped");
            let [together, single] = [0, 1].map(|index| &region.worker(index).samples);
            let mut tally = Tally::new(clock, recording, PerDirection::all(limit_ns), false);
            let collected = collect(&mut tally, together, &ended);
            let limit = limit_ns.min(TOGETHER_NS);
            for (&(before, after, index), is_collected) in ended.iter().zip(collected) {
                if !is_collected {
                    let is_long = before.checked_add(after).is_none_or(|whole| whole >= clock.ticks_of_ns(limit));
                    prop_assert!(is_long || ended.len() > MOST_TOGETHER);
                    continue;
                }
                let counters = &single.directions[Direction::ALL[index]];
                let (slat_ns, clat_ns) = (clock.span_ns(before), clock.span_ns(after));
                prop_assert!(slat_ns + clat_ns < limit);
                bump(&counters.completed, 1);
                bump(&counters.bytes, LENGTH.into());
                if slat {
                    counters.slat.record(slat_ns, slat_bins);
                }
                if clat {
                    single.record_long_clat(&counters.clat, clat_ns, clat_bins);
                }
                if lat {
                    counters.lat.record(slat_ns + clat_ns, lat_bins);
                }
            }
            for (direction, counters) in together.directions.iter() {
                let expected = &single.directions[direction];
                let issued = ended.iter().filter(|(.., index)| Direction::ALL[*index] == direction).count();
                prop_assert_eq!(counters.issued.load(Relaxed), issued as u64);
                prop_assert_eq!(counters.completed.load(Relaxed), expected.completed.load(Relaxed));
                prop_assert_eq!(counters.bytes.load(Relaxed), expected.bytes.load(Relaxed));
                prop_assert_eq!(counters.slat.snapshot(), expected.slat.snapshot());
                prop_assert_eq!(counters.clat.snapshot(), expected.clat.snapshot());
                prop_assert_eq!(counters.lat.snapshot(), expected.lat.snapshot());
            }
            prop_assert_eq!(together.distribution(), single.distribution());
            prop_assert_eq!(together.depth_map[depth_bucket(7)].load(Relaxed), ended.len() as u64);
            prop_assert_eq!(together.submit_map[batch_bucket(1)].load(Relaxed), ended.len() as u64);
            // The next reap starts with an empty tally.
            let counts = |samples: &WorkerSamples| {
                let counts = |direction: &DirectionSamples| {
                    [&direction.issued, &direction.completed, &direction.bytes].map(|count| count.load(Relaxed))
                };
                samples.directions.values().map(counts).collect::<Vec<_>>()
            };
            let before = counts(together);
            prop_assert!(collect(&mut tally, together, &[]).is_empty());
            prop_assert_eq!(together.distribution(), single.distribution());
            prop_assert_eq!(counts(together), before.clone());
            collect(&mut tally, together, &ended);
            let twice = before.iter().map(|counts| counts.map(|count| 2 * count)).collect::<Vec<_>>();
            prop_assert_eq!(counts(together), twice);
        }
    }

    fn usual() -> Recording {
        let (slat, clat, lat) = (true, true, true);
        let (slat_bins, clat_bins, lat_bins) = (false, true, false);
        Recording { slat, clat, lat, slat_bins, clat_bins, lat_bins, batches: true, submission: true }
    }

    #[test]
    fn few_ios_and_those_that_features_follow_are_counted_by_themselves() {
        let region = Region::new(&[1]).expect("mapped");
        let samples = &region.worker(0).samples;
        for follows_issue in [false, true] {
            let mut tally = Tally::new(Clock::monotonic(), usual(), PerDirection::all(1000), follows_issue);
            let unit = Unit::default();
            assert!(!tally.begin(LEAST - 1, 7, 3));
            assert!(!tally.take_end(Direction::Read, &unit, LENGTH, 3));
            assert_eq!(tally.begin(LEAST, 7, 3), !follows_issue);
            assert_eq!(tally.take_end(Direction::Read, &unit, LENGTH, 3), !follows_issue);
            assert_eq!(tally.take_issue(Direction::Read, 7, 3, samples), !follows_issue);
            // The unit was issued after its completion, so the clock went backwards.
            unit.issued_at(4);
            assert!(!tally.take_end(Direction::Read, &unit, LENGTH, 3));
        }
    }

    #[test]
    fn a_slow_submission_ends_the_reap() {
        let region = Region::new(&[1]).expect("mapped");
        let samples = &region.worker(0).samples;
        let mut tally = Tally::new(Clock::monotonic(), usual(), PerDirection::all(1000), false);
        assert!(tally.begin(LEAST, 7, 3));
        assert!(tally.take_end(Direction::Read, &Unit::default(), LENGTH, 3));
        assert!(tally.take_issue(Direction::Read, 7, LATEST_NS + 2, samples));
        let counters = &samples.directions[Direction::Read];
        assert_eq!(counters.completed.load(Relaxed), 0);
        assert!(!tally.take_issue(Direction::Read, 7, LATEST_NS + 3, samples));
        assert_eq!((counters.completed.load(Relaxed), counters.issued.load(Relaxed)), (1, 1));
        assert!(!tally.take_end(Direction::Read, &Unit::default(), LENGTH, 3));
        tally.end(samples);
        assert_eq!((counters.completed.load(Relaxed), counters.clat.count()), (1, 1));
    }
}
