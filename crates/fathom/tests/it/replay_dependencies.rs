//! `replay_dependencies`: a replay keeps the order and the think times of each process, and follows the device.

use crate::hung_fs::{Faults, HungFs};
use crate::support::program::{Finished, Launch};
use crate::support::{MIB, file_of, json, scratch};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

const BLOCK: u64 = 4096;
/// Process A reads the first blocks, one at a time.
const READS: u64 = 6;
const SERVICE_US: u64 = 200;
const THINK_US: u64 = 5000;
/// Process B writes the blocks after them, four at a time.
const WRITES: u64 = 16;
const DEPTH: u64 = 4;
const WRITE_SERVICE_US: u64 = 1000;
const WRITE_THINK_US: u64 = 10;

/// An event as blkparse prints it.
fn event(time_us: u64, process: u32, action: char, letters: &str, block: u64) -> (u64, String) {
    let (seconds, us, sector) = (time_us / 1_000_000, time_us % 1_000_000, block * 8);
    (time_us, format!("8,0 0 1 {seconds}.{us:06}000 {process} {action} {letters} {sector} + 8 [x]\n"))
}

/// The trace of both processes. With `has_ends`, it has their completions.
fn trace(has_ends: bool) -> String {
    let mut events = Vec::new();
    for read in 0..READS {
        let at = read * (SERVICE_US + THINK_US);
        events.extend([event(at, 10, 'Q', "R", read), event(at + SERVICE_US, 0, 'C', "R", read)]);
    }
    for write in 0..WRITES {
        let at = write / DEPTH * (WRITE_SERVICE_US + WRITE_THINK_US) + write % DEPTH * 250;
        let block = READS + write;
        events.extend([event(at, 20, 'Q', "W", block), event(at + WRITE_SERVICE_US, 0, 'C', "W", block)]);
    }
    events.sort();
    events.retain(|(_, line)| has_ends || line.contains(" Q "));
    events.into_iter().map(|(_, line)| line).collect()
}

/// Runs a replay in a directory with the trace `log`.
fn replay(directory: &Path, log: &str, words: &str) -> Finished {
    std::fs::write(directory.join("trace"), log).expect("written");
    let words = format!(
        "--name=r --read_iolog=trace --replay_dependencies=1 --invalidate=0 --output-format=json {words}"
    );
    Launch::fathom(directory).words(&words).run()
}

/// The I/Os of a replay that logged them, by block: issue and end in ns.
fn logged(directory: &Path) -> BTreeMap<u64, (u64, u64)> {
    let text = std::fs::read_to_string(directory.join("l_clat.1.log")).expect("a log");
    let line = |line: &str| {
        let fields: Vec<u64> = line.split(", ").map(|field| field.parse().expect("a number")).collect();
        (fields[4] / BLOCK, (fields[6], fields[6] + fields[1]))
    };
    text.lines().map(line).collect()
}

const LOGGED: &str = "--iodepth=16 --write_lat_log=l --log_offset=1 --log_issue_time=1";

/// Each process waits for its I/Os, and for its think time in percent of the recorded one.
fn expect_dependencies(ios: &BTreeMap<u64, (u64, u64)>, percent: u64) {
    assert_eq!(ios.len() as u64, READS + WRITES);
    let after = |block: u64, earlier: u64, think_us: u64| {
        // Ticks are converted to ns with rounding.
        let begin = ios[&block].0 + 1000;
        let least = ios[&earlier].1 + think_us * 10 * percent;
        assert!(begin >= least, "block {block} begins {} ns early: {ios:?}", least - begin);
    };
    (1..READS).for_each(|read| after(read, read - 1, THINK_US));
    (READS + DEPTH..READS + WRITES).for_each(|write| after(write, write - DEPTH, WRITE_THINK_US));
    for write in READS..READS + WRITES {
        let begin = ios[&write].0;
        let others = (READS..write).filter(|other| ios[other].1 > begin).count() as u64;
        assert!(others < DEPTH, "block {write} begins with {others} in flight: {ios:?}");
        assert!(
            (READS..write).all(|other| ios[&other].0 <= begin),
            "the order of a process is kept: {ios:?}"
        );
    }
}

