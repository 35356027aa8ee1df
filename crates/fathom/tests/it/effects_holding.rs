//! Conditions that delay I/O, and which files are open or locked meanwhile.

use crate::support::devices::{LoopDevice, Throttle};
use crate::support::program::Launch;
use crate::support::recorded::ends_of_ios;
use crate::support::trace::Trace;
use crate::support::{KIB, MIB, PATIENCE, file_of, json, processes, scratch, wait_until};
use serde_json::Value;
use std::path::Path;

#[track_caller]
fn run(directory: &Path, words: &str) -> Value {
    let finished = Launch::fathom(directory).words("--output-format=json").words(words).run().expect_clean();
    json::document(&finished.stdout)
}

/// Files below a directory that the processes of a run have open.
fn open_files_below(pid: u32, directory: &Path) -> usize {
    let processes = processes::descendants(pid);
    let descriptors = processes.iter().filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/fd")).ok());
    let targets = descriptors.flatten().filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| target.starts_with(directory)).count()
}

#[test]
fn jobs_of_a_flow_keep_the_proportion_of_their_weights() {
    let directory = scratch();
    let words = "--ioengine=null --size=1G --bs=4k --rw=randread --runtime=1 --time_based --flow_id=3 --flow_sleep=50 \
                 --log_unix_epoch=1 --write_iops_log=log --name=one --flow=1 --rate_iops=500 --name=four --flow=4";
    run(directory.path(), words);
    // The last job has no other to wait for, so only the time of both together counts.
    let [one, four] = [1, 2].map(|number| ends_of_ios(directory.path(), number));
    let ended = one.last().min(four.last()).copied().expect("both did something");
    let until = |ios: &[u64], moment: u64| ios.iter().filter(|&&end| end <= moment).count();
    assert!(until(&one, ended) > 50, "{} and {}", one.len(), four.len());
    for &moment in one.iter().filter(|&&moment| moment <= ended) {
        // Log times are rounded to milliseconds, and a job that is late catches up within a millisecond: allow
        // for both.
        let (least, most) = (until(&four, moment - 2), until(&four, moment + 2));
        let one = until(&one, moment);
        let in_proportion = least.min(most.saturating_sub(16))..=most + 16;
        assert!(in_proportion.contains(&(4 * one)), "{one}, {least} to {most}");
    }
}

#[test]
fn cycles_between_ios_are_processor_time() {
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=4M --bs=4k --rw=read --thinkcycles=1000000";
    let document = run(directory.path(), words);
    let job = &document["jobs"][0];
    // 1024 times a million cycles take at least a tenth of a second on any processor (below 10 GHz).
    assert!(json::integer(job, "job_runtime") > 100, "{job}");
    // Other programs may have used some of it; without them, 1024 I/Os of this engine take a few ms.
    let share = job["usr_cpu"].as_f64().expect("a percentage") / 100.0;
    let used_ms = share * json::integer(job, "job_runtime") as f64;
    assert!(used_ms > 50.0, "{used_ms} ms: {job}");
}

#[test]
fn a_ramp_by_size_leaves_its_bytes_out() {
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=4M --bs=4k --rw=read --rate=2m --ramp_size=1M";
    let document = run(directory.path(), words);
    let counted = json::integer(&document["jobs"][0], "read/io_bytes");
    assert!((2 * MIB..=3 * MIB).contains(&counted), "{counted}");
}

/// One I/O of a latency log with offsets and issue times.
#[derive(Clone, Copy, Debug)]
struct Logged {
    issued_ns: u64,
    ended_ns: u64,
    start: u64,
    end: u64,
}

/// The I/Os of a run by issue time.
fn logged(directory: &Path, words: &str) -> Vec<Logged> {
    run(directory, &format!("{words} --write_lat_log=log --log_offset=1 --log_issue_time=1"));
    let text = std::fs::read_to_string(directory.join("log_clat.1.log")).expect("a log");
    let mut ios: Vec<Logged> = text
        .lines()
        .map(|line| {
            let fields: Vec<u64> = line.split(", ").map(|field| field.parse().expect("a number")).collect();
            let (clat, length, offset, issued_ns) = (fields[1], fields[3], fields[4], fields[6]);
            Logged { issued_ns, ended_ns: issued_ns + clat, start: offset, end: offset + length }
        })
        .collect();
    ios.sort_by_key(|io| io.issued_ns);
    ios
}

#[test]
fn overlapping_writes_are_never_in_flight_together() {
    let directory = scratch();
    let words = "--name=a --ioengine=libaio --iodepth=16 --direct=0 --filename=data --size=128k --io_size=4M --bsrange=4k-16k \
                 --rw=randwrite --norandommap --serialize_overlap=1";
    expect_no_overlap(&logged(directory.path(), words));
}

#[track_caller]
fn expect_no_overlap(ios: &[Logged]) {
    assert!(ios.len() > 200, "{}", ios.len());
    for (index, io) in ios.iter().enumerate() {
        let later = ios[index + 1..].iter().take_while(|later| later.issued_ns < io.ended_ns);
        for other in later {
            assert!(other.end <= io.start || io.end <= other.start, "{io:?} and {other:?}");
        }
    }
}

