//! Writing ledgers: where they may be, their content and its order, and checking several together.

use crate::support::devices::Mounted;
use crate::support::program::{Finished, Launch};
use crate::support::trace::Trace;
use crate::support::{processes, scratch};
use std::path::Path;

const JOB: &str = "--name=job --filename=data --size=256k --bs=4k --verify=crc32c";

fn run(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words(words).run()
}

fn ledger(words: &str) -> Finished {
    Launch::fathom(Path::new("/")).words("ledger").words(words).run()
}

/// Checks ledgers; returns the output, after verifying the exit code.
#[track_caller]
fn check(words: &str, code: i32) -> String {
    let finished = ledger(&format!("check {words}"));
    assert_eq!(finished.code(), code, "{words}: {}{}", finished.stdout, finished.stderr);
    finished.stdout + &finished.stderr
}

#[test]
fn places_that_cannot_hold_a_ledger_are_refused() {
    fathom_only!();
    let target = require!(Mounted::memory(4 << 20));
    let elsewhere = scratch();
    let elsewhere = elsewhere.path().display();
    let same = target.path().join("ledger").display().to_string();
    for (place, reason) in [
        (same.as_str(), "it would be on the same storage as data"),
        (&format!("{elsewhere}/no/ledger"), "create the directory first"),
        ("tcp:127.0.0.1:1", "fathom ledger receive --listen=127.0.0.1:1"),
        ("tcp:127.0.0.1", "a file, or tcp:HOST:PORT"),
    ] {
        let finished = run(target.path(), &format!("{JOB} --rw=write --verify_ledger={place}"));
        assert_eq!(finished.code(), 1, "{place}");
        assert!(finished.stderr.contains(reason), "{place}: {}", finished.stderr);
    }
    let words = format!("{JOB} --rw=write --verify_ledger={elsewhere}/ledger");
    run(target.path(), &words).expect_clean();
    let again = run(target.path(), &words);
    assert_eq!(again.code(), 1);
    assert!(again.stderr.contains("a ledger is evidence"), "{}", again.stderr);
    check(&format!("{elsewhere}/ledger"), 0);
}

#[test]
fn records_surround_each_write_and_sync() {
    fathom_only!();
    let target = require!(Mounted::memory(4 << 20));
    let ledgers = scratch();
    let path = ledgers.path().join("ledger");
    let words = format!(
        "{JOB} --rw=write --ioengine=psync --fsync=8 --end_fsync=1 --do_verify=0 --verify_ledger={}",
        path.display()
    );
    let trace = require!(Trace::of(target.path(), "write,pwrite64,fsync", &words));
    assert_eq!(trace.finished.code(), 0, "{}", trace.finished.stderr);
    let is_record = |call: &&String| call.starts_with("write(") && call.contains("/ledger>");
    let is_io = |call: &&String| call.contains("/data>") && !call.starts_with("write(");
    let order: String = trace
        .calls
        .iter()
        .filter(|call| is_record(call) || is_io(call))
        .map(|call| if is_record(&call) { 'r' } else { 'd' })
        .collect();
    // The start, then each I/O between two records, then the end.
    let ios = 64 + 7 + 1;
    let from = order.find('r').expect("a record");
    assert_eq!(order[from..], format!("r{}r", "rdr".repeat(ios)));

    let shown = ledger(&format!("show {}", path.display())).expect_clean().stdout;
    let count = |text: &str| shown.lines().filter(|line| line.contains(text)).count();
    assert_eq!(
        (count(" write="), count(" fsync file=0"), count(" ended "), count(" job ended")),
        (64, 8, 72, 1)
    );
    assert!(shown.contains("start job job clone 1 verify=crc32c boot "), "{shown}");
    let text = check(&path.display().to_string(), 0);
    assert!(
        text.contains("64 writes issued, 64 acknowledged, 0 failed, 64 promised; 8 syncs; the job ended"),
        "{text}"
    );
    assert!(
        text.contains("Checked 262144 bytes in 64 places; nothing was promised for 0 more bytes"),
        "{text}"
    );
}

#[test]
fn sync_file_range_promises_nothing_and_synchronous_writes_need_no_sync() {
    fathom_only!();
    let target = require!(Mounted::memory(4 << 20));
    let ledgers = scratch();
    let promises = |name: &str, count: u64, words: &str| {
        let path = ledgers.path().join(name).display().to_string();
        run(target.path(), &format!("{JOB} --rw=write --do_verify=0 --verify_ledger={path} {words}"))
            .expect_clean();
        // A check of nothing says nothing about the storage.
        let text = check(&path, if count == 0 { 3 } else { 0 });
        let (before, _) = text.split_once(" promised; ").expect("a figure");
        let told = before.rsplit(' ').next().and_then(|figure| figure.parse::<u64>().ok());
        assert_eq!(told, Some(count), "{words}: {text}");
    };
    promises("none", 0, "");
    promises("range", 0, "--sync_file_range=wait_before,write,wait_after:8");
    promises("data", 48, "--fdatasync=16");
    promises("file_system", 64, "--end_syncfs=1");
    promises("dsync", 64, "--sync=dsync");
    promises("sync", 64, "--sync=1");
    // Writes to a mapping are not synchronous, regardless of the flags with which the file was opened.
    promises("mapped", 0, "--sync=1 --ioengine=mmap");
}

