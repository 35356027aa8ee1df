//! `open_loop`: I/Os are due regardless of the storage's speed, and the reports contain the time since then.

use crate::hung_fs::{Faults, HungFs};
use crate::support::program::{Finished, Launch};
use crate::support::{MIB, file_of, json, scratch};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const MS: u64 = 1_000_000;

fn run(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words(&format!("--output-format=json,normal {words}")).run().expect_clean()
}

/// The percentile of a latency, ns.
#[track_caller]
fn percentile(latency: &Value, percent: &str) -> u64 {
    latency["percentile"][percent].as_u64().unwrap_or_else(|| panic!("no {percent} in {latency}"))
}

/// The device stalls for 200 of each 500 ms: a fifth of all arrivals wait for more than half of that.
#[test]
fn what_comes_while_nothing_is_answered_waits() {
    fathom_only!();
    let pauses = Some((Duration::from_millis(500), Duration::from_millis(200)));
    let slow = require!(HungFs::mount(MIB, Faults { pauses, ..Faults::default() }));
    let directory = scratch();
    let words = |more: &str| {
        format!(
            "--name=a --filename={} --rw=randread --bs=4k --ioengine=psync --time_based --runtime=2 --rate_iops=500 {more}",
            slow.file().display()
        )
    };
    let open = json::document(&run(directory.path(), &words("--open_loop=1")).stdout);
    let read = &json::job(&open, "a")["read"];
    let response = &read["resp_ns"];
    assert!(percentile(response, "80.000000") >= 90 * MS, "{response}");
    assert!(percentile(response, "95.000000") >= 165 * MS, "{response}");
    assert_eq!(json::integer(response, "N"), json::integer(read, "arrivals/due"));
    assert!((995..=1002).contains(&json::integer(read, "arrivals/due")), "{read}");
    assert!(json::integer(read, "arrivals/backlog_max") >= 95, "{read}");
    // A closed loop stalls with the device, and so does its rate: it sees only a few slow I/Os.
    let closed = json::document(&run(directory.path(), &words("")).stdout);
    let read = &json::job(&closed, "a")["read"];
    assert!(percentile(&read["clat_ns"], "95.000000") < 100 * MS, "{read}");
    assert!(read.get("resp_ns").is_none() && read.get("arrivals").is_none(), "{read}");
}

#[test]
fn an_interrupted_run_tells_what_waited() {
    fathom_only!();
    let service = Duration::from_millis(20);
    let slow = require!(HungFs::mount(MIB, Faults { service, ..Faults::default() }));
    let directory = scratch();
    let mut running = Launch::fathom(directory.path())
        .words(&format!(
            "--name=a --filename={} --rw=randread --bs=4k --ioengine=libaio --iodepth=2 --direct=1 --rate_iops=1000 \
             --open_loop=1 --time_based --runtime=60 --status-interval=1",
            slow.file().display()
        ))
        .start();
    running.wait_for_output(|text| text.contains("   arrivals    : due="));
    running.signal("INT");
    let text = running.finish().stdout;
    let last = text.rsplit("   not started : ").next().expect("the last report");
    let waiting: u64 = last.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
    // About one second, minus the job's late start, with 100 of 1000 I/Os per second served.
    assert!(waiting >= 300, "{text}");
    assert!(text.contains("    resp (msec): min="), "{text}");
    assert!(text.contains("    resp percentiles (msec):"), "{text}");
}

#[test]
fn every_engine_counts_each_arrival_once() {
    fathom_only!();
    let directory = scratch();
    let engines = [
        ("sync", 1),
        ("psync", 1),
        ("pvsync2", 1),
        ("mmap", 1),
        ("libaio", 4),
        ("io_uring", 4),
        ("posixaio", 4),
        ("null", 2),
    ];
    for (index, (engine, depth)) in engines.into_iter().enumerate() {
        let how = if index % 2 == 0 { "--thread" } else { "--fsync=7" };
        let words = format!(
            "--name=a --rw=randrw --rwmixread=60 --bs=1k-4k --size=300k --nrfiles=3 --numjobs=2 --ioengine={engine} --iodepth={depth} \
             --rate_iops=3000,2000 --rate_process=onoff:5ms:10ms:poisson --open_loop=1 {how}"
        );
        let document = json::document(&run(directory.path(), &words).stdout);
        for job in document["jobs"].as_array().expect("jobs") {
            for direction in [&job["read"], &job["write"]] {
                let due = json::integer(direction, "arrivals/due");
                assert_eq!(json::integer(direction, "total_ios"), due, "{engine}: {direction}");
                assert_eq!(json::integer(direction, "resp_ns/N"), due, "{engine}");
                assert_eq!(json::integer(direction, "arrivals/waiting"), 0, "{engine}");
                assert!(
                    json::integer(direction, "resp_ns/max")
                        >= json::integer(direction, "arrivals/service_ns/max"),
                    "{engine}: {direction}"
                );
            }
        }
    }
}

