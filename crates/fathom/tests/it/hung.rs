//! A device that stops answering: the report still comes in time, and names the stuck I/O.

use crate::hung_fs::{Faults, HungFs};
use crate::support::processes::OtherWork;
use crate::support::program::Launch;
use crate::support::{MIB, file_of, json, scratch};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Requests answered before the device hangs.
const ANSWERED: u64 = 50;
/// Time limit of the test.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Time limit of the report: long before the usual patience ends, and long after the deadline on a busy machine.
const LIMIT: Duration = Duration::from_secs(15);

fn job(fs: &HungFs, more: &str) -> String {
    let file = fs.file();
    format!(
        "--output-format=normal,json --patience=500ms --time_based --runtime=2 --bs=4k --size=1M \
         --name=hung --rw=read --filename={} {more} \
         --name=good --rw=read --filename=good --ioengine=psync --iodepth=1 --rate_iops=200",
        file.display()
    )
}

fn hang() -> Result<HungFs, String> {
    HungFs::mount(MIB, Faults { hang_after: Some(ANSWERED), ..Default::default() })
}

/// Runs a reader of a hung device together with one of a healthy file.
#[track_caller]
fn check(fs: &HungFs, more: &str) {
    let directory = scratch();
    file_of(directory.path(), "good", MIB);
    let finished = Launch::fathom(directory.path()).timeout(TIMEOUT).words(&job(fs, more)).run();

    assert!(finished.stdout_closed < LIMIT, "output was held for {:?}", finished.stdout_closed);
    assert!(finished.elapsed < LIMIT, "ended after {:?}", finished.elapsed);
    assert_ne!(finished.code(), 0, "a stuck I/O is no success: {}", finished.stdout);
    check_report(fs, &finished.stdout);
}

#[track_caller]
fn check_report(fs: &HungFs, stdout: &str) {
    let stuck = fs.hanging();
    assert!(!stuck.is_empty(), "nothing is stuck: {stdout}");

    let document = json::document(stdout);
    let hung = json::job(&document, "hung");
    assert_eq!(json::integer(hung, "read/clat_ns/N"), ANSWERED, "what was answered is counted");
    assert_ne!(json::integer(hung, "error"), 0);
    let good = json::job(&document, "good");
    assert_eq!(json::integer(good, "error"), 0);
    let ios = json::integer(good, "read/total_ios");
    // On a busy machine some of the last ones may be left undone.
    assert!((200..=410).contains(&ios), "{ios} I/Os in two seconds at 200 a second");

    let notes: Vec<&str> = stdout.lines().filter_map(|line| line.strip_prefix("note: ")).collect();
    assert!(!notes.is_empty(), "no note: {stdout}");
    assert_eq!(document["fathom notes"].as_array().map(Vec::len), Some(notes.len()));
    for asked in stuck {
        let offset = asked.offset.to_string();
        let named = |note: &&str| note.split(|c: char| !c.is_ascii_digit()).any(|number| number == offset);
        assert!(notes.iter().any(named), "no note names offset {offset}: {notes:?}");
    }
}

#[test]
fn synchronous_reads() {
    fathom_only!();
    check(&require!(hang()), "--ioengine=psync");
}

#[test]
fn libaio_reads() {
    fathom_only!();
    check(&require!(hang()), "--ioengine=libaio --direct=1 --iodepth=1");
}

#[test]
fn io_uring_reads() {
    fathom_only!();
    check(&require!(hang()), "--ioengine=io_uring --direct=1 --iodepth=1");
}

/// Answers every request except reads.
fn answer_no_read(mut stream: TcpStream) {
    let Ok(reading) = stream.try_clone() else { return };
    let mut is_read = false;
    for line in BufReader::new(reading).lines() {
        let Ok(line) = line else { return };
        is_read |= line.starts_with("GET");
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n";
        if line.is_empty() && !is_read && stream.write_all(head).is_err() {
            return;
        }
    }
}

/// When three programs compete for every processor, an engine that polls its server occasionally is mostly
/// runnable without a CPU. That does not count as progress.
#[test]
fn a_server_that_does_not_answer_a_busy_machine() {
    fathom_only!();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            std::thread::spawn(move || answer_no_read(stream));
        }
    });
    let directory = scratch();
    let _work = OtherWork::start();
    let words = format!(
        "--output-format=normal,json --patience=3s --time_based --runtime=1 --name=hung --ioengine=http --http_host={address} \
         --filename=/o --size=64k --bs=4k --rw=randread --iodepth=4"
    );
    let finished = Launch::fathom(directory.path()).timeout(TIMEOUT).words(&words).run();
    assert_ne!(finished.code(), 0, "{}", finished.stdout);
    assert!(finished.stdout.contains("I/Os do not return"), "{}\n{}", finished.stdout, finished.stderr);
}

#[test]
fn synchronous_writes() {
    fathom_only!();
    let fs = require!(hang());
    let directory = scratch();
    let words = format!(
        "--output-format=normal,json --patience=500ms --time_based --runtime=2 --name=hung --rw=write --bs=4k --size=1M \
         --overwrite=1 --filename={}",
        fs.file().display()
    );
    let finished = Launch::fathom(directory.path()).timeout(TIMEOUT).words(&words).run();
    assert!(finished.stdout_closed < LIMIT, "output was held for {:?}", finished.stdout_closed);
    assert_ne!(finished.code(), 0);
    let offset = fs.hanging()[0].offset.to_string();
    assert!(
        finished.stdout.lines().any(|line| line.starts_with("note: ") && line.contains(&offset)),
        "{}",
        finished.stdout
    );
}

/// A stuck thread keeps its process from ending, but does not delay the report.
#[test]
fn a_stuck_thread() {
    fathom_only!();
    let fs = require!(hang());
    let directory = scratch();
    file_of(directory.path(), "good", MIB);
    let mut running =
        Launch::fathom(directory.path()).timeout(TIMEOUT).words(&job(&fs, "--thread=1")).start();
    let (stdout, when) = running.wait_for_output(|text| text.contains("\nnote: "));
    assert!(when < LIMIT, "the report came after {when:?}");
    check_report(&fs, &stdout);
    drop(fs);
    assert_ne!(running.finish().code(), 0);
}

/// Normally the deadline ends such a run; an earlier signal must also end it.
#[test]
fn interrupted_while_stuck() {
    fathom_only!();
    let fs = require!(hang());
    let directory = scratch();
    let words = format!(
        "--output-format=normal,json --patience=500ms --name=hung --rw=read --bs=4k --size=1M --time_based --runtime=60 --filename={}",
        fs.file().display()
    );
    let running = Launch::fathom(directory.path()).timeout(TIMEOUT).words(&words).start();
    while fs.hanging().is_empty() && running.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(10));
    }
    let asked_at = running.elapsed();
    running.signal("INT");
    let finished = running.finish();
    let taken = finished.stdout_closed.saturating_sub(asked_at);
    assert!(taken < LIMIT, "the report came {taken:?} after the signal");
    assert_ne!(finished.code(), 0);
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "hung"), "read/clat_ns/N"), ANSWERED);
}
