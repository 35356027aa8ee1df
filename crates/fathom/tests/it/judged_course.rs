//! The verdict on runs with an event in their timeline, or without a disk: a stall of the storage, a stopped
//! process, a loop device without a disk below it. The same runs without the fault get no such finding.

use crate::hung_fs::{Faults, HungFs};
use crate::judged::{TRIES, finds, found};
use crate::support::devices::LoopDevice;
use crate::support::groups::Quota;
use crate::support::program::Launch;
use crate::support::{MIB, json, processes, scratch, skip, wait_until};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Length of a cycle, which contains a stall.
const SPAN: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(1500);

fn finding<'a>(verdict: &'a Value, code: &str) -> &'a Value {
    let findings = verdict["findings"].as_array().expect("a list of findings");
    findings
        .iter()
        .find(|finding| finding["code"] == code)
        .unwrap_or_else(|| panic!("no {code} in {verdict:#}"))
}

#[test]
fn storage_that_stood_still_is_named_with_its_time() {
    fathom_only!();
    let directory = scratch();
    let service = Duration::from_millis(1);
    let faulty = Faults { service, pauses: Some((SPAN, PAUSE)), ..Faults::default() };
    for depth in ["--ioengine=psync", "--ioengine=libaio --direct=1 --iodepth=4"] {
        let job = |fs: &HungFs| {
            format!(
                "--name=a --filename={} --size=1m --bs=4k --rw=randread --invalidate=0 --time_based --runtime=5 {depth}",
                fs.file().display()
            )
        };
        let fs = require!(HungFs::mount(MIB, faulty.clone()));
        // An outage is not also reported as drift. A busy machine may change its rate as well, which is
        // reported.
        let told = || finds(directory.path(), &job(&fs), "outage", Some("doubtful"));
        let length =
            |verdict: &Value| finding(verdict, "outage")["evidence"]["outage_ms"].as_f64().expect("a length");
        // The longest gap may be one in which the job itself had no processor.
        let is_plain = |verdict: &Value| {
            if length(verdict) < PAUSE.as_millis() as f64 * 0.9 {
                return false;
            }
            let is_busy = found(verdict, "processor-wait").is_some();
            is_busy || (found(verdict, "drift"), found(verdict, "step")) == (None, None)
        };
        let verdict = (0..TRIES).map(|_| told()).find(is_plain).expect("an outage and no change of pace");
        let outage = finding(&verdict, "outage");
        assert!(outage["evidence"]["begin_ms"].as_f64().is_some_and(|begin| begin < 5000.0), "{outage:#}");
        assert!(
            outage["text"].as_str().is_some_and(|text| text.starts_with("no I/O completed for ")),
            "{outage:#}"
        );
        drop(fs);
        let fs = require!(HungFs::mount(MIB, Faults { service, ..Faults::default() }));
        finds(directory.path(), &job(&fs), "outage", None);
    }
}

/// The kernel notifies the parent when a process is stopped, so this is detected whatever the process was
/// doing.
#[test]
fn a_worker_that_was_stopped_is_named_with_its_time() {
    fathom_only!();
    let directory = scratch();
    for words in ["--ioengine=psync", "--ioengine=psync --thread --numjobs=2 --group_reporting"] {
        let words = format!(
            "--output-format=json --output=result.json --name=a --filename=data --size=1m --bs=4k --rw=randread --rate_iops=200 \
             --time_based --runtime=6 {words}"
        );
        let running = Launch::fathom(directory.path()).words(&words).start();
        // The job sleeps before each I/O of a rate.
        running.wait_for_sleeps(50);
        let workers: Vec<u32> = processes::descendants(running.pid());
        workers.iter().for_each(|&pid| processes::signal(pid, "STOP"));
        // A process that waits for a processor stops only once it gets one.
        let is_stopped = |&pid: &u32| processes::state(pid) == Some('T');
        wait_until("the workers stop", || workers.iter().all(is_stopped));
        std::thread::sleep(Duration::from_secs(2));
        workers.iter().for_each(|&pid| processes::signal(pid, "CONT"));
        running.finish().expect_clean();
        let text = std::fs::read_to_string(directory.path().join("result.json")).expect("a result");
        let verdict = json::document(&text)["fathom verdict"].clone();
        let stop = finding(&verdict, "stopped");
        assert!(stop["evidence"]["stopped_ms"].as_f64().is_some_and(|ms| ms >= 1000.0), "{stop:#}");
        assert!(
            stop["text"].as_str().is_some_and(|text| text.contains("a process of job a was stopped for ")),
            "{stop:#}"
        );
        assert_eq!(found(&verdict, "outage"), None, "one event is told once: {verdict:#}");
    }
}

