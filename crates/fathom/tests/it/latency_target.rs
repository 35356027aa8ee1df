//! `latency_target`: the depth found is the largest that meets the target, and the report covers only that depth.

use crate::support::devices::{LoopDevice, Throttle};
use crate::support::program::{self, Launch};
use crate::support::{MIB, json, scratch};
use serde_json::Value;
use std::path::Path;

fn run(program: &Path, words: &str) -> (i32, String, String, Value) {
    let directory = scratch();
    let words = format!("--output-format=json,normal --name=a --size=64M --bs=4k --time_based {words}");
    let finished = Launch::of(program, directory.path()).words(&words).run();
    let document = json::document(&finished.stdout);
    (finished.code(), finished.stdout, finished.stderr, document)
}

/// Both programs, the installed fio if there is one.
fn programs() -> Vec<std::path::PathBuf> {
    [program::path()].into_iter().chain(program::reference().ok()).collect()
}

#[test]
fn everything_meets_the_target() {
    for program in programs() {
        let (code, text, _, document) = run(
            &program,
            "--ioengine=null --rw=randread --iodepth=8 --latency_target=1s --latency_window=200ms --runtime=30",
        );
        let job = json::job(&document, "a");
        assert_eq!((code, json::integer(job, "latency_depth")), (0, 8), "{text}");
        // Windows at depths 1, 2, 4 and 8, and one more, which is the only one reported.
        let runtime = json::integer(job, "read/runtime");
        assert!((190..10_000).contains(&runtime), "{runtime} ms");
        assert!(text.contains("depth=8\n"), "{text}");
    }
}

#[test]
fn nothing_meets_the_target() {
    for program in programs() {
        let (code, text, stderr, document) = run(
            &program,
            "--rw=write --ioengine=psync --bs=1M --latency_target=1 --latency_window=1s --runtime=30",
        );
        let job = json::job(&document, "a");
        assert_eq!((code, json::integer(job, "error")), (1, 110), "{text}");
        assert_eq!(json::integer(job, "latency_depth"), 1);
        assert!(format!("{text}{stderr}").contains(" nsec exceeds specified max (1000 nsec): "), "{stderr}");
        assert!(json::integer(job, "write/total_ios") <= 2, "the first one says enough: {text}");
    }
}

#[test]
fn a_share_of_the_io_may_be_slower() {
    fathom_only!();
    let (code, text, _, document) = run(
        &program::path(),
        "--rw=randread --ioengine=libaio --iodepth=4 --latency_target=1 --latency_percentile=0 \
         --latency_window=100ms --ramp_time=300ms --runtime=30",
    );
    let job = json::job(&document, "a");
    assert_eq!((code, json::integer(job, "latency_depth")), (0, 4), "{text}");
    assert_eq!(json::integer(job, "latency_target_ns"), 1_000);
    assert_eq!(json::integer(job, "latency_window_us"), 100_000);
    // The last window ran at the depth found, and is the only one in the report: unless one ended early, a
    // quarter of all I/Os were at depth four.
    let levels = &job["iodepth_level"];
    assert!(levels["4"].as_f64().expect("a share") > 0.0, "{levels}");
}

#[test]
fn the_search_goes_on_where_asked() {
    let (code, text, _, document) = run(
        &program::path(),
        "--ioengine=null --rw=randread --iodepth=4 --latency_target=1s --latency_window=50ms --latency_run=1 \
         --runtime=2",
    );
    let job = json::job(&document, "a");
    assert_eq!((code, json::integer(job, "latency_depth")), (0, 4), "{text}");
    assert!(json::integer(job, "read/runtime") >= 1_990, "{text}");
}

/// Twenty reads per second: one takes 50 ms, and at depth nine each waits for eight others, which exceeds the
/// target.
///
/// A busy machine can make any depth too slow, but cannot make one fast enough: the queue depth and the number
/// of reads per window have upper bounds. A fifth of a window may be late, so that a brief stall of the machine
/// does not affect the result.
#[test]
fn the_depth_follows_a_device_that_slows_down() {
    fathom_only!();
    let device = require!(LoopDevice::new(MIB));
    let throttle = require!(Throttle::new(device.path(), 20));
    let directory = scratch();
    let words = format!(
        "--output-format=json --name=a --filename={} --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=16 \
         --time_based --runtime=60 --latency_target=425ms --latency_percentile=80 --latency_window=1s --cgroup={} \
         --cgroup_nodelete=1",
        device.path().display(),
        throttle.name()
    );
    let finished = Launch::fathom(directory.path()).words(&words).run().expect_clean();
    let document = json::document(&finished.stdout);
    let job = json::job(&document, "a");
    let depth = json::integer(job, "latency_depth");
    assert!((1..=8).contains(&depth), "depth {depth}");
    // The report covers only the last window, which is at the depth found.
    let (reads, runtime) = (json::integer(job, "read/total_ios"), json::integer(job, "read/runtime"));
    assert!(runtime < 20_000, "the search came to an end: {runtime} ms");
    assert!(reads * 50 <= runtime + 500, "{reads} reads in {runtime} ms");
    let deeper = &job["iodepth_level"]["16"];
    assert_eq!(deeper.as_f64(), Some(0.0), "{}", job["iodepth_level"]);
}

/// With a percentile below 100 the job runs its full time, and a line says that it does not meet the target.
#[test]
fn a_target_out_of_reach_is_named() {
    fathom_only!();
    let (code, text, stderr, document) = run(
        &program::path(),
        "--rw=write --ioengine=psync --bs=1M --iodepth=16 --latency_target=1 --latency_percentile=99 \
         --latency_window=100ms --runtime=1",
    );
    let job = json::job(&document, "a");
    assert_eq!((code, json::integer(job, "error"), json::integer(job, "latency_depth")), (0, 0, 1), "{text}");
    assert!(stderr.contains("% of the I/Os met latency_target with one I/O at a time"), "{stderr}");
}
