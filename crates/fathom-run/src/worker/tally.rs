//! What the I/Os of one reap add to the counters, collected while they are settled and counted together at its end.

use super::Recording;
use crate::engine::REAP_BATCH;
use crate::unit::Unit;
use fathom_stats::samples::{
    DirectionSamples, LANES, LANES_NS, WorkerSamples, batch_bucket, bump, depth_bucket,
};
use fathom_stats::{Direction, PerDirection};
use fathom_sys::clock::Clock;

/// Maximum number of I/Os per direction.
const MOST: usize = REAP_BATCH;

/// With fewer completions, counting each is cheaper.
const LEAST: u32 = 16;

/// While I/Os are submitted in place of those that have ended, readers see counters that are at most this old, unless a single
/// submission takes longer.
const LATEST_NS: u64 = 1_000_000;

/// A depth that no I/O reaches.
const NO_DEPTH: u32 = u32::MAX;

const _: () = assert!(MOST.is_multiple_of(LANES));

/// Collects the I/Os of a reap that have no effect but to be counted.
pub(super) struct Tally {
    clock: Clock,
    recording: Recording,
    /// Ends of a reap from which on they are collected.
    least: u32,
    /// Ticks from start to end below which an I/O has no other effect.
    short_ticks: PerDirection<u64>,
    /// The same while I/Os are collected, and otherwise 0.
    collected_ticks: PerDirection<u64>,
    /// Ended I/Os and the bytes they moved.
    ended: PerDirection<usize>,
    bytes: PerDirection<u64>,
    /// Their ticks from start to end, and from issue to end: those of reads, of writes, and of trims.
    whole: [u32; 3 * MOST],
    after_issue: [u32; 3 * MOST],
    /// No later than this after the reap, all are counted.
    latest_ticks: u64,
    until: u64,
    /// The depth that is collected.
    depth: u32,
    /// I/Os submitted one by one that have reached this depth.
    issued: PerDirection<u64>,
}

impl Tally {
    /// Collects I/Os whose latency is below `short_ns`; none if a feature hears of each that is handed over.
    pub(super) fn new(
        clock: Clock,
        recording: Recording,
        short_ns: PerDirection<u64>,
        follows_issue: bool,
    ) -> Tally {
        let ticks = |ns: u64| clock.ticks_of_ns(ns.min(LANES_NS)).min(u64::from(u32::MAX));
        Tally {
            clock,
            recording,
            least: if follows_issue { u32::MAX } else { LEAST },
            latest_ticks: clock.ticks_of_ns(LATEST_NS),
            until: 0,
            short_ticks: short_ns.map(|ns| if recording.submission { ticks(ns) } else { 0 }),
            collected_ticks: PerDirection::default(),
            ended: PerDirection::default(),
            bytes: PerDirection::default(),
            whole: [0; 3 * MOST],
            after_issue: [0; 3 * MOST],
            depth: NO_DEPTH,
            issued: PerDirection::default(),
        }
    }

    /// Begins a reap of `ends` completions at this depth and tick; false if each is to be counted by itself.
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

    /// Collects an I/O that has moved `length` bytes; false if it has to be counted by itself.
    #[inline(always)]
    pub(super) fn take_end(&mut self, direction: Direction, unit: &Unit, length: u32, now: u64) -> bool {
        let whole = now.wrapping_sub(unit.start());
        if whole >= self.collected_ticks[direction] {
            return false;
        }
        let (after_issue, count) = (now.wrapping_sub(unit.issue()), self.ended[direction]);
        // Huge if the clock went backwards.
        if after_issue > whole || count >= MOST {
            return false;
        }
        let place = direction.index() * MOST + count;
        self.whole[place] = whole as u32;
        self.after_issue[place] = after_issue as u32;
        self.bytes[direction] += u64::from(length);
        self.ended[direction] = count + 1;
        true
    }