fn reader(device: &LoopDevice) -> String {
    format!(
        "--name=a --filename={} --size=8m --bs=64k --rw=randread --direct=1 --ioengine=psync --time_based --runtime=400ms",
        device.path().display()
    )
}

#[test]
fn loop_devices_without_a_disk_are_seen() {
    fathom_only!();
    require!(skip::root());
    let directory = scratch();
    // A file in memory.
    let memory = tempfile::tempdir_in("/dev/shm").expect("memory is mounted there");
    let image = memory.path().join("image");
    std::fs::write(&image, vec![1; 16 << 20]).expect("room");
    let device = require!(LoopDevice::on_file(&image));
    let verdict = finds(directory.path(), &reader(&device), "in-memory", Some("doubtful"));
    let text = finding(&verdict, "in-memory")["text"].as_str().unwrap_or_default().to_owned();
    assert!(text.contains("is a file in memory") && text.contains("tmpfs"), "{text}");
    drop(device);
    // A file that was never written.
    let place = scratch();
    if !is_on_disk(place.path()) {
        skip!("temporary files are not on a file system that tells of holes");
    }
    let device = require!(LoopDevice::with_holes(place.path(), 16 * MIB));
    finds(directory.path(), &reader(&device), "holes", Some("doubtful"));
    finds(directory.path(), &reader(&device).replace("randread", "randwrite"), "holes", None);
    // Once the whole device has been written, its file has no holes left.
    let whole =
        reader(&device).replace("--rw=randread", "--rw=write").replace("--time_based --runtime=400ms", "");
    Launch::fathom(directory.path()).words(&whole).run().expect_clean();
    finds(directory.path(), &reader(&device), "holes", None);
}

fn is_on_disk(directory: &Path) -> bool {
    let words = ["-f", "-c", "%T", &directory.display().to_string()].map(str::to_owned);
    let told = std::process::Command::new("stat").args(words).output().expect("stat(1) can be run").stdout;
    let kind = String::from_utf8_lossy(&told).trim().to_owned();
    kind.starts_with("ext2/ext3") || ["xfs", "btrfs", "f2fs", "zfs"].contains(&kind.as_str())
}

/// Checks that throttling is reported for both rare and frequent throttling by a limit.
#[test]
fn a_limit_of_processor_time_is_always_seen() {
    fathom_only!();
    // Less than the group would get competing with twenty other processes.
    let quota = require!(Quota::new(4));
    let directory = scratch();
    for clones in ["", "--numjobs=2", "--numjobs=2 --group_reporting"] {
        let words = format!(
            "--output-format=json --output=result.json --name=a --filename=data --size=1m --bs=4k --rw=randread --pre_read=1 \
             --invalidate=0 --time_based --runtime=1 {clones}"
        );
        Launch::in_group(directory.path(), &quota.members()).words(&words).run().expect_clean();
        let text = std::fs::read_to_string(directory.path().join("result.json")).expect("a result");
        let verdict = json::document(&text)["fathom verdict"].clone();
        assert_eq!(found(&verdict, "cpu-limit").as_deref(), Some("doubtful"), "{clones}: {verdict:#}");
    }
}
