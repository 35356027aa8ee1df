//! Effects of a job on its files and its host other than I/O, and consequences of errors.

use crate::support::program::{Finished, Launch};
use crate::support::trace::Trace;
use crate::support::{json, scratch};

fn trace(calls: &str, words: &str) -> Result<Trace, String> {
    let directory = scratch();
    Trace::of(directory.path(), calls, &format!("--name=a --size=64k --bs=4k {words}"))
}

#[test]
fn files_are_synced_when_asked_for() {
    for (words, call, expected) in [
        ("--rw=read --create_fsync=1", "fsync", 1),
        ("--rw=read --create_fsync=0", "fsync", 0),
        ("--rw=write --end_syncfs=1", "syncfs", 1),
        ("--rw=write", "syncfs", 0),
        ("--rw=write --nrfiles=4 --fsync_on_close=1", "fsync", 4),
        // One file is open at a time; three are closed during the run.
        ("--rw=write --nrfiles=4 --openfiles=1 --fsync_on_close=1", "fsync", 4),
        ("--rw=write --nrfiles=4", "fsync", 0),
        // The range after the last write is left to the final syncs.
        ("--rw=write --sync_file_range=write:4", "sync_file_range", 3),
    ] {
        let trace = require!(trace(call, words));
        // At the end of each file, errors of earlier writes are queried, which writes nothing.
        let looks = trace.calls.iter().filter(|call| call.contains(", SYNC_FILE_RANGE_WAIT_BEFORE)")).count();
        assert_eq!(looks, usize::from(call == "sync_file_range"), "{words}: {:?}", trace.calls);
        assert_eq!(trace.count(call) - looks, expected, "{words}");
    }
}

#[test]
fn the_kernel_is_told_the_access_pattern() {
    for (hint, expected) in [
        ("0", None),
        ("1", Some("POSIX_FADV_RANDOM")),
        ("random", Some("POSIX_FADV_RANDOM")),
        ("sequential", Some("POSIX_FADV_SEQUENTIAL")),
        ("noreuse", Some("POSIX_FADV_NOREUSE")),
    ] {
        let trace =
            require!(trace("fadvise64", &format!("--rw=randread --invalidate=0 --fadvise_hint={hint}")));
        let hints: Vec<&String> = trace.calls.iter().filter(|call| call.contains("/a.0.0>")).collect();
        let told = |hint: &str| hints.iter().any(|call| call.contains(hint));
        match expected {
            Some(expected) => assert!(told(expected), "{hint}: {hints:?}"),
            None => assert!(!told("RANDOM") && !told("SEQUENTIAL") && !told("NOREUSE"), "{hints:?}"),
        }
    }
}

#[test]
fn files_are_read_before_the_run() {
    for (words, expected) in [("--pre_read=1", 1), ("", 0)] {
        let trace = require!(trace("pread64", &format!("--rw=write --overwrite=1 {words}")));
        assert_eq!(
            trace.on("pread64", "/a.0.0").filter(|call| call.contains(", 65536, 0)")).count(),
            expected
        );
    }
}

#[test]
fn the_last_of_buffered_and_direct_counts() {
    for (words, direct) in
        [("--buffered=0", true), ("--direct=1 --buffered=1", false), ("--buffered=1 --direct=1", true)]
    {
        let trace = require!(trace("openat", &format!("--rw=write {words}")));
        assert_eq!(trace.calls.iter().any(|call| call.contains("O_DIRECT|")), direct, "{words}");
    }
}

#[test]
fn priorities_carry_their_hint() {
    let trace = require!(trace("ioprio_set", "--rw=write --prioclass=2 --prio=1 --priohint=3"));
    // The hint follows the three bits of the level: 3 * 8 + 1.
    assert!(trace.calls.iter().any(|call| call.contains("25")), "{:?}", trace.calls);
}

/// Runs jobs of which the first fails or ends.
fn jobs(words: &str) -> Finished {
    let directory = scratch();
    Launch::fathom(directory.path()).words("--output-format=json --bs=4k").words(words).run()
}

#[test]
fn a_failed_job_ends_the_others() {
    let runtime = |words: &str, seconds: u32| {
        let words = format!(
            "--name=bad --filename=/dev/full --rw=write --size=4k {words} --name=good --ioengine=null --rw=read --size=1G \
             --rate_iops=100 --time_based --runtime={seconds}"
        );
        let finished = jobs(&words);
        assert_eq!(finished.code(), 1);
        json::integer(json::job(&json::document(&finished.stdout), "good"), "job_runtime")
    };
    assert!(runtime("", 2) >= 1_990);
    assert!(runtime("--exitall_on_error", 90) < 80_000);
}