/// More I/Os may be in flight than there are blocks, and a later run checks which write of a block was the last.
#[test]
fn passes_that_are_not_read_back_do_not_meet() {
    fathom_only!();
    for more in ["--loops=60", "--io_size=2M", "--time_based --runtime=200ms"] {
        let directory = scratch();
        let words = format!(
            "--name=a --ioengine=libaio --iodepth=16 --direct=0 --filename=data --size=32k --bs=4k --rw=randwrite \
             --verify=crc32c --do_verify=0 {more}"
        );
        expect_no_overlap(&logged(directory.path(), &words));
    }
}

/// Ten reads complete per second. Four in flight must complete before a pause begins, and completions
/// meanwhile count for the next pause.
#[test]
fn a_pause_begins_when_nothing_is_in_flight() {
    const PAUSE_NS: u64 = 50_000_000;
    let device = require!(LoopDevice::new(MIB));
    for engine in ["libaio", "io_uring", "posixaio", "psync --io_submit_mode=offload"] {
        let throttle = require!(Throttle::new(device.path(), 10));
        let directory = scratch();
        let words = format!(
            "--name=a --filename={} --direct=1 --rw=read --bs=4k --ioengine={engine} --iodepth=4 --number_ios=12 \
             --thinktime={}us --thinktime_blocks=4 --cgroup={} --cgroup_nodelete=1",
            device.path().display(),
            PAUSE_NS / 1000,
            throttle.name()
        );
        let ios = logged(directory.path(), &words);
        assert_eq!(ios.len(), 12, "{engine}");
        let is_after_a_pause = |issued: usize| {
            let ended = ios[..issued].iter().map(|io| io.ended_ns).max();
            ios[issued].issued_ns >= ended.unwrap_or_default() + PAUSE_NS
        };
        let pauses: Vec<usize> = (1..ios.len()).filter(|&issued| is_after_a_pause(issued)).collect();
        // Pauses begin at the 8th and the 12th completion, unless a busy machine completes several together. If
        // a pause began with I/O in flight, none would be long enough.
        let is_first = pauses.first().is_some_and(|first| (4..=7).contains(first));
        assert!(is_first && pauses.len() <= 2, "{engine}: {pauses:?} in {ios:?}");
    }
}

/// Two jobs write over each other's blocks, each in its own order.
#[test]
fn offloaded_jobs_do_not_overlap_either() {
    let directory = scratch();
    let words = "--ioengine=psync --io_submit_mode=offload --iodepth=4 --filename=data --size=64k --io_size=4M --bs=4k \
                 --rw=randwrite --norandommap --serialize_overlap=1 --name=one --randseed=1 --name=two --randseed=2";
    let document = run(directory.path(), words);
    assert_eq!(json::total(&document, "write/total_ios"), 2048);
    for job in document["jobs"].as_array().expect("jobs") {
        assert!(
            job["iodepth_level"]["4"].as_f64().is_some_and(|percent| percent > 0.0),
            "{}",
            job["iodepth_level"]
        );
    }
}

#[test]
fn offloading_gives_depth_to_every_engine() {
    for engine in ["psync", "sync", "pvsync2", "vsync", "libaio", "posixaio", "mmap", "null"] {
        let directory = scratch();
        let words = format!(
            "--name=a --ioengine={engine} --io_submit_mode=offload --iodepth=8 --filename=data --size=2M --bs=4k --rw=randrw"
        );
        let document = run(directory.path(), &words);
        let job = &document["jobs"][0];
        let ios = json::integer(job, "read/total_ios") + json::integer(job, "write/total_ios");
        assert_eq!(ios, 512, "{engine}");
        assert!(
            // The first eight are submitted before one is waited for; how many complete together depends on
            // the threads.
            job["iodepth_level"]["8"].as_f64().is_some_and(|percent| percent > 0.0),
            "{engine}: {}",
            job["iodepth_level"]
        );
    }
}

