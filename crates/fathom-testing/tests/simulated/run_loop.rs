//! Properties of every job on every device.

use crate::drawn::{awkward_device, failing_device, job, sound_device};
use fathom_run::region::Stage;
use fathom_stats::Direction;
use fathom_stats::samples::LatencySamples;
use fathom_testing::behaviour::{Behaviour, Service};
use fathom_testing::run::{BEGIN_NS, Simulated, run};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;

/// Every issued I/O has completed exactly once, and is no longer awaited.
pub(crate) fn check_ends(run: &Simulated) {
    assert!(!run.hung);
    assert_eq!(run.block().stage(), Stage::Ended);
    assert_eq!(run.record.unended, 0, "left with the device");
    assert!(run.stuck().is_empty(), "left in a slot");
    let numbers: BTreeSet<u64> = run.record.served.iter().map(|io| io.number).collect();
    assert_eq!(numbers.len(), run.record.served.len(), "completed twice");
    assert_eq!(numbers.last().map_or(0, |last| last + 1), numbers.len() as u64, "some never ended");
}

/// Never more I/Os in flight than the depth, and never two in one slot.
pub(crate) fn check_slots(run: &Simulated) {
    assert!(run.record.most_in_flight as u32 <= run.plan.workers[0].depth, "{}", run.record.most_in_flight);
    let mut by_slot: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for io in &run.record.served {
        by_slot.entry(io.slot).or_default().push((io.queued_ns, io.ended_ns));
    }
    for (slot, mut spans) in by_slot {
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "slot {slot}");
    }
}

fn check_counts(run: &Simulated) {
    let ios = run.record.ios();
    for (place, direction) in run.samples().directions.iter() {
        let seen = ios.iter().filter(|io| io.operation as usize == place.index()).count() as u64;
        assert_eq!(direction.issued.load(Relaxed), seen, "issued in direction {place:?}");
        assert_eq!(direction.completed.load(Relaxed), seen, "completed in direction {place:?}");
    }
}

/// Bins add up to the counts, and partial latencies to totals.
fn check_latencies(run: &Simulated) {
    let samples = run.samples();
    let recording = run.plan.job_of(&run.plan.workers[0]).measurement.clone();
    let in_bins = |latency: &LatencySamples| -> u64 { latency.snapshot().histogram.count() };
    let mut all = 0;
    for direction in samples.directions.values() {
        let (slat, clat, lat) = (&direction.slat, &direction.clat, &direction.lat);
        all += clat.count();
        if !recording.disable_clat && recording.clat_percentiles {
            assert_eq!(in_bins(clat), clat.count());
        }
        if !recording.disable_lat && !recording.disable_clat && slat.count() == clat.count() {
            assert_eq!(slat.sum_ns() + clat.sum_ns(), lat.sum_ns());
        }
    }
    assert_eq!(samples.distribution().iter().sum::<u64>(), all);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn every_io_ends_once_on_a_sound_device(words in job(), device in sound_device()) {
        let run = run(&words, device);
        check_ends(&run);
        check_slots(&run);
        check_latencies(&run);
        // Both counters restart in between.
        if !words.contains("ramp_time") && !words.contains("latency_target") {
            check_counts(&run);
        }
    }

    #[test]
    fn every_io_ends_once_on_an_awkward_device(words in job(), device in awkward_device()) {
        let run = run(&words, device);
        check_ends(&run);
        check_slots(&run);
        check_latencies(&run);
    }

    #[test]
    fn nothing_is_lost_where_ios_fail(words in job(), device in failing_device(), goes_on in any::<bool>()) {
        let words = if goes_on { format!("{words} --continue_on_error=all") } else { words };
        let run = run(&words, device);
        check_ends(&run);
        check_slots(&run);
        let failed = run.record.served.iter().any(|io| io.result < 0);
        let is_told = run.block().error().is_some() || run.samples().tolerated_errors.load(Relaxed) > 0;
        prop_assert!(!failed || is_told, "an error that is not reported");
    }

    #[test]
    fn the_same_seed_gives_the_same_run(words in job(), device in failing_device()) {
        let (first, second) = (run(&words, device.clone()), run(&words, device));
        prop_assert_eq!(first.record, second.record);
        prop_assert_eq!(first.messages, second.messages);
    }

    #[test]
    fn nothing_is_issued_after_the_end(words in job(), device in awkward_device()) {
        let run = run(&words, device);
        let deadline = run.block().deadline_ns.load(Relaxed);
        if deadline > 0 {
            // Resubmitting the rest of a short transfer does not count as a new I/O.
            let mut ios = run.record.ios();
            ios.retain(|io| io.queued_ns > deadline + SLACK_NS && !io.operation.is_sync());
            prop_assert!(ios.is_empty(), "deadline {deadline}: {ios:?}");
        }
    }
}

