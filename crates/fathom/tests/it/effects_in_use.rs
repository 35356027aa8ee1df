//! Devices and files in use may be read, but not written to.

use crate::support::devices::{LoopDevice, MountPoint, run};
use crate::support::program::Launch;
use crate::support::{MIB, file_of, scratch, skip};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

/// Writes, trims and mixed jobs end before the first byte with this error; reads do not.
#[track_caller]
fn expect_refused(target: &str, reason: &str) {
    let directory = scratch();
    let before = std::fs::read(target).expect("it can be read");
    for rw in ["write", "randwrite --thread", "randtrim", "rw --create_serialize=0", "trimwrite"] {
        let words = format!("--name=a --filename={target} --bs=4k --size=64k --rw={rw}");
        let refused = Launch::fathom(directory.path()).words(&words).run();
        assert_eq!(refused.code(), 1, "{rw}: {refused:?}");
        let line = format!("fathom: job a: {target} is in use: {reason}; name another target");
        assert!(refused.stderr.contains(&line), "{rw}: {}, expected {line}", refused.stderr);
        assert!(refused.stderr.contains("allow_mounted_write=1"), "{}", refused.stderr);
        assert_eq!(refused.stderr.contains("appears mounted"), reason.contains("mounted at"));
    }
    assert!(std::fs::read(target).expect("it can be read") == before, "{target} has changed");
    expect_read(target);
}

#[track_caller]
fn expect_read(target: &str) {
    let directory = scratch();
    let words = format!("--name=a --filename={target} --bs=4k --size=64k --rw=randread");
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
}

#[track_caller]
fn expect_written(target: &str) {
    let directory = scratch();
    let words = format!("--name=a --filename={target} --bs=4k --size=64k --rw=write --numjobs=3");
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of temporary files are text")
}

/// btrfs reports a nonexistent device number, and has several devices.
#[test]
fn all_devices_of_a_btrfs_are_protected() {
    if let Err(reason) = skip::tool("mkfs.btrfs") {
        skip!("{reason}");
    }
    let images = scratch();
    let one = require!(LoopDevice::with_holes(images.path(), 128 * MIB));
    let two = require!(LoopDevice::with_holes(images.path(), 128 * MIB));
    require!(run("mkfs.btrfs", &["-q", "-d", "single", "-m", "raid1", one.text(), two.text()]));
    let mount = require!(MountPoint::new(&["-t", "btrfs", one.text()]));
    // Writeback started by the mount happens now, not while the devices are compared.
    require!(run("sync", &["-f", text(mount.path())]));
    let place = format!("mounted at {} (btrfs)", text(mount.path()));
    expect_refused(one.text(), &format!("it is {place}"));
    expect_refused(two.text(), &format!("it is one of the devices of the file system {place}"));
    drop(mount);
    expect_written(one.text());
    expect_written(two.text());
}