#[test]
fn errors_are_survived_by_name_and_shown_if_asked_for() {
    let words = "--name=a --filename=/dev/full --rw=write --size=16k";
    for (more, code, shown) in [
        ("", 1, 1),
        ("--ignore_error=,ENOSPC", 0, 0),
        ("--ignore_error=,28", 0, 0),
        ("--ignore_error=ENOSPC", 1, 1),
        ("--ignore_error=,ENOSPC --error_dump=1", 0, 4),
    ] {
        let finished = jobs(&format!("{words} {more}"));
        let lines = finished.stderr.lines().filter(|line| line.contains("io_u error on file")).count();
        assert_eq!((finished.code(), lines), (code, shown), "{more}: {}", finished.stderr);
        // Failed I/O was issued, but gives no rate.
        let document = json::document(&finished.stdout);
        let job = json::job(&document, "a");
        let [ios, ms, latencies] =
            ["total_ios", "runtime", "clat_ns/N"].map(|key| json::integer(job, &format!("write/{key}")));
        assert_eq!((ios, ms, latencies), (if code == 0 { 4 } else { 1 }, 0, 0), "{more}");
        assert_eq!(job["write"]["iops"].as_f64(), Some(0.0), "{more}");
        assert_eq!(json::integer(job, "error"), 28, "{more}");
    }
}

#[test]
fn who_ends_with_the_first() {
    for (what, others_end) in [("group", false), ("stonewall", true), ("all", true)] {
        let words = format!(
            "--ioengine=null --rw=read --size=1G --rate_iops=100 --time_based --runtime=8 --exit_what={what} \
             --name=short --runtime=100ms --exitall --name=peer --name=other --new_group"
        );
        let document = json::document(&jobs(&words).stdout);
        let early = |name| json::integer(json::job(&document, name), "job_runtime") < 7_900;
        assert_eq!((early("peer"), early("other")), (true, others_end), "{what}");
    }
}

#[test]
fn later_stages_run_unless_all_is_ended() {
    for (what, runs) in [("stonewall", true), ("all", false)] {
        let words = format!(
            "--ioengine=null --rw=read --size=1G --rate_iops=100 --time_based --runtime=1500ms --exit_what={what} \
             --name=short --runtime=100ms --exitall --name=peer --name=later --stonewall --runtime=100ms"
        );
        let document = json::document(&jobs(&words).stdout);
        let later = json::total(&document, "read/total_ios");
        let ran = json::integer(json::job(&document, "later"), "read/total_ios") > 0;
        assert_eq!(ran, runs, "{what}: {later} I/Os in all");
    }
}

#[test]
fn niceness_and_processors_are_set() {
    let trace = require!(trace("setpriority,sched_setaffinity", "--rw=write --nice=7 --cpumask=1"));
    let has =
        |name: &str, text: &str| trace.calls.iter().any(|call| call.starts_with(name) && call.contains(text));
    assert!(has("setpriority(", ", 7)"), "{:?}", trace.calls);
    assert!(has("sched_setaffinity(", "[0]"), "{:?}", trace.calls);
}

#[test]
fn the_log_writer_has_its_processors() {
    let words = "--rw=write --write_lat_log=l --log_store_compressed=1 --log_compression=64k --log_compression_cpus=0";
    let trace = require!(trace("sched_setaffinity", words));
    assert!(trace.calls.iter().any(|call| call.contains("[0]")), "{:?}", trace.calls);
}

#[test]
fn atomic_writes_are_direct_and_marked() {
    let trace = require!(trace("openat,pwritev2", "--rw=write --ioengine=pvsync2 --atomic=1"));
    assert!(
        trace.calls.iter().any(|call| call.contains("/a.0.0") && call.contains("O_DIRECT|")),
        "{:?}",
        trace.calls
    );
    let mut writes = trace.on("pwritev2", "/a.0.0").peekable();
    // The file system may refuse the write, but it must be requested (RWF_ATOMIC is 0x40).
    assert!(
        writes.peek().is_some() && writes.all(|call| call.contains("0x40") || call.contains("RWF_ATOMIC"))
    );
}