#[test]
fn think_times_follow_completions() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    let run = |words: &str| {
        let finished = replay(directory.path(), &trace(true), &format!("{LOGGED} {words}"));
        assert_eq!((finished.code(), finished.stderr.as_str()), (0, ""));
        let document = json::document(&finished.stdout);
        (logged(directory.path()), json::integer(&document["fathom replay"][0], "lateness_ns/N"))
    };
    for (words, percent, with_times) in [
        ("", 100, READS + WRITES),
        ("--replay_time_scale=50", 200, READS + WRITES),
        ("--replay_no_stall=1", 0, 0),
    ] {
        let (ios, count) = run(&format!("--ioengine=null --replay_redirect=data {words}"));
        expect_dependencies(&ios, percent);
        assert_eq!(count, with_times, "{words}");
    }
    file_of(directory.path(), "data", MIB);
    for engine in ["psync --iodepth=1", "libaio", "posixaio"] {
        let (ios, _) = run(&format!("--ioengine={engine} --replay_redirect=data"));
        expect_dependencies(&ios, 100);
    }
}

/// Without dependencies, the I/Os of each process would pile up on a device that takes longer than the recorded one.
#[test]
fn a_slow_device_stretches_the_replay() {
    built!("--name=a --read_iolog=log");
    let slow = Faults { service: Duration::from_millis(10), ..Faults::default() };
    let device = require!(HungFs::mount(MIB, slow));
    let directory = scratch();
    let words = format!("{LOGGED} --ioengine=posixaio --replay_redirect={}", device.file().display());
    let finished = replay(directory.path(), &trace(true), &words);
    assert_eq!((finished.code(), finished.stderr.as_str()), (0, ""));
    expect_dependencies(&logged(directory.path()), 100);
}

#[test]
fn a_flush_keeps_its_order_and_missing_completions_are_counted() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let mut log = String::new();
    for (_, line) in [
        event(0, 10, 'Q', "W", 0),
        event(1, 20, 'Q', "R", 9),
        event(100, 0, 'C', "W", 0),
        event(5100, 10, 'Q', "FWS", 1),
        event(6000, 0, 'C', "FWS", 1),
        event(7000, 10, 'Q', "R", 2),
    ] {
        write!(log, "{line}").expect("a string takes everything");
    }
    let finished =
        replay(directory.path(), &log, &format!("{LOGGED} --ioengine=libaio --replay_redirect=data"));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let told = "fathom: trace: 2 of 4 I/Os have no completion in the trace, so nothing waits for them";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
    let ios = logged(directory.path());
    assert!(
        ios[&1].0 + 1000 >= ios[&0].1 + 5_000_000 && ios[&2].0 + 1000 >= ios[&1].1 + 1_000_000,
        "{ios:?}"
    );
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "r"), "sync/total_ios"), 1);
}

#[test]
fn what_has_no_dependencies_is_refused() {
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let whole = trace(true);
    let arrivals = trace(false);
    for (log, words, reason) in [
        (
            "fio version 3 iolog\n0 data add\n0 data open\n0 data read 0 512\n",
            "",
            "an I/O log lists no completions",
        ),
        (arrivals.as_str(), "--replay_redirect=data", "lists when I/Os arrived and not when they completed"),
        (
            "419,R,4096,8192,1577808144360767\n",
            "--replay_redirect=data",
            "lists when I/Os arrived and not when they completed",
        ),
        (whole.as_str(), "--open_loop=1", "an open loop (open_loop=1) needs due times that do not"),
        (whole.as_str(), "--merge_blktrace_file=merged", "merge_blktrace_file leaves them out"),
    ] {
        let finished = replay(directory.path(), log, words);
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stderr);
        assert!(finished.stderr.contains(reason), "{words}: {}", finished.stderr);
    }
}