#[test]
fn what_lies_below_a_mounted_loop_device_is_protected() {
    if let Err(reason) = skip::root().and_then(|()| skip::tool("mkfs.ext4")) {
        skip!("{reason}");
    }
    let images = scratch();
    let image = file_of(images.path(), "image", 16 * MIB);
    let outer = require!(LoopDevice::on_file(&image));
    let inner = require!(LoopDevice::on_file(outer.path()));
    let beside = require!(LoopDevice::on_file(&image));
    require!(run("mkfs.ext4", &["-q", inner.text()]));
    expect_written(outer.text());
    expect_written(text(&image));
    // The file system must leave its device alone while idle, so deferred work is done now.
    require!(run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", inner.text()]));
    let mount = require!(MountPoint::new(&["-t", "ext4", inner.text()]));
    require!(run("sync", &["-f", text(mount.path())]));
    let name = |device: &LoopDevice| device.text().trim_start_matches("/dev/").to_owned();
    let what = format!("is mounted at {} (ext4)", text(mount.path()));
    let on = format!("loop device {}", name(&inner));
    expect_refused(inner.text(), &format!("it {what}"));
    expect_refused(outer.text(), &format!("{on} on it {what}"));
    expect_refused(text(&image), &format!("{on} on that, loop device {} on it {what}", name(&outer)));
    let image_behind = format!("{} behind it", text(&image));
    let way = format!("{on} on that, loop device {} on that, {image_behind}", name(&outer));
    expect_refused(beside.text(), &format!("{way} {what}"));
    drop(mount);
    expect_written(beside.text());
}

#[test]
fn a_mounted_partition_protects_itself_and_its_disk_alone() {
    if let Err(reason) =
        skip::root().and_then(|()| skip::tool("sfdisk")).and_then(|()| skip::tool("mkfs.ext4"))
    {
        skip!("{reason}");
    }
    let images = scratch();
    let image = file_of(images.path(), "image", 32 * MIB);
    let table = "label: dos\nstart=2048, size=16384\nstart=18432, size=16384\n";
    let script = images.path().join("table");
    std::fs::write(&script, table).expect("written");
    require!(run("sh", &["-c", &format!("sfdisk -q {} < {}", text(&image), text(&script))]));
    let disk = require!(LoopDevice::with_partitions(&image));
    let (one, two) = (format!("{}p1", disk.text()), format!("{}p2", disk.text()));
    if !Path::new(&two).exists() {
        skip!("this kernel makes no partitions of loop devices");
    }
    require!(run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &one]));
    let mount = require!(MountPoint::new(&["-t", "ext4", &one]));
    require!(run("sync", &["-f", text(mount.path())]));
    let what = format!("is mounted at {} (ext4)", text(mount.path()));
    let name = one.trim_start_matches("/dev/");
    expect_refused(&one, &format!("it {what}"));
    expect_refused(disk.text(), &format!("partition {name} of it {what}"));
    expect_written(&two);
    drop(mount);
    expect_written(&one);
    expect_written(disk.text());
}

/// Swap that is disabled on drop.
struct Swap(String);

impl Swap {
    fn on(target: &str) -> Result<Swap, String> {
        run("mkswap", &[target])?;
        run("swapon", &["--priority=0", target])?;
        Ok(Swap(target.to_owned()))
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.0).status();
    }
}

#[test]
fn active_swap_is_protected() {
    let device = require!(LoopDevice::new(MIB));
    let swap = require!(Swap::on(device.text()));
    expect_refused(device.text(), "it is active swap");
    drop(swap);
    expect_written(device.text());
    let directory = scratch();
    let file = file_of(directory.path(), "swap", MIB);
    require!(run("chmod", &["600", text(&file)]));
    let swap = require!(Swap::on(text(&file)));
    expect_refused(text(&file), "it is active swap");
    drop(swap);
    expect_written(text(&file));
}

/// A device built on another, removed on drop.
struct Built(Vec<&'static str>, String);

impl Drop for Built {
    fn drop(&mut self) {
        let _ = Command::new(self.0[0]).args(&self.0[1..]).arg(&self.1).output();
    }
}

#[test]
fn a_member_of_a_mapped_device_is_protected() {
    let device = require!(LoopDevice::new(MIB));
    let name = format!("fathom-test-{}", std::process::id());
    let table = format!("0 1024 linear {} 0", device.text());
    require!(run("dmsetup", &["create", &name, "--table", &table]));
    let _mapped = Built(vec!["dmsetup", "remove"], name.clone());
    let directory = scratch();
    let words = format!("--name=a --filename={} --bs=4k --size=64k --rw=write", device.text());
    let refused = Launch::fathom(directory.path()).words(&words).run();
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains(&format!("(mapped device {name})")), "{}", refused.stderr);
    expect_written(&format!("/dev/mapper/{name}"));
}

#[test]
fn a_member_of_an_array_is_protected() {
    let (one, two) = (require!(LoopDevice::new(8 * MIB)), require!(LoopDevice::new(8 * MIB)));
    let array = format!("/dev/md/fathom-test-{}", std::process::id());
    let words = ["--create", &array, "--run", "--level=1", "--raid-devices=2", "--metadata=1.2"];
    require!(run("mdadm", &[&words[..], &[one.text(), two.text()]].concat()));
    let _array = Built(vec!["mdadm", "--stop"], array.clone());
    let directory = scratch();
    let words = format!("--name=a --filename={} --bs=4k --size=64k --rw=write", two.text());
    let refused = Launch::fathom(directory.path()).words(&words).run();
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("(raid1)"), "{}", refused.stderr);
    expect_written(&array);
}

