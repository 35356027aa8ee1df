//! `fathom sweep --fs`: file systems that are actually created and mounted, protected devices, and nothing left behind.

use crate::support::devices::{LoopDevice, in_use, in_use_as_swap, run};
use crate::support::program::{Finished, Launch, Running};
use crate::support::{MIB, PATIENCE, file_of, processes, scratch, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The program's mount point.
const MOUNT: &str = "/run/fathom-sweep";
/// A brief job.
const JOB: &str = "-- --name=job --size=4m --bs=4k --rw=randrw --ioengine=psync --runtime=100ms --time_based";

fn start(directory: &Path, words: &str) -> Running {
    Launch::fathom(directory).words("sweep").words(words).start()
}

fn sweep(directory: &Path, words: &str) -> Finished {
    start(directory, words).finish()
}

/// This machine can create and mount these.
fn can_make(kinds: &[&str]) -> Result<(), String> {
    skip::root()?;
    skip::tool("losetup")?;
    let known = std::fs::read_to_string("/proc/filesystems").map_err(|error| error.to_string())?;
    for kind in kinds {
        skip::tool(&format!("mkfs.{kind}"))?;
        if !known.lines().any(|line| line.trim() == *kind) {
            return Err(format!("this kernel has no {kind}"));
        }
    }
    match Path::new("/dev/loop-control").exists() {
        true => Ok(()),
        false => Err("this kernel has no loop devices".to_owned()),
    }
}

/// The runs in a results file.
fn runs(directory: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(directory.join("job.sweep.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| !line["cell"].is_null()).collect()
}

/// Loop devices on files of a directory, including unnamed ones.
fn loops_on(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/sys/block").expect("sysfs").flatten();
    let files =
        entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("loop/backing_file")).ok());
    files.filter(|file| file.starts_with(&directory.display().to_string())).collect()
}

/// Nothing is attached to a file of the directory, and no process, in any mount namespace, uses the device.
#[track_caller]
fn expect_nothing_left(directory: &Path, device: Option<&LoopDevice>) {
    let limit = Instant::now() + PATIENCE;
    let is_free = || {
        device.is_none_or(|device| {
            let mut options = std::fs::OpenOptions::new();
            options.read(true).custom_flags(libc::O_EXCL).open(device.path()).is_ok()
        })
    };
    // The kernel cleans up after a killed process when the last of its workers is gone.
    while !(loops_on(directory).is_empty() && is_free()) {
        assert!(Instant::now() < limit, "{:?}, free: {}", loops_on(directory), is_free());
        std::thread::sleep(Duration::from_millis(10));
    }
    // Settings of a loop device persist after it was detached.
    for entry in std::fs::read_dir("/sys/block").expect("sysfs").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let value = |file: &str| {
            let text = std::fs::read_to_string(entry.path().join("queue").join(file)).unwrap_or_default();
            text.trim().parse::<u64>().unwrap_or(0)
        };
        let is_switched_off = value("discard_max_hw_bytes") > 0 && value("discard_max_bytes") == 0;
        assert!(!name.starts_with("loop") || !is_switched_off, "{name} cannot discard any more");
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(!mounts.contains(MOUNT), "{mounts}");
}

/// The command of a job that fails if a file of an earlier run exists, and records the file system type.
const LOOK: &str = "test ! -e /run/fathom-sweep/mark && touch /run/fathom-sweep/mark && stat -f -c %T /run/fathom-sweep >> kinds";

#[test]
fn every_run_has_a_new_file_system_of_its_kind() {
    fathom_only!();
    require!(can_make(&["ext4", "xfs"]));
    let directory = scratch();
    let job = format!(
        "[job]\nsize=4m\nbs=4k\nrw=randrw\nfilename=sub/test\nruntime=100ms\ntime_based\nexec_prerun={LOOK}\n"
    );
    std::fs::write(directory.path().join("job.fio"), job).expect("written");
    let words = "--fs=ext4,xfs --device=image --device-size=320m --vary=ioengine=psync,libaio --repeats=2 \
                 --mount-options=xfs:noatime --mkfs-options=ext4:-Lchecked job.fio --format=csv";
    let finished = sweep(directory.path(), words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let kinds = std::fs::read_to_string(directory.path().join("kinds")).expect("the jobs looked");
    let count = |kind: &str| kinds.lines().filter(|line| line.starts_with(kind)).count();
    assert_eq!((count("ext2/ext3"), count("xfs")), (4, 4), "{kinds}");
    let runs = runs(directory.path());
    assert_eq!(runs.len(), 8);
    for run in &runs {
        let system = &run["report"]["fathom host"]["file_systems"][0];
        let wanted = ["ext4", "xfs"][run["cell"].as_u64().expect("a number") as usize / 2];
        assert_eq!(
            (system["kind"].as_str(), system["directory"].as_str()),
            (Some(wanted), Some(MOUNT)),
            "{system}"
        );
        let options = system["options"].as_str().expect("options");
        assert_eq!(options.contains("noatime"), wanted == "xfs", "{options}");
        assert_eq!(run["report"]["jobs"][0]["job options"]["directory"], MOUNT);
    }
    let image = directory.path().join("image");
    let mark = format!("ext4,libaio,loop device on {},2,", image.display());
    assert!(finished.stdout.contains(&mark), "{}", finished.stdout);
    let text = std::fs::read_to_string(directory.path().join("job.sweep.jsonl")).expect("results");
    let plan: Value = serde_json::from_str(text.lines().next().expect("a plan")).expect("JSON");
    let maker = &plan["volume"]["makers"][0];
    let command: Vec<&str> =
        maker["command"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
    assert!(command.contains(&"-Lchecked") && command.contains(&"-F"), "{command:?}");
    assert!(maker["version"].as_str().is_some_and(|version| version.starts_with("mke2fs ")), "{maker}");
    assert!(!image.exists(), "the file had no name");
    expect_nothing_left(directory.path(), None);
}

#[test]
fn the_table_has_the_columns_of_published_ones() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    let device = require!(LoopDevice::new(64 * MIB));
    let target = format!("--device={0} --destroy={0}", device.text());
    let words = format!(
        "--fs=ext4,none {target} --vary=ioengine=psync,libaio --repeats=2 --format=markdown {JOB} --direct=1"
    );
    let finished = sweep(directory.path(), &words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let columns: Vec<&str> =
        finished.stdout.lines().next().expect("a line").split('|').map(str::trim).collect();
    assert_eq!(columns, ["", "Filesystem (loop)", "IO Interface", "Read", "Write", "Latency", "IOPS", ""]);
    for row in ["| ext4 ", "| none "] {
        assert_eq!(finished.stdout.matches(row).count(), 2, "{}", finished.stdout);
    }
    assert!(finished.stdout.contains(" MiB/s ("), "with intervals: {}", finished.stdout);
    assert!(
        finished.stdout.contains("best") || finished.stdout.contains("not distinguishable"),
        "{}",
        finished.stdout
    );
    let volume = format!("Volume: {}, a loop device on /dev/shm/", device.text());
    assert!(finished.stdout.contains(&volume), "{}", finished.stdout);
    // Jobs of `none` used the device, in the same size as on a file system.
    let raw: Vec<Value> =
        runs(directory.path()).into_iter().filter(|run| run["cell"].as_u64() >= Some(2)).collect();
    assert_eq!(raw.len(), 4);
    assert!(raw.iter().all(|run| run["report"]["jobs"][0]["job options"]["filename"] == device.text()));
    let page =
        Launch::fathom(directory.path()).words("report job.sweep.jsonl -o -").run().expect_clean().stdout;
    for part in [">Filesystem (loop)</th>", ">IO Interface</th>", &volume, "mkfs.ext4 -q -F"] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    expect_nothing_left(directory.path(), Some(&device));
}

/// The device is discarded, and filled where it will be read, as much as a file would be.
#[test]
fn what_is_read_from_the_device_is_written_before() {
    fathom_only!();
    require!(can_make(&[]));
    let directory = scratch();
    let device = require!(LoopDevice::new(64 * MIB));
    let name = device.text().trim_start_matches("/dev/").to_owned();
    let limit = std::fs::read_to_string(format!("/sys/block/{name}/queue/discard_max_bytes"));
    if limit.is_ok_and(|limit| limit.trim() == "0") {
        skip!("loop devices cannot discard here");
    }
    let words = format!("--fs=none --device={0} --destroy={0} --repeats=1 {JOB}", device.text());
    for (rw, wanted) in [("randread", 4 * MIB), ("write --io_size=1m", MIB)] {
        let words = words.replace("randrw", rw).replace("--runtime=100ms --time_based", "");
        let finished = sweep(directory.path(), &words);
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        assert_eq!(device.allocated(), wanted, "{rw}");
        std::fs::remove_file(directory.path().join("job.sweep.jsonl")).expect("it is there");
    }
}

/// Checks that the sweep is refused with this message, and that no byte has changed.
#[track_caller]
fn expect_refused(directory: &Path, device: &Path, words: &str, reason: &str) {
    let before = std::fs::read(device).expect("it can be read");
    let refused = sweep(directory, words);
    assert_eq!(refused.code(), 1, "{words}: {}", refused.stdout);
    assert!(refused.stderr.contains(reason), "{words}: {}, expected {reason}", refused.stderr);
    assert!(std::fs::read(device).expect("it can be read") == before, "{words}: the device has changed");
    assert!(!directory.join("job.sweep.jsonl").exists(), "{words}: nothing was begun");
}

#[test]
fn devices_that_are_not_named_twice_stay_as_they_are() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    let (device, other) = (require!(LoopDevice::new(16 * MIB)), require!(LoopDevice::new(16 * MIB)));
    let image = file_of(directory.path(), "image", 16 * MIB);
    let (one, two) = (device.text(), other.text());
    for (target, reason) in [
        (format!("--device={one}"), "name it again: --destroy=".to_owned()),
        (format!("--device={one} --destroy={two}"), format!("--destroy={two} is another device")),
        (format!("--device={one} --destroy={one} --device-size=16m"), "leave out --device-size".to_owned()),
        (String::new(), "--fs needs --device=DEVICE".to_owned()),
    ] {
        expect_refused(directory.path(), device.path(), &format!("--fs=ext4 {target} {JOB}"), &reason);
    }
    expect_refused(directory.path(), &image, &format!("--fs=ext4 --device=image {JOB}"), "--destroy=image");
    // The same device under another name.
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(device.path(), &link).expect("linked");
    let words = format!("--fs=ext4 --device={one} --destroy=link --repeats=1 {JOB}");
    assert_eq!(sweep(directory.path(), &words).code(), 0);
}

#[test]
fn devices_in_use_stay_as_they_are() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    let device = require!(LoopDevice::new(32 * MIB));
    let words = format!("--fs=ext4,none --device={0} --destroy={0} {JOB}", device.text());
    let refused = |reason: &str| expect_refused(directory.path(), device.path(), &words, reason);
    require!(run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device.text()]));
    require!(in_use(&device, refused));
    require!(in_use_as_swap(&device, || sweep(directory.path(), &words)));
}

