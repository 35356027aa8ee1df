//! `fathom explain` on real situations whose truth is known.

use crate::hung_fs::{Faults, HungFs};
use crate::support::devices::{LoopDevice, Mounted, Throttle};
use crate::support::groups::Quota;
use crate::support::processes::OtherWork;
use crate::support::program::{Launch, Running};
use crate::support::{MIB, scratch, skip, tasks_per_processor};
use std::path::Path;

/// Findings that other load on the machine may cause.
const DISTURBED: &str = "Other work on the machine was the bottleneck";
/// Number of attempts before a situation counts as misjudged: other load on the machine may interfere.
const TRIES: usize = 6;

/// Runs a job for a second; returns its explanation, on one line.
#[track_caller]
fn story(directory: &Path, group: Option<&Path>, job: &str) -> String {
    let words =
        format!("--output-format=json --output=result.json --name=a --time_based --runtime=700ms {job}");
    let launch = match group {
        None => Launch::fathom(directory),
        Some(members) => Launch::in_group(directory, members),
    };
    launch.words(&words).run();
    let told = Launch::fathom(directory).words("explain result.json").run().expect_clean().stdout;
    told.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Checks that this is the verdict, and that its text contains these words.
#[track_caller]
pub(crate) fn is_told(
    directory: &Path,
    group: Option<&Path>,
    job: &str,
    verdict: &str,
    words: &[&str],
) -> String {
    let mut last = String::new();
    for _ in 0..TRIES {
        last = story(directory, group, job);
        if last.contains(&format!("Verdict: {verdict}")) && words.iter().all(|words| last.contains(words)) {
            return last;
        }
    }
    // A permanently busy machine is also reported, and rightly so. If several tasks wait for each processor,
    // so does the kernel's part of a loop device.
    let is_disturbed = last.contains(&format!("Verdict: {DISTURBED}")) || tasks_per_processor() > 2.0;
    assert!(is_disturbed && verdict != DISTURBED, "{job}: never {verdict} with {words:?}, but {last}");
    fathom_skip::record(&format!("the machine was too busy for {job}"));
    last
}

const CACHED: &str = "The page cache answered";
const NO_STORAGE: &str = "No storage took part";
const QUOTA: &str = "A CPU limit of the control group was the bottleneck";
const IO_LIMIT: &str = "An I/O limit of the control group was the bottleneck";
const DEPTH: &str = "The queue depth was the bottleneck";

#[test]
fn what_the_job_does_itself() {
    fathom_only!();
    let directory = scratch();
    // A device that no other test uses.
    let device = require!(LoopDevice::new(8 * MIB));
    let device = device.path().display();
    let told = |more: &str, verdict: &str, words: &[&str]| {
        is_told(
            directory.path(),
            None,
            &format!("--filename={device} --size=4m --bs=4k --rw=randread {more}"),
            verdict,
            words,
        )
    };
    told("--rate_iops=500", "The job's own rate limit was the bottleneck", &["rate_iops allows 500 IOPS"]);
    told("--thinktime=5000", "The job's own pauses were the bottleneck", &["thinktime=5000"]);
    told("--rw=randwrite --fsync=1", "Waiting for syncs was the bottleneck", &["syncs took"]);
    told(
        "--rw=randwrite --direct=1 --sync=1",
        "Waiting for syncs was the bottleneck",
        &["With sync=1, each"],
    );
    told("--direct=1", DEPTH, &["io_uring, libaio", "--vary=numjobs=1,2,4,8"]);
    told("--ioengine=libaio --iodepth=1 --direct=1", DEPTH, &["try iodepth=32"]);
    told("--runtime=20ms", "The result does not show", &["too short to judge"]);
    told("--ioengine=cpuio --cpuload=50", NO_STORAGE, &["cpuio"]);
    let few = format!(
        "--filename={device} --size=4m --bs=4k --rw=randread --ioengine=libaio --iodepth=4 --direct=1"
    );
    let few = story(directory.path(), None, &few);
    assert!(!few.contains("enough work"), "{few}");
}

#[test]
fn what_leaves_the_storage_out() {
    fathom_only!();
    let directory = scratch();
    let null = "--ioengine=null --iodepth=8 --size=1g --rw=read";
    is_told(directory.path(), None, null, NO_STORAGE, &["The engine null moves no data"]);
    is_told(
        directory.path(),
        None,
        &format!("{null} --rate_iops=1000"),
        NO_STORAGE,
        &["rate_iops allows 1.00k IOPS"],
    );
    let memory = require!(Mounted::memory(32 * MIB));
    let on_memory = format!("--filename={}/data --size=8m --rw=randwrite", memory.path().display());
    is_told(directory.path(), None, &on_memory, "The files are in memory", &["tmpfs"]);
    let device = require!(LoopDevice::new(64 * MIB));
    let device = device.path().display();
    let reads = format!("--filename={device} --size=8m --rw=randread --invalidate=0 --pre_read=1");
    is_told(directory.path(), None, &reads, CACHED, &["a file larger than memory"]);
    let writes = format!("--filename={device} --size=8m --rw=randwrite");
    is_told(directory.path(), None, &writes, CACHED, &["end_fsync=1 includes"]);
    let synced = is_told(directory.path(), None, &format!("{writes} --end_fsync=1"), CACHED, &["direct=1"]);
    assert!(!synced.contains("and end_fsync=1"), "{synced}");
}

/// Neither busy processors nor a CPU limit are the bottleneck if no storage was involved.
#[test]
fn disturbances_come_second() {
    fathom_only!();
    let directory = scratch();
    let null = "--ioengine=null --iodepth=8 --size=1g --rw=read";
    let device = require!(LoopDevice::new(64 * MIB));
    let device = device.path().display();
    let cached = format!("--filename={device} --size=8m --rw=randread --invalidate=0 --pre_read=1");
    let direct =
        format!("--filename={device} --size=8m --rw=randread --direct=1 --ioengine=libaio --iodepth=16");
    {
        let quota = require!(Quota::new(20));
        let members = quota.members();
        let group = Some(members.as_path());
        is_told(
            directory.path(),
            group,
            null,
            NO_STORAGE,
            &["may use 0.200 of a CPU", "cpu.max 20000 100000"],
        );
        is_told(directory.path(), group, &cached, CACHED, &["may use 0.200 of a CPU"]);
        // The limit is that of the parent group.
        is_told(directory.path(), group, &direct, QUOTA, &["was throttled in", "(cpu.stat)"]);
    }
    require!(skip::tool("setsid"));
    require!(skip::tool("taskset"));
    let _other_work = OtherWork::start();
    is_told(directory.path(), None, null, NO_STORAGE, &["other programs kept"]);
    is_told(directory.path(), None, &cached, CACHED, &["other programs kept"]);
    is_told(directory.path(), None, &direct, DISTURBED, &["other programs kept"]);
}

#[test]
fn limits_of_io_are_read() {
    fathom_only!();
    let directory = scratch();
    let device = require!(LoopDevice::new(8 * MIB));
    let throttle = require!(Throttle::new(device.path(), 200));
    let device = device.path().display();
    let name = throttle.name();
    for (depth, group) in [(1, throttle.name()), (16, throttle.name()), (4, throttle.inner())] {
        let job = format!(
            "--filename={device} --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth={depth} --runtime=2 --cgroup={group} \
             --cgroup_nodelete=1"
        );
        let limit = format!("the control group /{name} allows 200 reads per second");
        is_told(directory.path(), None, &job, IO_LIMIT, &[&limit[4..], "io.max riops=200"]);
    }
    // A limit that is not reached is not the cause.
    let job = format!(
        "--filename={device} --direct=1 --rw=randread --bs=4k --rate_iops=20 --cgroup={name} --cgroup_nodelete=1"
    );
    is_told(directory.path(), None, &job, "The job's own rate limit was the bottleneck", &[]);
}

/// A program that continuously writes to a part of the device.
fn hammer(directory: &Path, device: &Path) -> Running {
    let words = format!(
        "--name=other --filename={} --offset=32m --size=16m --rw=write --bs=256k --direct=1 --ioengine=libaio --iodepth=8 --numjobs=2 \
         --time_based --runtime=600 --eta=never",
        device.display()
    );
    Launch::fathom(directory).words(&words).start()
}

#[test]
fn what_others_do_to_the_device_is_computed() {
    fathom_only!();
    let device = require!(LoopDevice::new(64 * MIB));
    let (directory, elsewhere) = (scratch(), scratch());
    let _other = hammer(elsewhere.path(), device.path());
    let reads = format!("--filename={} --size=16m --rw=randread --bs=4k --direct=1", device.path().display());
    let other = "Other I/O on the device was the bottleneck";
    is_told(directory.path(), None, &reads, other, &["from outside this run", "writes ("]);
    is_told(directory.path(), None, &format!("{reads} --rate_iops=50"), "The job's own rate limit", &[]);
}

#[test]
fn file_systems_in_user_space_take_one_after_the_other() {
    fathom_only!();
    let directory = scratch();
    let fuse = require!(HungFs::mount(16 * MIB, Faults::default()));
    let job = format!("--filename={} --size=16m --rw=randread --bs=4k --direct=1", fuse.file().display());
    let told = is_told(directory.path(), None, &job, DEPTH, &["more clones always do", "numjobs=4"]);
    assert!(!told.contains("io_uring, libaio"), "{told}");
}
