//! Recording and replaying: the replay matches the recording, here and with an installed fio.

use crate::support::devices::Mounted;
use crate::support::program::{Launch, reference};
use crate::support::trace::Trace;
use crate::support::{MIB, file_of, json, scratch};
use std::path::Path;

/// One call of a replay: its name, offset and length.
pub(crate) type Call = (String, u64, u64);

/// Reads, writes, syncs and trims of files with this suffix, in order.
pub(crate) fn calls(trace: &Trace, file: &str) -> Vec<Call> {
    let marker = format!("{file}>");
    let on_file = trace.calls.iter().filter(|call| call.contains(&marker));
    on_file.filter_map(|call| described(call)).collect()
}

fn described(call: &str) -> Option<Call> {
    let (name, rest) = call.split_once('(')?;
    let arguments = rest.rsplit_once(')')?.0;
    let last: Vec<u64> = arguments.rsplit(", ").take(2).map_while(|word| word.parse().ok()).collect();
    match (name, last.as_slice()) {
        ("pread64" | "pwrite64", [offset, length]) => Some((name.to_owned(), *offset, *length)),
        ("fsync" | "fdatasync", _) => Some((name.to_owned(), 0, 0)),
        ("fallocate", [length, offset]) => Some((name.to_owned(), *offset, *length)),
        _ => None,
    }
}

pub(crate) const CALLS: &str = "pread64,pwrite64,fsync,fdatasync,fallocate";

/// The calls of a replay of this text.
fn replay(directory: &Path, log: &str, words: &str) -> Result<(Vec<Call>, Trace), String> {
    std::fs::write(directory.join("log"), log).expect("written");
    let words = format!("--name=r --read_iolog=log --output-format=json {words}");
    let trace = Trace::of(directory, CALLS, &words)?;
    Ok((calls(&trace, "data"), trace))
}

pub(crate) fn call(name: &str, offset: u64, length: u64) -> Call {
    (name.to_owned(), offset, length)
}

const LOG: &str = "fio version 3 iolog\n0 data add\n0 data open\n100 data read 8192 4096\n200 data write 20480 8192\n300 data sync 0 0\n\
                   400 data read 0 512\n500 data datasync 0 0\n600 data trim 65536 4096\n700 data close\n";

fn all_of_log() -> Vec<Call> {
    vec![
        call("pread64", 8192, 4096),
        call("pwrite64", 20480, 8192),
        call("fsync", 0, 0),
        call("pread64", 0, 512),
        call("fdatasync", 0, 0),
        call("fallocate", 65536, 4096),
    ]
}

#[test]
fn every_entry_is_done_in_its_order() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let words = "--replay_no_stall=1 --read_iolog_chunked=1 --invalidate=0";
    let (made, trace) = require!(replay(directory.path(), LOG, words));
    assert_eq!(made, all_of_log());
    let document = json::document(&trace.finished.stdout);
    let job = &document["jobs"][0];
    let counts = ["read", "write", "trim", "sync"].map(|word| json::integer(&job[word], "total_ios"));
    assert_eq!(counts, [2, 1, 1, 2]);
    assert_eq!(json::integer(&document["fathom replay"][0], "entries"), 6);
    assert_eq!(json::integer(&document["fathom replay"][0]["lateness_ns"], "N"), 0, "nothing has a time");
}

#[test]
fn options_move_and_drop_entries() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    file_of(directory.path(), "other-data", MIB);
    let words = "--replay_no_stall=1 --replay_scale=2 --replay_align=4k --replay_skip=trim,sync \
                 --replay_redirect=other-data --invalidate=0";
    let (made, _) = require!(replay(directory.path(), LOG, words));
    assert_eq!(made, [call("pread64", 4096, 4096), call("pwrite64", 8192, 8192), call("pread64", 0, 512)]);
    let untouched = std::fs::read(directory.path().join("data")).expect("there");
    assert!(untouched.iter().all(|byte| *byte == 0x5a), "everything went to the other file");
}