#[test]
fn a_disk_with_partitions_stays_as_it_is() {
    fathom_only!();
    require!(can_make(&["ext4"]).and_then(|()| skip::tool("sfdisk")));
    let directory = scratch();
    let image = file_of(directory.path(), "disk", 64 * MIB);
    let script = directory.path().join("table");
    std::fs::write(&script, "label: dos\nstart=2048, size=65536\nstart=67584, size=32768\n")
        .expect("written");
    require!(run("sh", &["-c", &format!("sfdisk -q {} < {}", image.display(), script.display())]));
    let disk = require!(LoopDevice::with_partitions(&image));
    let part = format!("{}p1", disk.text());
    if !Path::new(&part).exists() {
        skip!("this kernel makes no partitions of loop devices");
    }
    let words = |target: &str| format!("--fs=ext4 --device={target} --destroy={target} --repeats=1 {JOB}");
    expect_refused(directory.path(), disk.path(), &words(disk.text()), "it has partitions (");
    let beside = std::fs::read(format!("{}p2", disk.text())).expect("it can be read");
    let finished = sweep(directory.path(), &words(&part));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(std::fs::read(format!("{}p2", disk.text())).expect("it can be read") == beside);
}

#[test]
fn jobs_that_lead_elsewhere_are_refused() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    let fresh = format!("--fs=ext4,none --device={0} --destroy={0}", device.text());
    for (job, reason) in [
        ("--name=job --filename=/dev/null --rw=read --size=1m", "filename=/dev/null leads elsewhere"),
        ("--name=job --filename=../up --rw=read --size=1m", "filename=../up leads elsewhere"),
        ("--name=job --filename=a:/b --rw=read --size=1m", "filename=/b leads elsewhere"),
        ("--name=job --filename_format=/x --rw=read --size=1m", "filename=/x leads elsewhere"),
        ("--name=job --directory=/tmp --rw=read --size=1m", "leave out directory="),
        ("--name=job --opendir=/tmp --rw=read --size=1m", "opendir= needs existing files"),
        ("--name=job --read_iolog=log --rw=read --size=1m", "read_iolog"),
        ("--name=/dev/null --rw=read --size=1m", "named after a file or device"),
        ("--name=job --rw=read --size=1m --mem=mmap:/tmp/x", "leave out the file of mem="),
        ("--name=job --rw=read --size=1m --ioengine=null", "the engine null does not use files"),
        ("--name=job --rw=read --size=1m --nrfiles=2", "`none` of --fs is a single device"),
        ("--name=job --rw=read", "size= must say how large"),
        ("--name=job --rw=read --size=17m", "it has 16 MiB, but the jobs need 17"),
        ("--name=job --rw=read --size=9m --numjobs=2", "it has 16 MiB, but the jobs need 18"),
    ] {
        expect_refused(directory.path(), device.path(), &format!("{fresh} -- {job}"), reason);
    }
    for (words, reason) in [
        (format!("{fresh} --vary=filename=a,b {JOB}"), "--vary=filename: --fs determines where"),
        (format!("{fresh} --vary=fs=ext4 {JOB}"), "write --fs=ext4"),
        (format!("--vary=bs=4k --device=x {JOB}"), "need --fs=LIST"),
        (format!("--fs=ext4 --device=/dev/fathom-none --device-size=16m {JOB}"), "there is no such device"),
        (format!("--fs=ext4 --device=missing {JOB}"), "--device-size=SIZE would create a file"),
        (format!("--fs=ext4 --device=missing --device-size=900t {JOB}"), "more, but"),
        (format!("--fs=ext4 --device=/dev/null --destroy=/dev/null {JOB}"), "neither a block device nor"),
    ] {
        expect_refused(directory.path(), device.path(), &words, reason);
    }
    if skip::tool("mkfs.xfs").is_ok() {
        let words = fresh.replace("ext4,none", "ext4,xfs");
        expect_refused(directory.path(), device.path(), &format!("{words} {JOB}"), "xfs needs 300 MiB");
    }
}

