//! `fathom explain`: its answers on real runs, of fathom and of fio, and on terms.

use crate::support::devices::LoopDevice;
use crate::support::processes::OtherWork;
use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, file_of, json, scratch, skip, tasks_per_processor};
use std::path::Path;

/// Acceptable verdicts if the machine or the disk has other load.
const OTHER_IO: &str = "Verdict: Other I/O on the device was the bottleneck";
const BUSY_MACHINE: &str = "Verdict: Other work on the machine was the bottleneck";

fn explain(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words(&format!("explain {words}")).run()
}

/// Runs a job with the program and returns the explanation of its result, lines joined.
#[track_caller]
fn story_of(program: &Path, directory: &Path, job: &str) -> String {
    let words = format!("--output-format=json+ --output=result.json {job}");
    Launch::of(program, directory).words(&words).run().expect_clean();
    let told = explain(directory, "result.json").expect_clean().stdout;
    told.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[test]
fn verdicts_follow_from_what_was_run() {
    fathom_only!();
    let directory = scratch();
    file_of(directory.path(), "data", 4 * MIB);
    let base = "--name=x --filename=data --size=4m --bs=4k --rw=randread";
    for (more, verdict, figure) in [
        ("--rate_iops=500", "The job's own rate limit was the bottleneck", "rate_iops allows 500 IOPS"),
        (
            "--rate=400k --kb_base=1000",
            "The job's own rate limit was the bottleneck",
            "rate allows 0.400 MB/s",
        ),
        ("--thinktime=2000", "The job's own pauses were the bottleneck", "thinktime=2000"),
        (
            "--thinktime=200ms --thinktime_iotime=50ms",
            "The job's own pauses were the bottleneck",
            "thinktime_iotime=50ms of I/O: about 80.0 %",
        ),
        ("--thinkcycles=5m", "The job's own pauses were the bottleneck", "thinkcycles=5242880"),
        (
            "--rw=write --verify=sha512 --bs=64k --loops=16",
            "Verification was the bottleneck",
            "verify=sha512 generates and checks",
        ),
        ("--direct=1", "The queue depth was the bottleneck", "of 1 requested"),
        ("--rw=randwrite --fsync=1", "Waiting for syncs was the bottleneck", "syncs took"),
    ] {
        // Data is verified after all of it was written.
        let time = if more.contains("verify") { "" } else { "--time_based --runtime=1" };
        // Other load on the machine may interfere between the I/Os of one run.
        let mut last = String::new();
        let mut tries = (0..8).map(|_| {
            last = story_of(&program::path(), directory.path(), &format!("{base} {time} {more}"));
            last.clone()
        });
        let Some(told) = tries.find(|told| told.contains(&format!("Verdict: {verdict}"))) else {
            let is_disturbed =
                last.contains(BUSY_MACHINE) || last.contains(OTHER_IO) || tasks_per_processor() > 2.0;
            assert!(is_disturbed, "{more}: never {verdict}, but {last}");
            continue;
        };
        assert!(told.contains(figure), "{more}: {told}");
        assert!(told.contains("a run of fathom"), "{told}");
    }
}

#[test]
fn a_busy_machine_is_told_from_a_slow_disk() {
    fathom_only!();
    require!(skip::tool("setsid"));
    require!(skip::tool("taskset"));
    let directory = scratch();
    // The job uses direct I/O, because page cache hits do not measure the storage.
    file_of(directory.path(), "data", 4 * MIB);
    let job = "--name=x --filename=data --size=4m --direct=1 --rw=read --time_based --runtime=1";
    let other_work = OtherWork::start();
    // The first run may end before all of the loops have started.
    let mut tries = (0..8).map(|_| story_of(&program::path(), directory.path(), job));
    let told = tries.find(|told| told.contains(BUSY_MACHINE)).expect("a busy machine is told");
    assert!(told.contains("(processor_wait_ms)") && told.contains("other programs kept"), "{told}");
    drop(other_work);
    // Clones that delay each other do not count as other load.
    let job = "--name=x --ioengine=null --size=1g --rw=read --time_based --runtime=1";
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut tries = (0..8).map(|_| {
        let job = format!("{job} --group_reporting --numjobs={}", 4 * processors);
        story_of(&program::path(), directory.path(), &job)
    });
    let mut last = String::new();
    let is_told = tries.any(|told| {
        last = told;
        last.contains("There are more clones than CPUs")
    });
    // Other programs may be busy all the time.
    assert!(is_told || last.contains(BUSY_MACHINE), "clones that take turns are not told: {last}");
}

#[test]
fn results_of_fio_are_told_too() {
    let reference = require!(program::reference());
    let directory = scratch();
    file_of(directory.path(), "data", 4 * MIB);
    let job = "--name=x --filename=data --size=4m --bs=4k --rw=randwrite --numjobs=3 --group_reporting --ioengine=libaio \
               --iodepth=16 --direct=1 --time_based --runtime=1";
    // The depth is mentioned if it is the verdict. In a single run, the verdict may be other load instead.
    let mut told = String::new();
    let depth_is_told = (0..8).any(|_| {
        told = story_of(&reference, directory.path(), job);
        told.contains("of 48 requested")
    });
    assert!(depth_is_told || told.contains(BUSY_MACHINE) || told.contains(OTHER_IO), "{told}");
    assert!(told.contains("a run of fio (fio-3"), "{told}");
    assert!(
        told.contains("3 processes write blocks of 4k at random offsets, up to 16 in flight each"),
        "{told}"
    );
    assert!(told.contains("Writes: ") && told.contains("99 % within"), "{told}");
}

#[test]
fn devices_are_told_apart_by_stages() {
    fathom_only!();
    let device = require!(LoopDevice::new(8 * MIB));
    let directory = scratch();
    let words = format!(
        "--output-format=json --output=result.json --filename={} --bs=64k --direct=1 --group_reporting --name=reader --rw=read \
         --size=4m --numjobs=2 --name=writer --stonewall --rw=write --size=2m",
        device.path().display()
    );
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
    let result =
        json::document(&std::fs::read_to_string(directory.path().join("result.json")).expect("it is there"));
    let moved = |stage: usize| {
        let disk = &result["fathom stages"][stage]["disk_util"][0];
        [json::integer(disk, "read_sectors") * 512 / MIB, json::integer(disk, "write_sectors") * 512 / MIB]
    };
    assert_eq!((moved(0), moved(1)), ([8, 0], [0, 2]), "{result}");
    assert_eq!(result["fathom stages"][1]["groups"].to_string(), "[1]");
    let told = explain(directory.path(), "result.json").expect_clean().stdout;
    assert!(!told.contains("one after the other: run"), "{told}");
}

/// A loop device on a loop device: a read through both counts once.
#[test]
fn stacked_devices_count_once() {
    fathom_only!();
    let lower = require!(LoopDevice::new(32 * MIB));
    let upper = require!(LoopDevice::on_file(lower.path()));
    let directory = scratch();
    let words = format!(
        "--output-format=json --output=result.json --bs=64k --rw=read --name=above --filename={} --size=8m --direct=1 \
         --name=cached --filename={} --offset=16m --size=4m --time_based --runtime=400ms --invalidate=0",
        upper.path().display(),
        lower.path().display()
    );
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
    let text = std::fs::read_to_string(directory.path().join("result.json")).expect("it is there");
    let name = lower.path().file_name().and_then(|name| name.to_str()).expect("a name");
    let devices = &json::document(&text)["fathom host"]["devices"];
    assert_eq!(devices[0]["below"][0], name, "{devices}");
    let told = explain(directory.path(), "result.json").expect_clean().stdout;
    let told = told.split_whitespace().collect::<Vec<&str>>().join(" ");
    let moved = told.split(", the device only ").nth(1).unwrap_or_else(|| panic!("{told}"));
    let moved: f64 = moved.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
    // All I/O of the upper device also passed through the lower one.
    let of_lower = json::integer(&json::document(&text)["disk_util"][1], "read_sectors") as f64 / 2048.0;
    assert!(of_lower >= 12.0 && (moved - of_lower).abs() < 0.2, "{moved} of {of_lower}: {told}");
}

#[test]
fn words_and_lines_are_explained() {
    fathom_only!();
    let directory = scratch();
    for (words, what) in [
        ("iodepth", "iodepth, an option of every job"),
        ("--rw=randrw", "Random reads and writes, mixed"),
        ("slat", "Submission latency"),
        ("cpu : usr=0.40%, sys=4.20%", "CPU usage"),
        ("io_uring", "an engine"),
    ] {
        let told = explain(directory.path(), words).expect_clean().stdout;
        assert!(told.contains(what), "{words}: {told}");
        assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    }
    let finished = explain(directory.path(), "iodpeth");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("did you mean iodepth?"), "{}", finished.stderr);
    std::fs::write(directory.path().join("broken.json"), "{ \"jobs\": [").expect("can be written");
    std::fs::create_dir(directory.path().join("results")).expect("a directory");
    std::fs::write(directory.path().join("a.jsonl"), "{\"fathom sweep\":{}}").expect("written");
    let trace = b"\x07taea\0\0\0 {\0\0\0 a block trace".repeat(8);
    std::fs::write(directory.path().join("a.trace"), trace).expect("written");
    for (given, what) in [
        ("a.trace", "this is a binary file, not a result; if it is a block trace, --read_iolog replays it"),
        ("results", "this is a directory; name a result in it, or compare two such directories"),
        ("a.jsonl", "this is the file of a sweep, not a result of one run: fathom sweep a.jsonl prints it"),
    ] {
        let finished = explain(directory.path(), given);
        assert!(finished.code() == 1 && finished.stderr.contains(what), "{given}: {}", finished.stderr);
    }
    let finished = explain(directory.path(), "broken.json");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("broken.json: invalid JSON"), "{}", finished.stderr);
}
