//! Rates and run times of every engine, all in one run. A rate follows a schedule and makes up for delays, so
//! it is met on a busy machine as well.

use crate::support::devices::{LoopDevice, Throttle};
use crate::support::program::Launch;
use crate::support::recorded::{check_rate, ends_of_ios};
use crate::support::{MIB, file_of, json, scratch};
use serde_json::Value;

/// Engines with a depth to try in addition to 1.
const ENGINES: [(&str, u32); 9] = [
    ("sync", 1),
    ("psync", 1),
    ("vsync", 4),
    ("pvsync2", 1),
    ("mmap", 1),
    ("null", 16),
    ("libaio", 16),
    ("io_uring", 16),
    ("posixaio", 16),
];
const SECONDS: u64 = 5;
const RATE: u64 = 1000;
const BLOCK: u64 = 4096;

/// A job in a run with every engine.
struct Job<'a> {
    /// Engine and depth.
    name: &'a str,
    report: &'a Value,
    /// Completion time of each I/O, in ms since the job began.
    ends: Vec<u64>,
}

/// One run with a job for every engine and depth; each is passed to `check`.
fn with_every_engine(words: &str, check: impl Fn(&Job)) {
    let directory = scratch();
    file_of(directory.path(), "data", 4 * MIB);
    let depths = |deep: u32| if deep == 1 { vec![1] } else { vec![1, deep] };
    let jobs: Vec<String> = ENGINES
        .into_iter()
        .flat_map(|(engine, deep)| depths(deep).into_iter().map(move |depth| (engine, depth)))
        .map(|(engine, depth)| format!("--name={engine}-{depth} --ioengine={engine} --iodepth={depth}"))
        .collect();
    let words = format!(
        "--output-format=json --filename=data --size=4M --bs={BLOCK} --runtime={SECONDS} --time_based --rw=randread \
         --write_iops_log=log {words} {}",
        jobs.join(" ")
    );
    let finished = Launch::fathom(directory.path()).words(&words).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let reports = document["jobs"].as_array().expect("jobs");
    assert_eq!(reports.len(), jobs.len());
    for (report, number) in reports.iter().zip(1..) {
        let name = report["jobname"].as_str().unwrap_or_default();
        check(&Job { name, report, ends: ends_of_ios(directory.path(), number) });
    }
}

#[test]
fn a_fixed_rate_is_kept_within_a_hundredth() {
    with_every_engine(&format!("--rate_iops={RATE}"), |job| check_rate(job.name, &job.ends, RATE, SECONDS));
}

#[test]
fn a_rate_in_bytes_is_kept_within_a_hundredth() {
    with_every_engine("--rate=8m", |job| check_rate(job.name, &job.ends, 8 * MIB / BLOCK, SECONDS));
}

#[test]
fn random_arrivals_have_their_mean() {
    with_every_engine(
        &format!("--rate_iops={RATE} --rate_process=poisson"),
        |Job { name, report, .. }| {
            let ios = json::integer(report, "read/total_ios") as f64;
            let wanted = (RATE * SECONDS) as f64;
            // The standard deviation of a Poisson count is its square root.
            assert!((ios - wanted).abs() <= 5.0 * wanted.sqrt(), "{name}: {ios} of {wanted}");
        },
    );
}

#[test]
fn a_run_never_ends_before_its_time() {
    with_every_engine("--rate_iops=200", |Job { name, report, .. }| {
        let runtime = json::integer(report, "read/runtime");
        assert!(runtime >= SECONDS * 1000, "{name}: {runtime} ms");
    });
}

#[test]
fn minimum_rates_are_looked_at_once_a_cycle() {
    // A thousand I/Os in a burst, then nothing: enough at the first check, after 2 s, too few at the next.
    let words = "--name=a --ioengine=null --size=1G --bs=4k --rw=read --thinktime_blocks=1000 --thinktime=1h \
                 --rate_iops_min=100 --time_based --runtime=4";
    let run = |cycle: &str| {
        let directory = scratch();
        Launch::fathom(directory.path()).words(&format!("{words} --rate_cycle={cycle}")).run()
    };
    let (often, seldom) = (run("500"), run("3600000"));
    assert_eq!(often.code(), 1, "{}", often.stderr);
    assert!(often.stderr.contains("a: rate_iops_min=100 not met, got 0 IOPS"), "{}", often.stderr);
    assert_eq!(seldom.code(), 0, "{}", seldom.stderr);
}

/// A read takes a second, and one is due every 10 ms: all begin before the first has completed.
#[test]
fn what_is_due_does_not_wait_for_what_is_in_flight() {
    let device = require!(LoopDevice::new(MIB));
    for engine in ["libaio", "io_uring", "posixaio", "psync --io_submit_mode=offload"] {
        let throttle = require!(Throttle::new(device.path(), 1));
        let directory = scratch();
        let words = format!(
            "--name=a --filename={} --direct=1 --rw=randread --bs=4k --ioengine={engine} --iodepth=8 --rate_iops=100 \
             --number_ios=4 --write_iolog=trace --cgroup={} --cgroup_nodelete=1 --output-format=json",
            device.path().display(),
            throttle.name()
        );
        let finished = Launch::fathom(directory.path()).words(&words).run().expect_clean();
        let trace = std::fs::read_to_string(directory.path().join("trace")).expect("a trace");
        let starts: Vec<u64> = trace
            .lines()
            .filter(|line| line.contains(" read "))
            .filter_map(|line| line.split(' ').next()?.parse().ok())
            .collect();
        assert_eq!(starts.len(), 4, "{trace}");
        assert!(starts[3] - starts[0] < 900_000, "{engine}: {starts:?} us");
        // A due time that comes first does not count as a batch of completions.
        let document = json::document(&finished.stdout);
        let batches = &json::job(&document, "a")["iodepth_complete"];
        assert_eq!(batches["0"].as_f64(), Some(0.0), "{engine}: {batches}");
    }
}