#[test]
fn no_more_files_are_open_than_allowed() {
    let directory = scratch();
    for engine in ["psync", "libaio --iodepth=4", "io_uring --iodepth=4"] {
        let words = format!(
            "--name=a --ioengine={engine} --nrfiles=8 --size=512k --bs=4k --rw=randwrite --openfiles=2 --fallocate=none"
        );
        let document = run(directory.path(), &words);
        assert_eq!(json::integer(&document["jobs"][0], "write/total_ios"), 128, "{engine}");
        for file in 0..8 {
            let path = directory.path().join(format!("a.0.{file}"));
            assert_eq!(std::fs::metadata(&path).map(|found| found.len()).ok(), Some(64 * KIB), "{engine}");
        }
    }
    let limited =
        "--name=a --nrfiles=8 --size=512k --bs=4k --rw=randread --openfiles=2 --runtime=60 --time_based";
    let running = Launch::fathom(directory.path()).words(limited).start();
    let mut most_open = 0;
    while open_files_below(running.pid(), directory.path()) == 0 {
        assert!(running.elapsed() < PATIENCE, "no file is opened");
    }
    for _ in 0..20 {
        most_open = most_open.max(open_files_below(running.pid(), directory.path()));
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!((1..=2).contains(&most_open), "{most_open} files are open");
    running.signal("INT");
    running.finish();
}

#[test]
fn a_locked_file_has_one_io_at_a_time() {
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    // Another program holds the lock for some time, in which the job must perform no I/O.
    let locked = std::fs::File::open(directory.path().join("data")).expect("open");
    locked.lock().expect("a lock");
    let words =
        "--name=a --filename=data --size=64k --bs=4k --rw=read --lockfile=exclusive --output-format=json";
    let running = Launch::fathom(directory.path()).words(words).start();
    wait_until("the file is opened", || open_files_below(running.pid(), directory.path()) > 0);
    // Much longer than the job must have waited, because it may start late.
    std::thread::sleep(std::time::Duration::from_secs(2));
    locked.unlock().expect("unlocked");
    let document = json::document(&running.finish().expect_clean().stdout);
    let job = &document["jobs"][0];
    assert_eq!(json::integer(job, "read/total_ios"), 16);
    assert!(json::integer(job, "job_runtime") >= 150, "{}", job["job_runtime"]);
    for mode in ["exclusive", "readwrite"] {
        let words = format!(
            "--name=a --filename=data --size=256k --bs=4k --rw=randrw --lockfile={mode} --ioengine=libaio --iodepth=4 --numjobs=3"
        );
        let document = run(directory.path(), &words);
        assert_eq!(
            json::total(&document, "read/total_ios") + json::total(&document, "write/total_ios"),
            192,
            "{mode}"
        );
    }
}

#[test]
fn files_are_made_anew_for_each_loop() {
    let directory = scratch();
    for (engine, rw) in
        [("psync", "write"), ("libaio --iodepth=4", "randrw"), ("io_uring --iodepth=4", "randread")]
    {
        let words = format!(
            "--name=a --ioengine={engine} --rw={rw} --nrfiles=2 --size=64k --bs=4k --loops=3 --unlink_each_loop=1"
        );
        let trace = require!(Trace::of(directory.path(), "unlink,unlinkat,openat", &words));
        let document = &trace.finished;
        assert_eq!(document.code(), 0, "{}{}", document.stdout, document.stderr);
        let removed =
            trace.calls.iter().filter(|call| call.starts_with("unlink") && call.contains("a.0.")).count();
        assert_eq!(removed, 4, "{engine}: two files after the first and the second loop");
        assert_eq!(
            std::fs::metadata(directory.path().join("a.0.1")).map(|found| found.len()).ok(),
            Some(32 * KIB)
        );
    }
}

#[test]
fn appended_writes_begin_where_the_file_ends() {
    let directory = scratch();
    let path = file_of(directory.path(), "data", 10_000);
    let before = std::fs::read(&path).expect("read");
    run(directory.path(), "--name=a --filename=data --size=64k --bs=4k --rw=write --file_append=1");
    let after = std::fs::read(&path).expect("read");
    assert_eq!(after.len() as u64, 10_000 + 64 * KIB);
    assert_eq!(after[..10_000], before);
    assert!(after[10_000..].chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)));
}

#[test]
fn files_below_a_directory_are_targets() {
    let directory = scratch();
    let tree = directory.path().join("tree/sub");
    std::fs::create_dir_all(&tree).expect("directories");
    file_of(&tree, "one", 64 * KIB);
    file_of(&directory.path().join("tree"), "two", 32 * KIB);
    let document = run(directory.path(), "--name=a --opendir=tree --bs=4k --rw=read");
    assert_eq!(json::integer(&document["jobs"][0], "read/io_bytes"), 96 * KIB);
    let empty = Launch::fathom(directory.path()).words("--name=a --opendir=missing --rw=read").run();
    assert!(empty.stderr.contains("there is no file below opendir=missing"), "{}", empty.stderr);
}

#[test]
fn the_kernel_gets_the_write_hint() {
    let directory = scratch();
    let words = "--name=a --filename=data --size=16k --bs=4k --rw=write --write_hint=short";
    let trace = require!(Trace::of(directory.path(), "fcntl", words));
    assert!(
        trace.calls.iter().any(|call| call.contains("F_SET_RW_HINT") || call.contains("0x40c")),
        "{:?}",
        trace.calls
    );
}

#[test]
fn a_barrier_waits_for_what_is_in_flight() {
    let directory = scratch();
    let words = "--name=a --ioengine=posixaio --iodepth=8 --filename=data --size=256k --bs=4k --rw=write --write_barrier=4";
    let mut ios = logged(directory.path(), words);
    ios.sort_by_key(|io| io.start);
    assert_eq!(ios.len(), 64);
    for barrier in (3..64).step_by(4) {
        let before = ios[..barrier].iter().map(|io| io.ended_ns).max().expect("there are some");
        assert!(before <= ios[barrier].issued_ns, "{barrier}: {before} after {:?}", ios[barrier]);
        if let Some(next) = ios.get(barrier + 1) {
            assert!(ios[barrier].ended_ns <= next.issued_ns, "{next:?} before the end of {:?}", ios[barrier]);
        }
    }
}