#[test]
fn a_log_is_fitted_into_its_target() {
    fathom_only!();
    built!("--name=a --read_iolog=log --replay_map=wrap:1m");
    let directory = scratch();
    file_of(directory.path(), "target", 2 * MIB);
    // The first file needs 3 MiB, and the second follows it.
    let log = "fio version 3 iolog\n0 one read 4096 4096\n0 one read 3141632 4096\n0 two write 8192 512\n";
    for (map, wanted) in [
        ("wrap:2m", [("pread64", 4096), ("pread64", 1_044_480), ("pwrite64", 1_056_768)]),
        ("scale:2m", [("pread64", 4096), ("pread64", 2_093_056), ("pwrite64", 1_056_768)]),
        ("scale:1m", [("pread64", 4096), ("pread64", 1_044_480), ("pwrite64", 8192)]),
        ("wrap:8m", [("pread64", 4096), ("pread64", 3_141_632), ("pwrite64", 3_153_920)]),
    ] {
        let words = format!("--replay_no_stall=1 --replay_redirect=target --replay_map={map} --invalidate=0");
        if map == "wrap:8m" {
            file_of(directory.path(), "target", 8 * MIB);
        }
        let (_, trace) = require!(replay(directory.path(), log, &words));
        let made = calls(&trace, "target");
        let wanted =
            wanted.map(|(name, offset)| call(name, offset, if name == "pwrite64" { 512 } else { 4096 }));
        assert_eq!(made, wanted, "{map}");
    }
    let run =
        |words: &str| Launch::fathom(directory.path()).words("--name=r --read_iolog=log").words(words).run();
    for (words, wanted) in [
        ("--replay_map=wrap:1m", "name that with replay_redirect="),
        ("--replay_redirect=target --replay_map=fold:1m", "scale:SIZE or wrap:SIZE"),
        ("--replay_redirect=target --replay_map=wrap:2k", "does not fit into the 2048 bytes"),
    ] {
        let finished = run(words);
        assert_ne!(finished.code(), 0, "{words}");
        assert!(finished.stderr.contains(wanted), "{words}: {}", finished.stderr);
    }
}

/// Return value of a call.
fn result_of(call: &str) -> u64 {
    call.rsplit("= ").next().and_then(|result| result.split(' ').next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn a_sync_waits_for_what_is_in_flight_and_holds_back_what_follows() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let block = |range: std::ops::Range<u64>| -> String {
        range.map(|number| format!("0 data write {} 4096\n", number * 4096)).collect()
    };
    let log = format!("fio version 3 iolog\n{}0 data sync 0 0\n{}", block(0..8), block(8..16));
    std::fs::write(directory.path().join("log"), log).expect("written");
    let words = "--name=r --read_iolog=log --ioengine=libaio --iodepth=16 --direct=1 --replay_no_stall=1 --iodepth_batch=4";
    let made = require!(Trace::of(directory.path(), "io_submit,io_getevents,fsync", words));
    assert_eq!(made.finished.code(), 0, "{}", made.finished.stderr);
    let (mut submitted, mut ended, mut syncs) = (0, 0, 0);
    for call in &made.calls {
        if call.starts_with("io_submit") {
            submitted += result_of(call);
        } else if call.starts_with("io_getevents") {
            ended += result_of(call);
        } else if call.starts_with("fsync") {
            syncs += 1;
            assert_eq!((submitted, ended), (8, 8), "{:?}", made.calls);
        }
    }
    assert_eq!((submitted, ended, syncs), (16, 16, 1), "{:?}", made.calls);
}

#[test]
fn times_are_kept_and_scaled() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let lines: String = (0..10)
        .map(|number| format!("{} data read {} 512\n", 1000 + number * 50_000, number * 512))
        .collect();
    std::fs::write(directory.path().join("log"), format!("fio version 3 iolog\n0 data add\n{lines}"))
        .expect("written");
    for (scale, shortest_ms) in [(100, 450), (50, 900), (300, 150)] {
        let words = format!("--name=r --read_iolog=log --output-format=json --replay_time_scale={scale}");
        let finished = Launch::fathom(directory.path()).words(&words).run().expect_clean();
        let document = json::document(&finished.stdout);
        let took = json::integer(&document["jobs"][0], "job_runtime");
        assert!(took >= shortest_ms, "{scale}: {took} ms");
        let lateness = &document["fathom replay"][0]["lateness_ns"];
        assert_eq!(json::integer(lateness, "N"), 10);
        assert!(json::integer(lateness, "min") <= json::integer(lateness, "max"));
        // Lateness does not accumulate: the run ends as late as its last I/O.
        let latest_ms = json::integer(lateness, "max") / 1_000_000;
        assert!(took <= shortest_ms + latest_ms + 2000, "{scale}: {took} ms");
    }
}

