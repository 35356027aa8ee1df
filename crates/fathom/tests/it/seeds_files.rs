//! Job files, and synchronous reads of one file in three block sizes.

use crate::support::compare::{Case, expect_ios};
use crate::support::{MIB, json};

fn job_file(name: &str) -> String {
    format!("{}/tests/jobs/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn random_read_job_file() {
    let document = Case::new(job_file("random-read-test.fio")).check();
    expect_ios(&document, &["read"], 4096, 4096);
}

#[test]
fn random_read_job_file_with_libaio() {
    let document = Case::new(job_file("random-read-test-aio.fio")).check();
    expect_ios(&document, &["read"], 4096, 4096);
    let levels = &json::job(&document, "random-read")["iodepth_level"];
    assert_eq!(levels["16"].as_f64(), Some(0.0), "the depth of 8 was exceeded");
    assert!(levels["8"].as_f64() > Some(90.0), "the depth of 8 was not kept: {levels}");
}

#[test]
fn four_threads() {
    let document = Case::new(job_file("four-threads-randio.fio")).check();
    expect_ios(&document, &["read", "write"], 3 * 4096 + 512, 4096);
    for (name, direction) in [("bgwriter", "write"), ("queryA", "read"), ("queryB", "read")] {
        let job = json::job(&document, name);
        assert_eq!(json::integer(job, &format!("{direction}/io_bytes")), 16 * MIB, "{name}");
        assert_eq!(json::integer(job, &format!("{direction}/total_ios")), 4096, "{name}");
    }
    let updater = json::job(&document, "bgupdater");
    let moved = json::integer(updater, "read/io_bytes") + json::integer(updater, "write/io_bytes");
    assert_eq!(moved, 2 * MIB);
    // Synchronous engines submit and complete in one call, so they have no submission latency.
    assert_eq!(json::integer(json::job(&document, "queryA"), "read/slat_ns/N"), 0);
    assert_eq!(json::integer(json::job(&document, "bgwriter"), "write/slat_ns/N"), 4096);
}

#[track_caller]
fn check_reads(workload: &str, block: &str, bytes: u64, more: &str) {
    let document = Case::new(format!(
        "--randrepeat=1 --name=test --filename=fiotest --bs={block} --iodepth=1 --readwrite={workload} \
         --size=16M {more}"
    ))
    .check();
    expect_ios(&document, &["read"], 16 * MIB / bytes, bytes);
}

#[test]
fn random_reads_of_4k() {
    check_reads("randread", "4k", 4096, "-direct=1");
}

#[test]
fn random_reads_of_128k() {
    check_reads("randread", "128k", 128 << 10, "-direct=1");
}

#[test]
fn random_reads_of_2m() {
    check_reads("randread", "2m", 2 * MIB, "-direct=1");
}

#[test]
fn sequential_reads_of_4k() {
    check_reads("read", "4k", 4096, "");
}

#[test]
fn sequential_reads_of_128k() {
    check_reads("read", "128k", 128 << 10, "");
}

#[test]
fn sequential_reads_of_2m() {
    check_reads("read", "2m", 2 * MIB, "");
}