#[test]
fn what_is_broken_is_told_with_the_write_and_the_sync() {
    fathom_only!();
    let target = require!(Mounted::memory(4 << 20));
    let ledgers = scratch();
    let path = ledgers.path().join("ledger").display().to_string();
    let data = target.path().join("data");
    let words = format!("{JOB} --rw=write --loops=2 --do_verify=0 --fsync=16 --verify_ledger={path}");
    run(target.path(), &words).expect_clean();
    let mut bytes = std::fs::read(&data).expect("the file was written");
    bytes.copy_within(8192..12288, 4096);
    bytes.truncate(bytes.len() - 100_000);
    std::fs::write(&data, &bytes).expect("the file can be written");
    let text = check(&path, 1);
    for wanted in [
        "offset 4096, 4096 bytes: broken promise, first wrong byte 4096",
        "promised: write 65 of job job, clone 1, issued ",
        "because:  fsync (number ",
        "found:    misdirected write: write number 66 for offset 8192 is here",
        "short: the file ends before the end of this place",
        "promises were broken.",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in: {text}");
    }
    // The file at another location, and missing.
    let moved = ledgers.path().join("moved");
    std::fs::rename(&data, &moved).or_else(|_| std::fs::copy(&data, &moved).map(drop)).expect("a copy");
    std::fs::remove_file(&data).expect("the file is there");
    assert!(check(&path, 2).contains("mount its file system, or give its current path with --file="));
    let option = format!("--file={}={}", data.display(), moved.display());
    assert!(check(&format!("{option} {path}"), 1).contains("misdirected"));
    assert!(check(&format!("--file=nothing=here {path}"), 2).contains("no ledger has a file of that name"));
}

#[test]
fn ledgers_over_one_file_are_checked_together() {
    fathom_only!();
    let target = require!(Mounted::memory(4 << 20));
    let ledgers = scratch();
    let path = ledgers.path().join("ledger").display().to_string();
    let words = format!(
        "--filename=data --size=256k --bs=4k --verify=md5 --do_verify=0 --end_fsync=1 --rw=randwrite \
         --verify_ledger={path} --name=first --numjobs=2 --name=second --stonewall"
    );
    let finished = run(target.path(), &words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let text = check(&format!("{path}.1 {path}.2 {path}.3"), 0);
    assert!(text.contains("job second, clone 3: 64 writes issued"), "{text}");
    assert!(text.contains("Checked 262144 bytes in 64 places"), "{text}");
    // On its own, the first ledger does not show that other writes came later.
    assert!(check(&format!("{path}.1"), 1).contains("wrong file: clone 3 wrote this block"));
    check(&format!("{path}.3"), 0);
}

#[test]
fn trims_take_promises_back() {
    fathom_only!();
    let target = require!(Mounted::memory(4 << 20));
    let ledgers = scratch();
    for (index, words) in [
        "--rw=randwrite --fsync=8 --trim_percentage=50 --trim_backlog=16 --verify_backlog=32",
        "--rw=randtrimwrite --fsync=8",
    ]
    .into_iter()
    .enumerate()
    {
        let path = ledgers.path().join(index.to_string()).display().to_string();
        let words = format!("{JOB} --norandommap --loops=2 --verify_ledger={path} {words}");
        let finished = run(target.path(), &words);
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        check(&path, 0);
        check(&format!("--after=kill {path}"), 0);
        assert!(ledger(&format!("show {path}")).stdout.contains(" trim file=0"), "{words}");
    }
}

#[test]
fn another_host_takes_ledgers() {
    fathom_only!();
    let target = require!(Mounted::memory(4 << 20));
    let ledgers = scratch();
    let path = ledgers.path().join("ledger").display().to_string();
    // A port that was unused a moment ago.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr()).expect("a port").port();
    let receiver = Launch::fathom(Path::new("/"))
        .words(&format!("ledger receive --listen=127.0.0.1:{port} --clones=2 {path}"))
        .start();
    while !Path::new(&format!("{path}.1")).exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(processes::runs(receiver.pid()), "{}", receiver.finish().stderr);
    }
    let words = format!(
        "{JOB} --rw=randwrite --fsync=8 --numjobs=2 --filename_format=data.$jobnum --verify_ledger=tcp:127.0.0.1:{port}"
    )
    .replace("--filename=data ", "");
    run(target.path(), &words).expect_clean();
    let finished = receiver.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let text = check(&format!("{path}.1 {path}.2"), 0);
    assert_eq!(text.matches("64 writes issued, 64 acknowledged").count(), 2, "{text}");
}

#[test]
fn a_ledger_that_cannot_go_on_ends_the_job() {
    fathom_only!();
    let target = require!(Mounted::memory(4 << 20));
    let small = require!(Mounted::memory(8192));
    let path = small.path().join("ledger").display().to_string();
    let words = format!("{JOB} --rw=write --fsync=4 --do_verify=0 --loops=9 --verify_ledger={path}");
    let finished = run(target.path(), &words);
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("cannot be written any more: No space left"), "{}", finished.stderr);
    let text = check(&path, 0);
    assert!(text.contains("the job was cut off"), "{text}");
    assert!(text.contains("bytes: an incomplete record"), "{text}");
}