/// A claim on a device need not be listed in any table.
#[test]
fn a_claimed_device_is_protected() {
    let device = require!(LoopDevice::new(MIB));
    let mut options = std::fs::OpenOptions::new();
    let claim = options.read(true).custom_flags(libc::O_EXCL).open(device.path()).expect("it is free");
    expect_refused(device.text(), "it is claimed by the kernel or a program (open with O_EXCL)");
    drop(claim);
    expect_written(device.text());
}

/// Claims are brief: clones, jobs and other runs share a device.
#[test]
fn several_runs_share_a_device() {
    let device = require!(LoopDevice::new(4 * MIB));
    let directory = scratch();
    let target = format!("--filename={} --bs=4k --size=1m --create_serialize=0", device.text());
    let jobs =
        format!("{target} --name=a --rw=randwrite --numjobs=4 --name=b --rw=randtrim {target} --thread");
    let runs: Vec<_> = (0..4).map(|_| Launch::fathom(directory.path()).words(&jobs).start()).collect();
    for run in runs {
        run.finish().expect_clean();
    }
}

/// A run whose later job wants to write to a target, and the file that releases it.
fn run_that_waits(directory: &Path, words: &str) -> crate::support::program::Running {
    let mut launch = Launch::fathom(directory);
    for word in words.split(' ') {
        launch = launch.argument(word.replace("WAIT", "sh wait"));
    }
    let running = launch.start();
    crate::support::wait_until("the wait", || directory.join("waiting").exists());
    running
}

/// True if a process has a path open for writing, as a job does but earlier checks do not.
fn opens_for_writing(pid: u32, path: &Path) -> bool {
    let opened = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    opened.into_iter().any(|link| {
        // The permissions of the link are those of the descriptor.
        let mode = std::fs::symlink_metadata(link.path()).map_or(0, |found| found.permissions().mode());
        mode & 0o200 != 0 && std::fs::read_link(link.path()).is_ok_and(|target| target == path)
    })
}

/// Waits for the test: signals that it is waiting, and continues shortly after being released.
const WAIT: &str = "touch waiting; until [ -e go ]; do sleep 0.05; done; sleep 0.5";

#[test]
fn a_device_that_is_mounted_during_the_run_is_protected() {
    if let Err(reason) = skip::tool("mkfs.ext4") {
        skip!("{reason}");
    }
    let device = require!(LoopDevice::new(16 * MIB));
    require!(run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device.text()]));
    let writes = format!("--filename={} --rw=write --bs=64k --size=1m", device.text());
    let other = "--name=first --ioengine=null --size=4k --rw=read";
    for jobs in [
        // The check before the run covers only the first stage.
        format!("{other} --exec_postrun=WAIT --name=w --stonewall {writes}"),
        // A job's own check is outdated if another job of its stage is not ready.
        format!(
            "--name=w {writes} --name=first --filename=none --ioengine=null --size=4k --rw=read --exec_prerun=WAIT"
        ),
    ] {
        let directory = scratch();
        std::fs::write(directory.path().join("wait"), WAIT).expect("written");
        let running = run_that_waits(directory.path(), &jobs);
        if !jobs.contains("stonewall") {
            let writes = |pid| opens_for_writing(pid, device.path());
            let any = || crate::support::processes::descendants(running.pid()).into_iter().any(writes);
            crate::support::wait_until("a device open for writing", any);
        }
        let mount = require!(MountPoint::new(&["-t", "ext4", "-o", "ro,noload", device.text()]));
        let before = device.contents();
        std::fs::write(directory.path().join("go"), "").expect("written");
        let finished = running.finish();
        assert_eq!(finished.code(), 1, "{jobs}: {}", finished.stderr);
        let line = format!("{} is in use: it is mounted at {}", device.text(), text(mount.path()));
        assert!(finished.stderr.contains(&line), "{jobs}: {}", finished.stderr);
        assert!(device.contents() == before, "{jobs}: it has changed");
    }
    expect_written(device.text());
}