#[test]
fn a_wait_of_version_2_holds_back() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let log = "fio version 2 iolog\ndata add\ndata open\ndata read 0 4096\ndata wait 400 0\ndata read 4096 4096\ndata close\n";
    let (made, trace) = require!(replay(directory.path(), log, ""));
    assert_eq!(made, [call("pread64", 0, 4096), call("pread64", 4096, 4096)]);
    let document = json::document(&trace.finished.stdout);
    assert!(json::integer(&document["jobs"][0], "job_runtime") >= 400);
}

#[test]
fn broken_lines_and_logs_are_told() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    // A discard of a whole device is one of the whole target.
    let log = "fio version 3 iolog\n0 one read 0 4096\n0 one trim 4096 8589934592\n";
    file_of(directory.path(), "target", 2 * MIB);
    std::fs::write(directory.path().join("trims"), log).expect("written");
    let words = "--name=r --read_iolog=trims --replay_no_stall=1 --replay_redirect=target --replay_map=scale:2m --output-format=json";
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let trims = &json::job(&document, "r")["trim"];
    assert_eq!((json::integer(trims, "total_ios"), json::integer(trims, "io_bytes")), (1, 2 * MIB));
    let content = std::fs::read(directory.path().join("target")).expect("there");
    assert!(content.len() as u64 == 2 * MIB && content.iter().all(|byte| *byte == 0), "it is trimmed");
    let run = |log: &str, words: &str| {
        std::fs::write(directory.path().join("log"), log).expect("written");
        // --readonly must precede the job that it applies to.
        Launch::fathom(directory.path()).words(words).words("--name=r --read_iolog=log").run()
    };
    let broken =
        "fio version 3 iolog\n0 data add\nfoo\n1 data frob 0 1\n2 data wait 9 0\n3 data read 0 512\n";
    let finished = run(broken, "");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    for wanted in ["bad iolog3: foo", "line 3 ", "fio: bad iolog file action: frob", "line 4 ", "line 5 "] {
        assert!(finished.stderr.contains(wanted), "{wanted}: {}", finished.stderr);
    }
    let writes = "fio version 3 iolog\n0 data write 0 512\n";
    for (log, words, wanted) in [
        ("fio version 1 iolog\n", "", "iolog version 1 is no longer supported"),
        ("", "", "unable to read iolog"),
        ("fio version 3 iolog\n0 data add\n", "", "there is no I/O in it"),
        (writes, "--readonly", "fio: r skips replay of 1 writes due to read-only"),
    ] {
        let finished = run(log, words);
        assert_eq!(finished.code(), 1, "{log} {words}");
        assert!(finished.stderr.contains(wanted), "{wanted}: {}", finished.stderr);
    }
    let missing = Launch::fathom(directory.path()).words("--name=r --read_iolog=missing").run();
    assert!(missing.code() == 1 && missing.stderr.contains("fopen read iolog: No such file or directory"));
    let mixed = "fio version 3 iolog\n0 data write 0 512\n1 data read 0 512\n2 data trim 0 4096\n";
    let finished = run(mixed, "--readonly");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(
        finished.stderr.contains("fio: r skips replay of 1 trims due to read-only"),
        "{}",
        finished.stderr
    );
    let untouched = std::fs::read(directory.path().join("data")).expect("there");
    assert!(untouched.iter().all(|byte| *byte == 0x5a));
}

