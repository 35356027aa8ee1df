//! Recording of stacked devices: which devices a target stands for, by the kernel's own numbers.

use super::device;
use crate::record::{Recorded, queued_writes};
use crate::support::program::Launch;
use crate::support::{MIB, scratch};
use fathom_trace::blktrace::TraceAction;
use std::path::Path;
use std::process::Command;

/// Records a job of 1 MiB of writes on `target`, and returns the summary and the trace.
fn record(target: &str, job_on: &str, words: &str) -> (String, Recorded) {
    let directory = scratch();
    let finished = Launch::fathom(directory.path())
        .words(&format!("record -o a.trace {target} --"))
        .argument(crate::support::program::path())
        .words(&format!("--name=job --filename={job_on} --rw=randwrite --bs=4k --size=1m --direct=1 {words}"))
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    (finished.stderr, Recorded::read(&directory.path().join("a.trace")))
}

/// A disk in memory that no other test uses.
fn free_memory_disk() -> Result<String, String> {
    if std::env::var_os("LAB").is_none() {
        return Err("its disks in memory may be written to in the lab only".to_owned());
    }
    let is_free = |name: &String| {
        std::fs::read_dir(format!("/sys/block/{name}/holders"))
            .is_ok_and(|mut holders| holders.next().is_none())
    };
    (0..16)
        .map(|number| format!("ram{number}"))
        .find(is_free)
        .ok_or_else(|| "no disk in memory is free".to_owned())
}

/// A device of the device mapper, removed on drop.
struct Mapped(&'static str);

impl Mapped {
    fn new(name: &'static str, table: &str) -> Mapped {
        let made = Command::new("dmsetup")
            .args(["create", name, "--table", table])
            .status()
            .expect("dmsetup starts");
        assert!(made.success(), "{table}");
        Mapped(name)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let _ = Command::new("dmsetup").args(["remove", self.0]).status();
    }
}

#[test]
fn a_stacked_device_stands_for_the_disks_below_it() {
    let disk = require!(device("nvme"));
    let memory = require!(free_memory_disk());
    require!(crate::support::skip::tool("dmsetup"));
    let table = format!("0 32768 linear {disk} 0\n32768 32768 linear /dev/{memory} 0\n");
    let _lower = Mapped::new("fathom_lower", &table);
    let _upper = Mapped::new("fathom_upper", "0 65536 linear /dev/mapper/fathom_lower 0");
    let target = "/dev/mapper/fathom_upper";
    let (said, recorded) = record(target, target, "--size=32m --io_size=1m");
    let name = disk.trim_start_matches("/dev/");
    assert!(said.contains(name) && said.contains(&memory) && !said.contains("dm-"), "{said}");
    assert_eq!(queued_writes(&recorded), 256, "{said}");
    let devices: std::collections::BTreeSet<_> = recorded.events.iter().map(|event| event.device).collect();
    assert_eq!(devices.len(), 2, "{said}");
}

#[test]
fn a_partition_is_a_range_of_its_disk() {
    let disk = require!(device("nvme"));
    require!(crate::support::skip::tool("sfdisk"));
    let script = "label: gpt\nsize=64MiB\nsize=64MiB\n";
    let parted = Command::new("sh")
        .args([
            "-c",
            &format!("printf '{script}' | sfdisk --quiet {disk} && udevadm settle 2>/dev/null; sync"),
        ])
        .status()
        .expect("sh starts");
    assert!(parted.success());
    let [first, second] = [1, 2].map(|number| format!("{disk}p{number}"));
    crate::support::wait_until("partitions appear", || Path::new(&second).exists());
    // Writes to the other partition are not in the trace, flushes of the disk are.
    let (said, recorded) = record(&first, &first, "");
    assert!(said.contains("64 MiB of nvme"), "{said}");
    assert_eq!(queued_writes(&recorded), 256, "{said}");
    let (_, other) = record(&first, &second, "");
    assert_eq!(queued_writes(&other), 0);
    let (said, whole) = record(&disk, &second, "--fsync=64");
    assert_eq!(queued_writes(&whole), 256, "{said}");
    let (_, flushed) = record(&first, &second, "--fsync=64");
    assert!(flushed.events.iter().all(|event| event.bytes == 0 || event.sector * 512 < 66 * MIB));
    let cleared =
        Command::new("sfdisk").args(["--quiet", "--delete", &disk]).status().expect("sfdisk starts");
    assert!(cleared.success());
}

#[test]
fn devices_without_requests_complete_what_they_were_asked() {
    let device = format!("/dev/{}", require!(free_memory_disk()));
    let (said, recorded) = record(&device, &device, "");
    let count = |action| recorded.events.iter().filter(|event| event.action == action).count();
    assert_eq!(count(TraceAction::Issue), 0, "{said}");
    assert!(count(TraceAction::Queue) >= 256, "{said}");
    assert_eq!(count(TraceAction::Queue), count(TraceAction::Complete), "{said}");
}

#[test]
fn a_slow_device_is_named_by_the_layers() {
    let memory = require!(free_memory_disk());
    require!(crate::support::skip::tool("dmsetup"));
    let _slow = Mapped::new("fathom_slow", &format!("0 16384 delay /dev/{memory} 0 50"));
    let directory = scratch();
    for number in 0..20 {
        let engine = ["psync", "libaio --iodepth=4", "io_uring --iodepth=4"][number % 3];
        let finished = Launch::fathom(directory.path())
            .words(
                "--layers --output-format=json --name=job --filename=/dev/mapper/fathom_slow --rw=randread",
            )
            .words(&format!("--bs=4k --direct=1 --time_based --runtime=500ms --ioengine={engine}"))
            .run()
            .expect_clean();
        let document = crate::support::json::document(&finished.stdout);
        let layers = &crate::support::json::job(&document, "job")["read"]["layers"];
        let made = layers["made_of"].as_array().expect("parts");
        let median = made.iter().find(|made| made["percentile"] == 50.0).expect("a median");
        let ns = |name: &str| median[name].as_u64().expect("a number");
        // The emulated processors of the lab are slow, so not all the rest is the device.
        let is_named = 2 * ns("device_ns") > ns("total_ns");
        assert!(ns("device_ns") >= 40_000_000 && is_named, "{engine}: {layers}");
    }
}
