//! When jobs start and stop, how fast they run, and whether they are processes or threads.

use crate::support::program::Launch;
use crate::support::recorded::{check_rate, ends_of_ios};
use crate::support::{KIB, PATIENCE, file_of, json, processes, scratch};
use serde_json::Value;
use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A job without a device.
const NULL: &str = "--output-format=json --ioengine=null --bs=4k --rw=read";

#[track_caller]
fn run(words: &str) -> (Value, Duration) {
    let directory = scratch();
    let finished = Launch::fathom(directory.path()).words(NULL).words(words).run().expect_clean();
    (json::document(&finished.stdout), finished.elapsed)
}

/// Milliseconds between the starts of two jobs.
fn start_gap(document: &Value, first: &str, second: &str) -> i64 {
    let start = |name| json::integer(json::job(document, name), "job_start") as i64;
    start(second) - start(first)
}

#[test]
fn every_clone_has_the_rate_of_its_job() {
    let directory = scratch();
    let words =
        "--name=job --size=1G --rate_iops=500 --time_based --runtime=2 --numjobs=2 --write_iops_log=log";
    Launch::fathom(directory.path()).words(NULL).words(words).run().expect_clean();
    for clone in [1, 2] {
        check_rate(&format!("clone {clone}"), &ends_of_ios(directory.path(), clone), 500, 2);
    }
}

#[test]
fn a_run_time_is_kept() {
    let (document, elapsed) = run("--name=job --size=64k --rate_iops=100 --time_based --runtime=1500ms");
    let runtime = json::integer(json::job(&document, "job"), "read/runtime");
    // Longer only on a busy machine; the whole file takes 160 ms.
    assert!((1_490..30_000).contains(&runtime), "{runtime} ms");
    assert!(elapsed < PATIENCE / 2, "{elapsed:?}");
    // 16 blocks are read repeatedly, never faster than the rate allows.
    let ios = json::integer(json::job(&document, "job"), "read/total_ios");
    assert!((17..=runtime / 10 + 1).contains(&ios), "{ios} I/Os in {runtime} ms");
}

#[test]
fn without_time_based_the_size_is_the_end() {
    let (document, elapsed) = run("--name=job --size=64k --runtime=100");
    assert_eq!(json::integer(json::job(&document, "job"), "read/total_ios"), 16);
    assert!(elapsed < Duration::from_secs(90), "{elapsed:?}");
}

#[test]
fn loops_and_numbers_of_ios() {
    let (document, _) = run("--name=job --size=64k --loops=5");
    assert_eq!(json::integer(json::job(&document, "job"), "read/total_ios"), 80);
    let (document, _) = run("--name=job --size=64k --number_ios=7");
    assert_eq!(json::integer(json::job(&document, "job"), "read/total_ios"), 7);
    let (document, _) = run("--name=job --size=64k --io_size=100k");
    assert_eq!(json::integer(json::job(&document, "job"), "read/io_bytes"), 100 * KIB);
}

#[test]
fn a_start_delay_is_waited_for() {
    let (document, elapsed) = run("--name=a --size=64k --name=b --size=64k --startdelay=1");
    assert!(elapsed >= Duration::from_secs(1), "{elapsed:?}");
    assert_eq!(json::total(&document, "read/total_ios"), 32);
}

#[test]
fn a_start_delay_shows_in_the_starts() {
    fathom_only!();
    let before = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64;
    let (document, _) = run("--name=a --size=64k --name=b --size=64k --startdelay=1");
    let start = |name| json::integer(json::job(&document, name), "job_start");
    // On a busy machine the first job may be late; the other cannot be early.
    assert!(start("a") >= before && start("b") >= before + 1_000, "{before}: {document}");
    assert!(start_gap(&document, "a", "b") > 0, "{document}");
}

#[test]
fn stonewalled_jobs_come_one_after_the_other() {
    let words = "--rate_iops=100 --name=a --size=400k --name=b --size=400k --stonewall --name=c --size=400k --stonewall";
    let (document, elapsed) = run(words);
    assert!(elapsed >= Duration::from_millis(2_700), "three times a second of I/O took {elapsed:?}");
    let groups: Vec<u64> =
        ["a", "b", "c"].map(|name| json::integer(json::job(&document, name), "groupid")).into();
    assert_eq!(groups, [0, 1, 2], "each wall begins a group");
    fathom_only!();
    for (first, second) in [("a", "b"), ("b", "c")] {
        let gap = start_gap(&document, first, second);
        assert!((900..30_000).contains(&gap), "{second} started {gap} ms after {first}");
    }
}

