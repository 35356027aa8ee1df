//! Logs and reports without a reader: a run can still be stopped, and what is read later is complete.

use crate::support::program::{self, Launch, Running};
use crate::support::{json, processes, scratch, wait_until};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

fn named_pipe(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo runs").success());
    path
}

#[test]
fn a_log_without_a_reader_does_not_keep_the_run_from_being_stopped() {
    fathom_only!();
    let directory = scratch();
    named_pipe(directory.path(), "l_bw.1.log");
    let running = Launch::fathom(directory.path())
        .words("--name=a --ioengine=null --rw=read --size=1M --bs=4k --write_bw_log=l")
        .start();
    running.wait_for_sleeps(10);
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code(), 128, "{}", finished.stderr);
    assert!(
        finished.stderr.contains("the log l_bw.1.log is a named pipe; waiting for its reader"),
        "{}",
        finished.stderr
    );
}

#[test]
fn readers_of_named_pipes_may_come_late() {
    let directory = scratch();
    let (log, report) = (named_pipe(directory.path(), "l_bw.1.log"), named_pipe(directory.path(), "report"));
    let running = Launch::fathom(directory.path())
        .words("--output=report --output-format=json --name=a --ioengine=null --rw=read --size=1M --bs=4k")
        .words("--write_bw_log=l")
        .start();
    let read = |path: PathBuf| {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            std::fs::read_to_string(path).expect("it can be read")
        })
    };
    let (report, log) = (read(report), read(log));
    let finished = running.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let document = json::document(&report.join().expect("read"));
    assert_eq!(json::integer(json::job(&document, "a"), "read/total_ios"), 256);
    assert!(!log.join().expect("read").is_empty());
}

/// A report every 50 ms fills the pipe, which has no reader.
#[test]
fn a_reader_that_does_not_read_does_not_keep_the_run_from_being_stopped() {
    fathom_only!();
    let directory = scratch();
    let mut child = Command::new(program::path())
        .current_dir(directory.path())
        .args("--output-format=json --status-interval=50ms --name=a --ioengine=null --rw=read".split(' '))
        .args("--size=1G --bs=4k --rate_iops=1000 --time_based --runtime=600 --numjobs=8".split(' '))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    wait_until("it starts its workers", || processes::descendants(child.id()).len() >= 8);
    std::thread::sleep(Duration::from_secs(1));
    processes::signal(child.id(), "INT");
    wait_until("its workers end", || processes::descendants(child.id()).is_empty());
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text).expect("it can be read");
    assert_eq!(child.wait().expect("it ends").code(), Some(128));
    assert!(text.len() > 1 << 16, "{} bytes fit into a pipe", text.len());
    assert!(text.trim_end().ends_with('}'), "the last report is whole");
}

#[test]
fn a_second_ctrl_c_gives_up_a_report_that_nobody_reads() {
    fathom_only!();
    let directory = scratch();
    let mut child = Command::new(program::path())
        .current_dir(directory.path())
        .args(
            "--output-format=json+ --name=a --ioengine=null --rw=randrw --size=1M --bs=4k --numjobs=40"
                .split(' '),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut report = child.stdout.take().expect("piped");
    report.read_exact(&mut [0]).expect("the report begins");
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(300));
        processes::signal_and_see(child.id(), "INT");
    }
    wait_until("it ends", || child.id() > 0 && !processes::runs(child.id()));
    assert_ne!(child.wait().expect("it ends").code(), Some(0));
}

/// The job has ended when the signal arrives, and the rest of its log exceeds the capacity of a pipe.
fn interrupted_at_its_log(directory: &Path) -> (Running, std::fs::File) {
    let log = named_pipe(directory, "l_clat.1.log");
    let running = Launch::fathom(directory)
        .words("--patience=600 --name=a --ioengine=null --rw=read --size=40M --bs=4k --write_lat_log=l")
        .start();
    let mut reader = std::fs::File::open(log).expect("the log is opened");
    reader.read_exact(&mut [0]).expect("the log begins");
    wait_until("its job ends", || processes::descendants(running.pid()).len() == 1);
    running.signal("INT");
    running.wait_for_message("a second signal gives them up");
    (running, reader)
}

#[test]
fn a_first_ctrl_c_waits_for_logs_that_are_still_written() {
    fathom_only!();
    let directory = scratch();
    let (running, mut reader) = interrupted_at_its_log(directory.path());
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("it can be read");
    let finished = running.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_eq!(text.lines().count(), 10_240);
}

#[test]
fn a_second_ctrl_c_gives_up_a_log_that_nobody_reads() {
    fathom_only!();
    let directory = scratch();
    let (running, _reader) = interrupted_at_its_log(directory.path());
    running.signal("INT");
    let finished = running.finish();
    assert_ne!(finished.code(), 0, "logs were lost");
    assert!(finished.stderr.contains("the logs are incomplete"), "{}", finished.stderr);
}
