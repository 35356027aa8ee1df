//! The I/Os of a run, as recorded in its latency log.

use super::program::Launch;
use std::path::Path;

/// One I/O.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    /// 0 for a read, 1 for a write, 2 for a trim.
    pub(crate) direction: u64,
    /// First byte.
    pub(crate) offset: u64,
    /// Its bytes.
    pub(crate) length: u64,
    /// Time of its submission to the engine, in nanoseconds since the job's start.
    pub(crate) issued_ns: u64,
}

impl Recorded {
    /// The 4 KiB block in which it starts.
    pub(crate) fn block(&self) -> u64 {
        self.offset / 4096
    }
}

/// Completion times of a job's I/Os in milliseconds, from `log_iops.N.log`, which `--write_iops_log=log` creates.
#[track_caller]
pub(crate) fn ends_of_ios(directory: &Path, job: u32) -> Vec<u64> {
    let text = std::fs::read_to_string(directory.join(format!("log_iops.{job}.log"))).expect("a log");
    text.lines()
        .map(|line| line.split(',').next().and_then(|time| time.parse().ok()).expect("a time"))
        .collect()
}

/// Checks that a job that ran for this many seconds kept to its rate: no I/O came early, and delays were made
/// up for. At the best moment of the second half, when the job had just had a processor, the number of I/Os was
/// as required, within one percent.
#[track_caller]
pub(crate) fn check_rate(name: &str, ends: &[u64], ios_per_second: u64, seconds: u64) {
    let due_ms = |number: usize| number as u64 * 1000 / ios_per_second;
    let early = (0..ends.len()).find(|&number| ends[number] + 1 < due_ms(number));
    assert_eq!(early.map(|number| (number, ends[number])), None, "{name}: before its time");
    let half = ends.partition_point(|&end| end < seconds * 500);
    let is_kept = |number: usize| ends[number].saturating_sub(due_ms(number)) <= ends[number] / 100;
    assert!((half..ends.len()).any(is_kept), "{name}: {} I/Os in {seconds} s, always late", ends.len());
}

/// Runs one job without a device; returns its I/Os in the order of their issue.
#[track_caller]
pub(crate) fn of_null(words: &str) -> Vec<Recorded> {
    let directory = super::scratch();
    of(directory.path(), &format!("--name=job --ioengine=null --filename=f --bs=4k {words}"))
}

/// Runs one job, which must not fail; returns its I/Os in the order of their issue.
#[track_caller]
pub(crate) fn of(directory: &Path, words: &str) -> Vec<Recorded> {
    let words = format!("{words} --write_lat_log=log --log_offset=1 --log_issue_time=1");
    let finished = Launch::fathom(directory).words(&words).run();
    assert_eq!(finished.code(), 0, "{words}: {}{}", finished.stderr, finished.stdout);
    let text = std::fs::read_to_string(directory.join("log_clat.1.log")).expect("a log");
    let mut ios: Vec<Recorded> = text.lines().map(line).collect();
    ios.sort_by_key(|io| io.issued_ns);
    ios
}

/// Time, latency, direction, length, offset, priority and issue time.
fn line(line: &str) -> Recorded {
    let fields: Vec<u64> = line.split(", ").map(|field| field.parse().expect("a number")).collect();
    Recorded { direction: fields[2], offset: fields[4], length: fields[3], issued_ns: fields[6] }
}
