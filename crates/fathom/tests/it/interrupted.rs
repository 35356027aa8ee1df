//! Ctrl-C and similar signals: the run ends immediately, with a complete report.

use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, file_of, json, processes, scratch};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Starts a long job, sends the signal after a thousand I/Os, and checks the properties common to all endings
/// by a signal.
#[track_caller]
fn interrupt(signal: &str, number: u32, more: &str) -> Finished {
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let words = format!(
        "--output-format=normal --name=long --rw=randread --bs=4k --size=1M --filename=data --time_based \
         --runtime=600 --rate_iops=1000 {more}"
    );
    let running = Launch::fathom(directory.path()).words(&words).start();
    running.wait_for_sleeps(1_000);
    running.signal(signal);
    let asked_at = running.elapsed();
    let finished = running.finish();
    let taken = finished.stdout_closed.saturating_sub(asked_at);
    assert!(taken < Duration::from_secs(60), "the report came {taken:?} after the signal");
    assert_eq!(finished.code(), 128, "{}", finished.stdout);
    assert!(
        finished.stdout.contains(&format!("\nfio: terminating on signal {number}\n")),
        "{}",
        finished.stdout
    );
    finished
}

#[test]
fn ctrl_c() {
    let finished = interrupt("INT", 2, "");
    assert!(finished.stdout.contains("\nlong: (groupid=0, jobs=1): err= 0: pid="), "{}", finished.stdout);
    assert!(
        finished.stdout.contains("\nRun status group 0 (all jobs):\n   READ: bw="),
        "{}",
        finished.stdout
    );
}

#[test]
fn termination() {
    interrupt("TERM", 15, "");
}

#[test]
fn threads() {
    interrupt("INT", 2, "--thread=1 --numjobs=3 --group_reporting");
}

#[test]
fn a_job_that_waits() {
    let finished = interrupt("INT", 2, "--name=later --stonewall --filename=data");
    assert!(finished.stdout.contains("\nlong: (groupid=0"), "{}", finished.stdout);
    assert!(!finished.stdout.contains("\nlater: (groupid=1"), "{}", finished.stdout);
}

#[test]
fn figures_up_to_then() {
    let directory = scratch();
    let words = "--output-format=json --name=long --ioengine=null --rw=read --bs=4k --size=1G --time_based \
                 --runtime=60 --rate_iops=1000";
    let running = Launch::fathom(directory.path()).words(words).start();
    running.wait_for_sleeps(1_200);
    running.signal("INT");
    let finished = running.finish();
    // On a busy machine the signal reaches the clone late.
    let most = finished.elapsed.as_millis() as u64 + 10;
    let document = json::document(&finished.stdout);
    let ios = json::integer(json::job(&document, "long"), "read/total_ios");
    assert!((1_000..most).contains(&ios), "{ios} I/Os, {most} at most at 1000 a second");
    assert_eq!(finished.code(), 128);
}

#[test]
fn the_ramp() {
    let finished = interrupt("INT", 2, "--ramp_time=300");
    let rate = finished.stdout.split("IOPS=").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("");
    let rate: f64 = rate.parse().unwrap_or_else(|_| panic!("{}", finished.stdout));
    assert!((500.0..1_500.0).contains(&rate), "{rate} IOPS at 1000 a second");
}

#[test]
fn the_layout() {
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    for name in ["new", "data"] {
        let words = format!(
            "--output-format=normal --name=job --rw=read --filename={name} --size=40G --fallocate=none"
        );
        let mut running = Launch::fathom(directory.path()).words(&words).start();
        running.wait_for_output(|text| text.contains("Laying out"));
        running.signal("INT");
        let finished = running.finish();
        assert_eq!(finished.code(), 128, "{}", finished.stdout);
        // Existing files stay, and no file of the full size appears.
        let size = std::fs::metadata(directory.path().join(name)).map_or(0, |found| found.len());
        assert_eq!(size, if name == "data" { MIB } else { 0 });
    }
}

#[test]
fn when_the_jobs_are_over() {
    fathom_only!();
    let directory = scratch();
    let words = "--output-format=json+ --name=job --ioengine=null --rw=randrw --bs=4k --size=1M --numjobs=40";
    for signal in ["INT", "TERM", "USR1"] {
        let mut child = Command::new(program::path())
            .current_dir(directory.path())
            .args(words.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut report = child.stdout.take().expect("piped");
        let mut text = vec![0; 1];
        report.read_exact(&mut text).expect("the report begins");
        // The report is larger than a pipe's capacity, so the program waits for its reader.
        processes::signal(child.id(), signal);
        report.read_to_end(&mut text).expect("it can be read");
        assert!(text.len() > 1 << 17, "{} bytes", text.len());
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(if signal == "USR1" { 0 } else { 128 }), "{signal}: {status}");
        let document = json::document(&String::from_utf8_lossy(&text));
        assert_eq!(document["jobs"].as_array().map(Vec::len), Some(40), "{signal}");
    }
}

#[test]
fn signals_to_every_process_of_the_run() {
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let words = "--output-format=normal --name=long --rw=randread --size=1M --filename=data --time_based \
                 --runtime=60 --rate_iops=1000 --numjobs=2";
    let mut running = Launch::fathom(directory.path()).words(words).start();
    running.wait_for_sleeps(500);
    for name in ["USR1", "TERM"] {
        for worker in processes::descendants(running.pid()) {
            processes::signal(worker, name);
        }
        std::thread::sleep(Duration::from_millis(100));
        running.signal(name);
        running.wait_for_output(|text| text.matches("err= 0: pid=").count() >= 2);
    }
    let finished = running.finish();
    assert_eq!(finished.code(), 128, "{}", finished.stdout);
    // The report requested by SIGUSR1, and the final one, of two workers each.
    assert_eq!(finished.stdout.matches("err= 0: pid=").count(), 4, "{}", finished.stdout);
    assert!(!finished.stdout.contains("got signal"), "{}", finished.stdout);
}

#[test]
fn a_file_asks_for_a_report() {
    let directory = scratch();
    let script = format!(
        "TMPDIR={} exec {} --name=a --ioengine=null --size=1G --bs=4k --rw=read --rate_iops=100 --time_based --runtime=4",
        directory.path().display(),
        program::path().display()
    );
    let launch = Launch::of(Path::new("/bin/sh"), directory.path()).argument("-c").argument(script);
    let request = directory.path().join("fio-dump-status");
    let mut running = launch.start();
    // A report from before the start would not include the job.
    running.wait_for_sleeps(30);
    std::fs::write(&request, "").expect("written");
    running.wait_for_output(|text| text.contains("read: IOPS="));
    assert!(!request.exists(), "the file is removed");
    let pid = running.pid();
    let finished = running.finish().expect_clean();
    assert_eq!(finished.stdout.matches("read: IOPS=").count(), 2, "{}", finished.stdout);
    assert!(processes::descendants(pid).is_empty());
}