#[test]
fn logs_are_dealt_to_clones_and_streams_are_copied() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let log = |name: &str, count: u64| {
        let lines: String = (0..count).map(|number| format!("data read {} 512\n", number * 512)).collect();
        std::fs::write(directory.path().join(name), format!("fio version 2 iolog\n{lines}"))
            .expect("written");
    };
    log("one", 1);
    log("two", 2);
    let words = "--name=r --read_iolog=one:two --numjobs=3 --output-format=json";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    let document = json::document(&finished.stdout);
    let counts = [0, 1, 2].map(|clone| json::integer(&document["jobs"][clone]["read"], "total_ios"));
    assert_eq!(counts, [1, 2, 1]);
    let program = crate::support::program::path();
    let script =
        format!("cat two | {} --name=r --read_iolog=- --numjobs=2 --output-format=json", program.display());
    let finished =
        Launch::of(Path::new("sh"), directory.path()).argument("-c").argument(script).run().expect_clean();
    let document = json::document(&finished.stdout);
    let counts = [0, 1].map(|clone| json::integer(&document["jobs"][clone]["read"], "total_ios"));
    assert_eq!(counts, [2, 2]);
    let listener = std::os::unix::net::UnixListener::bind(directory.path().join("socket")).expect("a socket");
    let text = std::fs::read(directory.path().join("two")).expect("there");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a caller");
        std::io::Write::write_all(&mut stream, &text).expect("taken");
    });
    let words = "--name=r --read_iolog=socket --output-format=json";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    server.join().expect("served");
    assert_eq!(json::integer(&json::document(&finished.stdout)["jobs"][0]["read"], "total_ios"), 2);
}

/// Lines of a recording without their times, except for open and close.
fn recorded(directory: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join(name)).expect("a recording");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("fio version 3 iolog"));
    let mut last = 0;
    let rest = lines.map(|line| {
        let (time, rest) = line.split_once(' ').expect("a time");
        let time: u64 = time.parse().expect("microseconds");
        assert!(time >= last, "times do not go back: {line}");
        last = time;
        rest.to_owned()
    });
    rest.filter(|line| line.split(' ').count() > 2).collect()
}

#[test]
fn a_recording_is_what_fio_records() {
    built!("--name=a --write_iolog=log");
    let fio = require!(reference());
    let directory = scratch();
    let words = "--name=a --filename=data --size=256k --rw=write --bs=4k --fsync=5";
    Launch::fathom(directory.path()).words(words).words("--write_iolog=ours").run().expect_clean();
    Launch::of(&fio, directory.path()).words(words).words("--write_iolog=theirs").run();
    let (ours, theirs) = (recorded(directory.path(), "ours"), recorded(directory.path(), "theirs"));
    let data = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|line| !line.contains("sync")).cloned().collect()
    };
    assert_eq!(data(&ours), data(&theirs));
    assert!(ours.iter().any(|line| line.contains(" sync ") && line.ends_with(" 0")), "{ours:?}");
}

#[test]
fn recordings_go_both_ways() {
    built!("--name=a --write_iolog=log");
    let fio = require!(reference());
    let directory = scratch();
    let words =
        "--name=a --filename=data --size=128k --rw=randrw --bs=4k --fsync=4 --ioengine=libaio --iodepth=4";
    Launch::fathom(directory.path()).words(words).words("--write_iolog=ours").run().expect_clean();
    Launch::of(&fio, directory.path()).words(words).words("--write_iolog=theirs").run();
    for name in ["ours", "theirs"] {
        let lines = recorded(directory.path(), name);
        let wanted: Vec<Call> = lines
            .iter()
            .map(|line| {
                let fields: Vec<&str> = line.split(' ').collect();
                let number = |index: usize| fields[index].parse::<u64>().expect("a number");
                match fields[1] {
                    "read" => call("pread64", number(2), number(3)),
                    "write" => call("pwrite64", number(2), number(3)),
                    _ => call("fsync", 0, 0),
                }
            })
            .collect();
        let words =
            format!("--name=r --read_iolog={name} --replay_no_stall=1 --invalidate=0 --output-format=json");
        let ours = require!(Trace::of(directory.path(), CALLS, &words));
        assert_eq!(calls(&ours, "data"), wanted, "fathom replays {name}");
        let theirs = Launch::of(&fio, directory.path()).words(&words).run();
        let document = json::document(&theirs.stdout);
        let job = &document["jobs"][0];
        let moved = |word: &str, name: &str| {
            (
                json::integer(&job[word], "total_ios") as usize,
                wanted.iter().filter(|call| call.0 == name).count(),
            )
        };
        for (word, name) in [("read", "pread64"), ("write", "pwrite64")] {
            let (done, wanted) = moved(word, name);
            assert_eq!(done, wanted, "fio replays {name}: {word}");
        }
    }
}

