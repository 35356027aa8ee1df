//! Invariants of every report: the figures of one run are consistent.

use crate::support::devices::{LoopDevice, Throttle};
use crate::support::program::Launch;
use crate::support::{MIB, file_of, json, scratch};
use serde_json::Value;

/// Runs a job on a file of one MiB and returns its entry with histograms.
#[track_caller]
fn run(words: &str) -> Value {
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let finished = Launch::fathom(directory.path())
        .words("--output-format=json+ --name=job --filename=data --size=1M --bs=4k")
        .words("--slat_percentiles=1 --lat_percentiles=1")
        .words(words)
        .run()
        .expect_clean();
    json::job(&json::document(&finished.stdout), "job").clone()
}

fn float(value: &Value, path: &str) -> f64 {
    let found = path.split('/').fold(value, |value, key| &value[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is no number: {found}"))
}

#[track_caller]
fn check(job: &Value, direction: &str, latencies: &[&str]) {
    let ios = json::integer(job, &format!("{direction}/total_ios"));
    assert!(ios > 0, "{direction} did nothing");
    for latency in latencies {
        let path = format!("{direction}/{latency}");
        let figures = path.split('/').fold(job, |value, key| &value[key]);
        assert_eq!(json::integer(figures, "N"), ios, "{path}");
        let bins = figures["bins"].as_object().unwrap_or_else(|| panic!("{path} has no bins"));
        assert_eq!(bins.values().filter_map(Value::as_u64).sum::<u64>(), ios, "the bins of {path}");
        let (min, max) = (float(figures, "min"), float(figures, "max"));
        let mean = float(figures, "mean");
        assert!(min <= mean && mean <= max, "{path}: {min} <= {mean} <= {max}");
        let mut before = 0;
        for percentile in ["50.000000", "90.000000", "99.000000", "99.990000"] {
            let value = json::integer(figures, &format!("percentile/{percentile}"));
            assert!(value >= before, "{path}: percentiles rise");
            assert!(
                value as f64 >= min * 0.99 && value as f64 <= max * 1.01 + 1.0,
                "{path}: {percentile} is {value}"
            );
            before = value;
        }
    }
    let bytes = json::integer(job, &format!("{direction}/io_bytes"));
    assert_eq!(bytes, ios * 4096);
    let runtime = float(job, &format!("{direction}/runtime")).max(1.0);
    let bandwidth = float(job, &format!("{direction}/bw_bytes"));
    assert!((bandwidth - bytes as f64 * 1000.0 / runtime).abs() <= 1.0, "{bandwidth} bytes/s");
    let iops = float(job, &format!("{direction}/iops"));
    assert!((iops - ios as f64 * 1000.0 / runtime).abs() < 0.001, "{iops} I/Os per second");
}

/// Shares of the latency distribution cover all I/Os.
#[track_caller]
fn check_distribution(job: &Value) {
    let sum: f64 = ["latency_ns", "latency_us", "latency_ms"]
        .iter()
        .flat_map(|key| job[*key].as_object().expect("a distribution").values())
        .filter_map(Value::as_f64)
        .sum();
    // Every used bucket shows at least 0.01.
    assert!((99.9..100.5).contains(&sum), "the shares are {sum} % together");
}

#[test]
fn synchronous_reads() {
    let job = run("--rw=randread");
    check(&job, "read", &["clat_ns", "lat_ns"]);
    check_distribution(&job);
}

#[test]
fn submission_and_completion_make_the_whole() {
    for engine in ["libaio", "io_uring", "posixaio"] {
        let job = run(&format!("--rw=randread --direct=1 --iodepth=8 --ioengine={engine}"));
        check(&job, "read", &["slat_ns", "clat_ns", "lat_ns"]);
        check_distribution(&job);
        let [slat, clat, lat] =
            ["slat_ns", "clat_ns", "lat_ns"].map(|key| float(&job, &format!("read/{key}/mean")));
        let gap = (slat + clat - lat).abs();
        // Releases that record the two times separately read the clock in between.
        assert!(gap <= 0.05 * lat + 500.0, "{engine}: {slat} + {clat} is not {lat}");
    }
}

#[test]
fn both_directions() {
    let job = run("--rw=randrw --direct=1 --iodepth=4 --ioengine=libaio");
    check(&job, "read", &["slat_ns", "clat_ns", "lat_ns"]);
    check(&job, "write", &["slat_ns", "clat_ns", "lat_ns"]);
    check_distribution(&job);
    assert_eq!(json::integer(&job, "read/total_ios") + json::integer(&job, "write/total_ios"), 256);
}

/// Little's law: the depth is the rate times the time that each I/O takes.
///
/// The device is the slow part: any delay of the program while an I/O is in flight counts as part of that I/O's
/// time.
#[test]
fn depth_is_rate_times_latency() {
    let device = require!(LoopDevice::new(MIB));
    let throttle = require!(Throttle::new(device.path(), 400));
    let directory = scratch();
    let words = format!(
        "--output-format=json+ --name=job --filename={} --rw=randread --bs=4k --direct=1 --iodepth=8 --ioengine=io_uring \
         --time_based --runtime=2",
        device.path().display()
    );
    let finished = Launch::in_group(directory.path(), &throttle.members()).words(&words).run().expect_clean();
    let document = json::document(&finished.stdout);
    let job = json::job(&document, "job");
    let depth = float(job, "read/iops") * float(job, "read/lat_ns/mean") / 1e9;
    assert!((6.0..8.5).contains(&depth), "a depth of {depth}");
    // How many I/Os complete together, which briefly makes the queue shallow, depends on the machine.
    let levels = &job["iodepth_level"];
    assert!(float(levels, "8") > 0.0 && float(levels, "16") == 0.0, "{levels}");
}