/// Tolerance for the loop's clock readings, and for I/Os drawn together.
const SLACK_NS: u64 = 10_000;

#[test]
fn latencies_are_those_of_the_device() {
    let device = Behaviour { service: Service::Fixed(200_000), ..Behaviour::default() };
    let run = run("--rw=randread --bs=4k --size=1m --iodepth=1", device);
    let clat = run.samples().directions[Direction::Read].clat.snapshot();
    assert_eq!(clat.count, 256);
    assert!((200_000..200_100).contains(&clat.min_ns), "{}", clat.min_ns);
    assert!((200_000..200_100).contains(&clat.max_ns), "{}", clat.max_ns);
}

/// An I/O that replaces a completed one is counted at the depth that was reached before.
#[test]
fn depths_are_those_that_are_reached() {
    let device = Behaviour { service: Service::Fixed(200_000), ..Behaviour::default() };
    for (depth, expected) in [(15, [1, 2, 4, 249, 0, 0, 0]), (63, [1, 2, 4, 8, 16, 225, 0])] {
        let run = run(&format!("--rw=randread --bs=4k --size=1m --iodepth={depth}"), device.clone());
        let depths = run.samples().depth_map.each_ref().map(|count| count.load(Relaxed));
        assert_eq!(depths, expected, "depth {depth}");
    }
}

#[test]
fn a_stall_is_seen_by_what_was_in_flight() {
    let stall = BEGIN_NS + 1_000_000..BEGIN_NS + 501_000_000;
    let device = Behaviour { stalls: vec![stall], ..Behaviour::default() };
    let run = run("--rw=randread --bs=4k --size=1m --iodepth=4", device);
    let clat = run.samples().directions[Direction::Read].clat.snapshot();
    assert!((499_000_000..501_000_000).contains(&clat.max_ns), "{}", clat.max_ns);
    let slow = run.record.served.iter().filter(|io| io.ended_ns - io.taken_ns > 400_000_000).count();
    assert_eq!(slow, 4);
}

#[test]
fn what_never_ends_is_named() {
    for words in ["--iodepth=8", "--iodepth=1"] {
        let device = Behaviour { lost: vec![5], ..Behaviour::default() };
        let run = run(&format!("--rw=randread --bs=4k --size=64k {words}"), device);
        assert!(run.hung);
        let stuck: Vec<u64> = run.stuck().iter().map(|unit| unit.offset()).collect();
        let lost: BTreeSet<u64> = (0..16).map(|block| block * 4096).collect();
        let ended: BTreeSet<u64> = run.record.served.iter().map(|io| io.offset).collect();
        if words.ends_with('8') {
            assert_eq!(stuck, lost.difference(&ended).copied().collect::<Vec<u64>>());
        }
        assert_eq!(stuck.len(), 1);
        assert_eq!(run.record.unended, 1);
    }
}

#[test]
fn what_moved_only_a_part_keeps_its_slot_and_its_buffer() {
    for words in ["--iodepth=1", "--iodepth=4"] {
        let device = Behaviour { short_permille: 500, ..Behaviour::default() };
        let run = run(&format!("--rw=write --bs=4k --size=256k --verify=crc32c {words}"), device);
        assert_eq!(run.block().error(), None, "{:?}", run.errors());
        assert!(run.samples().directions[Direction::Write].short.load(Relaxed) > 10);
        check_ends(&run);
        check_slots(&run);
    }
}