    /// Collects an I/O that was submitted alone; false if it has to be counted by itself. Ends the reap if submitting
    /// takes long.
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

    /// Ends the reap: counts what was collected.
    #[inline(never)]
    pub(super) fn end(&mut self, samples: &WorkerSamples) {
        let mut all_issued = 0;
        for direction in Direction::ALL {
            if self.ended[direction] > 0 {
                self.count_ends(direction, samples);
            }
            // The memory of a direction that is not used is never written to.
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
        let first = direction.index() * MOST;
        let end = first + count;
        for place in end..first + count.next_multiple_of(LANES) {
            self.whole[place] = self.whole[end - 1];
            self.after_issue[place] = self.after_issue[end - 1];
        }
        let latencies = Latencies { clock: &self.clock, recording: &self.recording, samples, counters };
        let mut place = first;
        while let (true, Some(whole), Some(after_issue)) =
            (place < end, self.whole[place..].first_chunk(), self.after_issue[place..].first_chunk())
        {
            latencies.count(whole, after_issue, LANES.min(end - place));
            place += LANES;
        }
    }
}

/// Where latencies are counted.
struct Latencies<'a> {
    clock: &'a Clock,
    recording: &'a Recording,
    samples: &'a WorkerSamples,
    counters: &'a DirectionSamples,
}

/// One value per lane of vectors.
type Lanes = [u32; LANES];

impl Latencies<'_> {
    /// Counts `count` I/Os by their ticks from start to end, and from issue to end.
    #[inline(always)]
    fn count(&self, whole: &Lanes, after_issue: &Lanes, count: usize) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these vectors.
            return unsafe { self.count_in_wide_vectors(whole, after_issue, count) };
        }
        self.count_in_vectors(whole, after_issue, count);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn count_in_wide_vectors(&self, whole: &Lanes, after_issue: &Lanes, count: usize) {
        self.count_in_vectors(whole, after_issue, count);
    }

    // An iterator over an array is a call in some builds, an index never is.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn count_in_vectors(&self, whole: &Lanes, after_issue: &Lanes, count: usize) {
        let (recording, counters) = (self.recording, self.counters);
        let (mut slats, mut clats, mut lats) = ([0; LANES], *after_issue, [0; LANES]);
        for lane in 0..LANES {
            slats[lane] = whole[lane] - after_issue[lane];
        }
        self.clock.short_spans_to_ns(&mut slats);
        self.clock.short_spans_to_ns(&mut clats);
        // The sum of the two others, each of which is rounded.
        for lane in 0..LANES {
            lats[lane] = slats[lane] + clats[lane];
        }
        if recording.slat {
            counters.slat.record_lanes(&slats, count, recording.slat_bins);
        }
        if recording.clat {
            self.samples.record_clat_lanes(&counters.clat, &clats, count, recording.clat_bins);
        }
        if recording.lat {
            counters.lat.record_lanes(&lats, count, recording.lat_bins);
        }
    }
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

    /// Ticks before submission, from there to the end, and the direction.
    type Times = (u64, u64, usize);

    fn times() -> impl Strategy<Value = Times> {
        let ticks = || prop_oneof![0u64..2000, 0u64..1 << 30, any::<u64>()];
        (ticks(), ticks(), 0usize..2)
    }

    /// Ends I/Os with a tally; returns which of them it has collected.
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
            let limit = limit_ns.min(LANES_NS);
            for (&(before, after, index), is_collected) in ended.iter().zip(collected) {
                if !is_collected {
                    let is_long = before.checked_add(after).is_none_or(|whole| whole >= clock.ticks_of_ns(limit));
                    prop_assert!(is_long || ended.len() > MOST);
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
            // The next reap begins with nothing.
            prop_assert!(collect(&mut tally, together, &[]).is_empty());
            prop_assert_eq!(together.distribution(), single.distribution());
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
            // Issued after its end: the clock went backwards.
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