#[test]
fn waiting_for_one_job() {
    let words = "--rate_iops=100 --name=a --size=400k --name=b --size=40k --name=c --size=40k --wait_for=a";
    let (document, elapsed) = run(words);
    assert!(elapsed >= Duration::from_millis(900), "{elapsed:?}");
    assert_eq!(json::total(&document, "read/total_ios"), 120);
    fathom_only!();
    let all_of_a = json::integer(json::job(&document, "a"), "job_runtime") as i64;
    assert!(start_gap(&document, "a", "b") < all_of_a, "b does not wait for a");
    assert!(start_gap(&document, "a", "c") >= 900, "c waits for a");
}

#[test]
fn the_first_to_end_ends_all() {
    let words =
        "--rate_iops=100 --name=short --size=200k --exitall --name=long --size=1G --time_based --runtime=100";
    let (document, elapsed) = run(words);
    assert!(elapsed < Duration::from_secs(90), "{elapsed:?}");
    assert_eq!(json::integer(json::job(&document, "short"), "read/total_ios"), 50);
    let ios = json::integer(json::job(&document, "long"), "read/total_ios");
    assert!((1..9_000).contains(&ios), "{ios} I/Os");
}

#[test]
fn a_ramp_is_not_recorded() {
    let (document, elapsed) =
        run("--name=job --size=1G --rate_iops=200 --time_based --runtime=1 --ramp_time=1");
    assert!(elapsed >= Duration::from_secs(2), "{elapsed:?}");
    let ios = json::integer(json::job(&document, "job"), "read/total_ios");
    // 400 including the ramp; on a busy machine some may fall into the ramp, or be left undone at the end.
    assert!((100..=300).contains(&ios), "{ios} I/Os in the second after the ramp");
}

#[test]
fn thinking_takes_its_time() {
    let (document, elapsed) = run("--name=job --size=80k --thinktime=50000");
    assert_eq!(json::integer(json::job(&document, "job"), "read/total_ios"), 20);
    assert!(elapsed >= Duration::from_millis(900), "20 pauses of 50 ms took {elapsed:?}");
}

/// Ids of the tasks that do I/O: processes below the program, or threads in it.
fn workers(words: &str) -> (usize, usize) {
    let directory = scratch();
    let running = Launch::fathom(directory.path())
        .words(NULL)
        .words("--size=1G --rate_iops=100 --time_based --runtime=60")
        .words(words)
        .start();
    running.wait_for_sleeps(60);
    let below = processes::descendants(running.pid());
    let threads = std::iter::once(running.pid())
        .chain(below.iter().copied())
        .map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count))
        .sum();
    running.signal("INT");
    assert_eq!(running.finish().code(), 128);
    (below.len(), threads)
}

#[test]
fn clones_are_processes_unless_they_are_threads() {
    let (processes, _) = workers("--name=job --numjobs=3");
    assert!(processes >= 3, "{processes} processes");
    let (processes, threads) = workers("--name=job --numjobs=3 --thread=1");
    assert!(processes <= 1, "{processes} processes for threads");
    assert!(threads >= 4, "{threads} threads");
}

#[test]
fn every_clone_reports_its_own_process() {
    let directory = scratch();
    let words = "--output-format=normal --ioengine=null --bs=4k --size=64k --name=job --numjobs=3";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    let pids: HashSet<&str> = finished
        .stdout
        .lines()
        .filter(|line| line.starts_with("job: (groupid=0, jobs=1): err= 0: pid="))
        .filter_map(|line| line.split(": pid=").nth(1)?.split(':').next())
        .collect();
    assert_eq!(pids.len(), 3, "{}", finished.stdout);
    assert!(finished.stdout.contains("\n...\n"), "{}", finished.stdout);
    assert!(finished.stdout.contains("\nStarting 3 processes\n"), "{}", finished.stdout);
}

#[test]
fn reports_go_where_they_are_sent() {
    let directory = scratch();
    file_of(directory.path(), "data", 64 * KIB);
    let words =
        "--name=job --filename=data --rw=read --bs=4k --size=64k --output=report --output-format=json";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    assert_eq!(finished.stdout, "");
    let report = std::fs::read_to_string(directory.path().join("report")).expect("the report is there");
    assert_eq!(json::total(&json::document(&report), "read/total_ios"), 16);
}

#[test]
fn the_status_line_comes_when_asked_for() {
    let directory = scratch();
    let words =
        "--eta=always --name=job --ioengine=null --bs=4k --size=1G --rate_iops=100 --time_based --runtime=3";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    let line = finished.stdout.split(['\r', '\n']).find(|line| line.contains("[R(1)]"));
    let line = line.unwrap_or_else(|| panic!("no status line: {}", finished.stdout));
    assert!(line.starts_with("Jobs: 1 (f=1)") && line.contains("IOPS][eta 00m:0"), "{line}");
}