#[test]
fn a_read_that_finds_nothing_is_an_io_without_bytes() {
    for depth in [1, 8] {
        let device = Behaviour { failing: vec![(3, 0), (9, 0)], ..Behaviour::default() };
        let run = run(&format!("--rw=randread --bs=4k --size=256k --iodepth={depth}"), device);
        check_ends(&run);
        assert_eq!(run.block().error(), None, "{:?}", run.errors());
        let reads = &run.samples().directions[Direction::Read];
        assert_eq!((reads.issued.load(Relaxed), reads.clat.count()), (64, 64));
        assert_eq!(reads.bytes.load(Relaxed), 62 * 4096);
        let told = run.errors().iter().filter(|line| line.contains("reads beyond its end")).count();
        assert_eq!(told, 1, "{:?}", run.errors());
    }
}

#[test]
fn data_that_is_to_be_checked_cannot_be_missing() {
    // The 64 writes come first.
    for number in [64, 100] {
        let device = Behaviour { failing: vec![(number, 0)], ..Behaviour::default() };
        let run = run("--rw=write --bs=4k --size=256k --iodepth=4 --verify=crc32c", device);
        assert_eq!(run.block().error().map(|(errno, _)| errno), Some(libc::EIO), "{:?}", run.errors());
    }
}

#[test]
fn a_write_that_moves_nothing_ends_the_job() {
    let device = Behaviour { failing: vec![(3, 0)], ..Behaviour::default() };
    let run = run("--rw=write --bs=4k --size=256k --iodepth=4", device);
    assert_eq!(run.block().error().map(|(errno, _)| errno), Some(libc::EIO), "{:?}", run.errors());
}

#[test]
fn a_stall_over_the_end_of_the_run_is_the_end() {
    let stall = BEGIN_NS + 9_900_000..BEGIN_NS + 900_000_000;
    let device = Behaviour { stalls: vec![stall.clone()], ..Behaviour::default() };
    for words in ["", "--iodepth_batch=4", "--rate_iops=100000"] {
        let words =
            format!("--rw=randread --bs=4k --size=1m --iodepth=8 --time_based --runtime=10ms {words}");
        let run = run(&words, device.clone());
        let last = run.record.served.iter().map(|io| io.queued_ns).max();
        assert!(last.is_some_and(|last| last < stall.start), "{words}: {last:?}");
    }
}

#[test]
fn trims_that_end_inside_the_call_do_not_run_on_beyond_the_end() {
    let device = Behaviour { ends_rare_ones_at_once: true, ..Behaviour::default() };
    for runtime in 1..40 {
        let words =
            format!("--rw=trimwrite --bs=4k --size=256k --iodepth=32 --time_based --runtime={runtime}ms");
        let run = run(&words, device.clone());
        let deadline = run.block().deadline_ns.load(Relaxed);
        let last = run.record.served.iter().map(|io| io.queued_ns).max();
        assert!(last.is_some_and(|last| last <= deadline + SLACK_NS), "{words}: {last:?}, {deadline}");
    }
}

#[test]
fn a_kernel_that_takes_nothing_does_not_keep_the_run_from_ending() {
    let device = Behaviour { refused_permille: 1000, longest_refusal: 30, ..Behaviour::default() };
    let run = run("--rw=randread --bs=4k --size=1m --iodepth=8 --time_based --runtime=20ms", device);
    check_ends(&run);
    let deadline = run.block().deadline_ns.load(Relaxed);
    let late = run.record.served.iter().filter(|io| io.queued_ns > deadline + SLACK_NS).count();
    assert_eq!(late, 0);
}

#[test]
fn errors_in_a_ramp_are_errors() {
    let device = Behaviour { failing: vec![(3, libc::EIO)], ..Behaviour::default() };
    let words = "--rw=randread --bs=4k --size=1m --iodepth=1 --ramp_time=5ms --continue_on_error=all";
    let run = run(words, device);
    assert_eq!(run.samples().tolerated_errors.load(Relaxed), 1);
    assert_eq!(run.samples().first_error.load(Relaxed), libc::EIO as u64);
}

#[test]
fn a_sync_that_meets_a_refusal_waits_for_nothing_that_has_ended() {
    for seed in 0..200 {
        let device = Behaviour {
            seed,
            service: Service::Fixed(1_000),
            refused_permille: 200,
            ends_rare_ones_at_once: seed % 2 == 0,
            ..Behaviour::default()
        };
        check_ends(&run("--rw=write --bs=4k --iodepth=16 --size=256k --fdatasync=9", device));
    }
}