#[test]
fn recordings_are_appended_and_replayed_one_after_the_other() {
    built!("--name=a --write_iolog=log");
    let directory = scratch();
    let words = "--name=a --filename=data --size=32k --rw=write --bs=4k --write_iolog=log";
    for _ in 0..2 {
        Launch::fathom(directory.path()).words(words).run().expect_clean();
    }
    let text = std::fs::read_to_string(directory.path().join("log")).expect("there");
    assert_eq!(text.matches("fio version 3 iolog").count(), 2);
    let words = "--name=r --read_iolog=log --output-format=json";
    for engine in ["psync", "libaio", "io_uring", "posixaio", "null", "mmap"] {
        let finished = Launch::fathom(directory.path())
            .words(words)
            .words(&format!("--ioengine={engine} --iodepth=8"))
            .run();
        assert_eq!(finished.code(), 0, "{engine}: {}", finished.stderr);
        let document = json::document(&finished.stdout);
        assert_eq!(json::integer(&document["jobs"][0]["write"], "total_ios"), 16, "{engine}");
        assert_eq!(json::integer(&document["jobs"][0]["write"], "io_bytes"), 65536, "{engine}");
    }
}

#[test]
fn a_mounted_disk_is_not_written_whoever_names_it() {
    built!("--name=a --read_iolog=log");
    let mounted = require!(Mounted::new("ext4", 16 * MIB));
    let directory = scratch();
    let device = mounted.device().expect("a device").display().to_string();
    let log = format!("fio version 3 iolog\n0 {device} add\n0 {device} write 0 512\n");
    std::fs::write(directory.path().join("log"), log).expect("written");
    for words in ["--name=r --read_iolog=log", "--name=r --read_iolog=log --create_serialize=0"] {
        let finished = Launch::fathom(directory.path()).words(words).run();
        assert_eq!(finished.code(), 1);
        assert!(finished.stderr.contains(&format!("{device} appears mounted")), "{}", finished.stderr);
    }
}

#[test]
fn a_long_log_takes_no_more_memory() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    let mut log = String::from("fio version 3 iolog\n0 d add\n");
    for number in 0..2_000_000u64 {
        log.push_str(&format!("{number} d read {} 4096\n", number * 4096));
    }
    std::fs::write(directory.path().join("log"), log).expect("written");
    // As entries in memory it would take 64 MB; the limit applies per process.
    let program = crate::support::program::path();
    let script = format!(
        "ulimit -d 32768; exec {} --name=r --read_iolog=log --ioengine=null --replay_no_stall=1 --output-format=json",
        program.display()
    );
    let finished =
        Launch::of(Path::new("sh"), directory.path()).argument("-c").argument(script).run().expect_clean();
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(&document["jobs"][0]["read"], "total_ios"), 2_000_000);
}

#[test]
fn range_syncs_reach_the_kernel() {
    built!("--name=a --write_iolog=log");
    let directory = scratch();
    let words =
        "--name=a --filename=data --size=32k --rw=write --bs=4k --sync_file_range=write:2 --write_iolog=log";
    Launch::fathom(directory.path()).words(words).run().expect_clean();
    let made = require!(Trace::of(directory.path(), "sync_file_range", "--name=r --read_iolog=log"));
    assert_eq!(made.finished.code(), 0, "{}", made.finished.stderr);
    let (looks, syncs): (Vec<&str>, Vec<&str>) =
        made.on("sync_file_range", "data").partition(|call| call.contains(", SYNC_FILE_RANGE_WAIT_BEFORE)"));
    assert_eq!(looks.len(), 1, "errors of earlier writes are asked for once: {looks:?}");
    assert!(syncs.len() == 3 && syncs.iter().all(|call| call.contains("SYNC_FILE_RANGE_WRITE")), "{syncs:?}");
}