#[test]
fn response_times_are_logged() {
    fathom_only!();
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let words = "--filename=data --rw=randread --bs=4k --ioengine=psync --number_ios=100 --rate_iops=1000 --open_loop=1";
    run(directory.path(), &format!("--name=a {words} --write_lat_log=each --log_offset=1"));
    let lines = |name: &str| {
        let text = std::fs::read_to_string(directory.path().join(name)).expect("a log");
        text.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    let values = |name: &str| -> Vec<u64> {
        let second =
            |line: &String| line.split(", ").nth(1).and_then(|word| word.parse().ok()).expect("a value");
        lines(name).iter().map(second).collect()
    };
    let (response, latency) = (values("each_resp.1.log"), values("each_lat.1.log"));
    assert_eq!((response.len(), latency.len()), (100, 100));
    assert!(response.iter().zip(&latency).all(|(response, latency)| response >= latency));
    // Averages over windows, and no such log for a closed loop.
    run(directory.path(), &format!("--name=a {words} --write_lat_log=mean --log_avg_msec=50"));
    assert!((1..=50).contains(&lines("mean_resp.1.log").len()));
    run(directory.path(), &format!("--name=a {words} --open_loop=0 --write_lat_log=closed"));
    assert!(!directory.path().join("closed_resp.1.log").exists());
}

#[test]
fn the_times_of_a_log_are_a_schedule() {
    fathom_only!();
    let service = Duration::from_millis(10);
    let slow = require!(HungFs::mount(MIB, Faults { service, ..Faults::default() }));
    let directory = scratch();
    let name = slow.file().display().to_string();
    // A read is due each millisecond, and takes ten.
    let reads: String =
        (0..40).map(|number| format!("{number} {name} read {} 4096\n", number * 4096)).collect();
    let log = format!("fio version 3 iolog\n0 {name} add\n0 {name} open\n{reads}40 {name} close\n");
    std::fs::write(directory.path().join("log"), log).expect("written");
    let words = "--name=a --read_iolog=log --ioengine=psync --open_loop=1";
    let document = json::document(&run(directory.path(), words).stdout);
    let read = &json::job(&document, "a")["read"];
    assert_eq!(
        (json::integer(read, "arrivals/due"), json::integer(read, "arrivals/waiting")),
        (40, 0),
        "{read}"
    );
    // The last read waits for 39 others of 10 ms, minus the 39 ms by which it was due after the first.
    assert!(json::integer(read, "resp_ns/max") >= 360 * MS, "{read}");
    assert!(json::integer(read, "arrivals/backlog_max") >= 30, "{read}");
}

#[test]
fn what_would_move_due_times_is_refused() {
    fathom_only!();
    let directory = scratch();
    for (words, reason) in [
        ("--rw=randrw --rate_iops=100,0", "needs rate= or rate_iops= for each direction"),
        ("--rate_iops=100 --thinktime=10", "thinktime would hold arrivals back"),
        ("--rate_iops=100 --verify=crc32c --rw=write", "verify="),
        ("--rate_iops=20m", "more than the 10000000 that a clone can count"),
    ] {
        let words = format!("--name=a --ioengine=null --size=1m --open_loop=1 {words}");
        let finished = Launch::fathom(directory.path()).words(&words).run();
        assert_ne!(finished.code(), 0, "{words}");
        assert!(finished.stderr.contains(reason), "{words}: {}", finished.stderr);
    }
}