/// Names of a loop device's backing file: another name, a hidden one, and one on the other side of an overlay.
#[test]
fn the_file_of_a_loop_device_is_protected_under_any_name() {
    if let Err(reason) = skip::root().and_then(|()| skip::tool("mkfs.ext4")) {
        skip!("{reason}");
    }
    let images = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let named = |name: &str| images.path().join(name);
    for directory in ["hidden", "lower", "upper", "work", "merged"] {
        std::fs::create_dir(named(directory)).expect("a directory");
    }
    let image = file_of(&named("hidden"), "image", 16 * MIB);
    require!(run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", text(&image)]));
    std::fs::hard_link(&image, named("link")).expect("a link");
    let device = require!(LoopDevice::on_file(&image));
    let mount = require!(MountPoint::new(&["-t", "ext4", "-o", "ro", device.text()]));
    let name = |device: &LoopDevice| device.text().trim_start_matches("/dev/").to_owned();
    let on = |device: &LoopDevice, mount: &MountPoint| {
        format!("loop device {} on it is mounted at {} (ext4)", name(device), text(mount.path()))
    };
    expect_refused(text(&named("link")), &on(&device, &mount));
    let cover = Built(vec!["umount"], text(&named("hidden")).to_owned());
    require!(run("mount", &["-t", "tmpfs", "tmpfs", text(&named("hidden"))]));
    let other = file_of(&named("hidden"), "image", MIB);
    expect_refused(text(&named("link")), &on(&device, &mount));
    expect_written(text(&other));
    drop((mount, device, cover));
    let options =
        ["lower", "upper", "work"].map(|part| format!("{part}dir={}", text(&named(part)))).join(",");
    let merged = named("merged");
    require!(run("mount", &["-t", "overlay", "overlay", "-o", &options, text(&merged)]));
    let _overlay = Built(vec!["umount"], text(&merged).to_owned());
    std::fs::copy(named("link"), merged.join("image")).expect("copied");
    for looped in [merged.join("image"), named("upper/image")] {
        let device = require!(LoopDevice::on_file(&looped));
        let mount = require!(MountPoint::new(&["-t", "ext4", "-o", "ro", device.text()]));
        for target in [merged.join("image"), named("upper/image")] {
            expect_refused(text(&target), &on(&device, &mount));
        }
    }
}

/// The kernel does not know the volume group while no volume is active.
#[test]
fn a_device_of_an_inactive_volume_group_is_protected() {
    let device = require!(LoopDevice::new(4 * MIB));
    let mut label = vec![0; 8192];
    label[512..520].copy_from_slice(b"LABELONE");
    label[532..536].copy_from_slice(&32u32.to_le_bytes());
    label[536..544].copy_from_slice(b"LVM2 001");
    label[512 + 72..512 + 80].copy_from_slice(&(1_u64 << 20).to_le_bytes());
    label[512 + 104..512 + 112].copy_from_slice(&4096u64.to_le_bytes());
    label[4100..4116].copy_from_slice(b" LVM2 x[5A%r0N*>");
    label[4096 + 40..4096 + 48].copy_from_slice(&512u64.to_le_bytes());
    label[4608..4614].copy_from_slice(b"data {");
    let file = std::fs::OpenOptions::new().write(true).open(device.path()).expect("it can be written to");
    std::os::unix::fs::FileExt::write_all_at(&file, &label, 0).expect("written");
    drop(file);
    expect_refused(device.text(), "it belongs to the volume group data, which is not active");
    let directory = scratch();
    let words = format!("--name=a --filename={} --bs=64k --size=1m --rw=write", device.text());
    Launch::fathom(directory.path()).words(&words).words("--allow_mounted_write=1").run().expect_clean();
    expect_written(device.text());
}