/// Waits for this many runs.
#[track_caller]
fn wait_for_runs(directory: &Path, count: usize) {
    let limit = Instant::now() + PATIENCE;
    while runs(directory).len() < count {
        assert!(Instant::now() < limit, "{} runs after a minute", runs(directory).len());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn nothing_is_left_by_sweeps_that_end_early_and_they_resume() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    let job = JOB.replace("100ms", "400ms");
    let words =
        format!("--fs=ext4,none --device=image --device-size=24m --vary=iodepth=1,2 --repeats=3 {job}");
    for (signal, code) in [("KILL", 137), ("INT", 130), ("TERM", 143), ("KILL", 137)] {
        let before = runs(directory.path()).len();
        let running = start(directory.path(), &words);
        wait_for_runs(directory.path(), before + 1);
        std::thread::sleep(Duration::from_millis(200));
        running.signal(signal);
        assert_eq!(running.finish().code(), code);
        expect_nothing_left(directory.path(), None);
    }
    let finished = sweep(directory.path(), &words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let made: BTreeSet<(u64, u64)> = runs(directory.path())
        .iter()
        .map(|run| (run["cell"].as_u64().expect("a cell"), run["round"].as_u64().expect("a round")))
        .collect();
    assert_eq!((made.len(), runs(directory.path()).len()), (12, 12), "none twice, none missing");
    expect_nothing_left(directory.path(), None);
}

/// A directory with a program in place of mkfs.ext4.
fn in_place_of_mkfs(directory: &Path, script: &str) -> PathBuf {
    let programs = directory.join("programs");
    std::fs::create_dir(&programs).expect("made");
    let program = programs.join("mkfs.ext4");
    std::fs::write(&program, format!("#!/bin/sh\n[ \"$1\" = -V ] && exec /sbin/mkfs.ext4 -V\n{script}\n"))
        .expect("written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("executable");
    programs
}

fn start_with(programs: &Path, directory: &Path, words: &str) -> Running {
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    Launch::fathom(directory).variable("PATH", &path).words("sweep").words(words).start()
}

#[test]
fn ctrl_c_ends_mkfs_as_well() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    let programs = in_place_of_mkfs(directory.path(), "echo $$ > pid; exec sleep 1000");
    let words = format!("--fs=ext4 --device=image --device-size=24m {JOB}");
    for (signal, code) in [("INT", 130), ("KILL", 137)] {
        let running = start_with(&programs, directory.path(), &words);
        let pid = directory.path().join("pid");
        let limit = Instant::now() + PATIENCE;
        let pid: u32 = loop {
            let text = std::fs::read_to_string(&pid).unwrap_or_default();
            if let Ok(pid) = text.trim().parse() {
                break pid;
            }
            assert!(Instant::now() < limit, "mkfs was not started");
            std::thread::sleep(Duration::from_millis(5));
        };
        running.signal(signal);
        assert_eq!(running.finish().code(), code);
        let limit = Instant::now() + PATIENCE;
        while processes::runs(pid) {
            assert!(Instant::now() < limit, "mkfs outlives the sweep");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(runs(directory.path()).is_empty());
        expect_nothing_left(directory.path(), None);
        std::fs::remove_file(directory.path().join("pid")).expect("it is there");
    }
}

#[test]
fn a_file_system_that_cannot_be_had_is_a_note_in_the_table() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    let words =
        format!("--fs=ext4,none --device=image --device-size=24m --repeats=1 --format=csv {JOB} --direct=1");
    let finished =
        sweep(directory.path(), &words.replace("--repeats", "--mount-options=ext4:nonsense --repeats"));
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    let line =
        |kind: &str| finished.stdout.lines().find(|line| line.starts_with(kind)).expect("a row").to_owned();
    assert!(
        line("ext4,").ends_with("failed: ext4 cannot be mounted with nonsense: Invalid argument"),
        "{}",
        line("ext4,")
    );
    assert!(line("none,").ends_with(','), "{}", line("none,"));
    expect_nothing_left(directory.path(), None);
    std::fs::remove_file(directory.path().join("job.sweep.jsonl")).expect("it is there");
    let programs = in_place_of_mkfs(directory.path(), "echo out of paint >&2; exit 1");
    let failed = start_with(&programs, directory.path(), &words).finish();
    assert!(failed.stdout.contains("failed: mkfs.ext4: out of paint"), "{}", failed.stdout);
    std::fs::remove_file(directory.path().join("job.sweep.jsonl")).expect("it is there");
    // Larger than the file system, but not larger than the device.
    let words = words.replace(JOB, "-- --name=job --size=23m --bs=1m --rw=write");
    let full = sweep(directory.path(), &words.replace(" --direct=1", ""));
    assert_eq!(full.code(), 1, "{}", full.stderr);
    assert!(full.stdout.contains("No space left on device"), "{}", full.stdout);
    expect_nothing_left(directory.path(), None);
}

#[test]
fn two_sweeps_do_not_share_a_device() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    let _image = file_of(directory.path(), "image", 24 * MIB);
    // Longer than the second run waits for the end of a killed one.
    let job = JOB.replace("100ms", "9s");
    let words = format!("--fs=ext4 --device=image --destroy=image --repeats=1 {job}");
    let first = start(directory.path(), &words);
    let limit = Instant::now() + PATIENCE;
    while loops_on(directory.path()).is_empty() {
        assert!(Instant::now() < limit, "no loop device");
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = sweep(directory.path(), &format!("--output=other.jsonl {words}"));
    assert_eq!(second.code(), 1, "{}", second.stderr);
    let is_told =
        second.stderr.contains("is in use: ") || second.stderr.contains("another program has locked it");
    assert!(is_told, "{}", second.stderr);
    let finished = first.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    expect_nothing_left(directory.path(), None);
}

/// By the second run, the name refers to a different device.
#[test]
fn a_device_that_changes_its_meaning_is_left_alone() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    let (device, other) = (require!(LoopDevice::new(16 * MIB)), require!(LoopDevice::new(16 * MIB)));
    let number = |device: &LoopDevice| device.text().trim_start_matches("/dev/loop").to_owned();
    require!(run(
        "mknod",
        &[directory.path().join("node").to_str().expect("text"), "b", "7", &number(&device)]
    ));
    let script = format!("/sbin/mkfs.ext4 \"$@\" && rm node && mknod node b 7 {}", number(&other));
    let programs = in_place_of_mkfs(directory.path(), &script);
    let before = other.contents();
    let words = format!("--fs=ext4 --device=node --destroy=node --repeats=2 {JOB}");
    let finished = start_with(&programs, directory.path(), &words).finish();
    assert_eq!(finished.code(), 1, "{}", finished.stdout);
    assert!(other.contents() == before, "the other device has changed: {}", finished.stderr);
    expect_nothing_left(directory.path(), Some(&device));
}

#[test]
fn preconditions_go_where_the_jobs_go() {
    fathom_only!();
    require!(can_make(&["ext4"]));
    let directory = scratch();
    std::fs::write(
        directory.path().join("fill.fio"),
        "[fill]\nrw=write\nsize=4m\nbs=64k\nfilename=job.0.0\n",
    )
    .expect("written");
    let words = format!(
        "--fs=ext4,none --device=image --device-size=24m --repeats=1 --precondition=fill.fio {} --allow_file_create=0",
        JOB.replace("randrw", "randread")
    );
    // Each time on the file system: the jobs find the file that they must not create.
    let each = sweep(directory.path(), &words.replace("--repeats", "--precondition-each --repeats"));
    assert_eq!(each.code(), 0, "{}", each.stderr);
    std::fs::remove_file(directory.path().join("job.sweep.jsonl")).expect("it is there");
    // Once on the device, below the future file systems: they do not.
    let once = sweep(directory.path(), &words);
    assert_eq!(once.code(), 1, "{}", once.stderr);
    assert!(!directory.path().join("job.0.0").exists(), "nothing is written next to the device");
    expect_nothing_left(directory.path(), None);
}
