//! The device that a sweep may destroy: named twice, idle, whole, and locked against other sweeps.

use super::Given;
use crate::Runner;
use crate::figures::size;
use fathom_command::Failure;
use fathom_sys::{block_device, file_system};
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the end of a sweep that was killed is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The unit in which the kernel tells sizes of devices.
const SECTOR: u64 = 512;

/// What the file systems are made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::sweep) enum Backing {
    /// A block device.
    Device,
    /// A file that was there before, behind a loop device.
    File,
    /// A file without a name in the directory of this path, as long as the sweep runs.
    Made,
}

/// What was found at the name of a device.
pub(super) struct Found {
    /// Its path without links.
    pub(super) path: PathBuf,
    pub(super) backing: Backing,
    pub(super) bytes: u64,
    /// The file behind a device that is a loop device itself.
    pub(super) behind: String,
    /// What the disk calls itself, if it does.
    pub(super) serial: String,
}

impl Found {
    fn file(path: PathBuf, backing: Backing, bytes: u64) -> Found {
        Found { path, backing, bytes, behind: String::new(), serial: String::new() }
    }
}

/// Looks at what `--device` and `--destroy` name.
pub(super) fn examine(given: &Given, runner: &dyn Runner) -> Result<Found, Failure> {
    let named = given.device.as_deref().ok_or_else(|| {
        Failure::new(
            "--fs needs --device=DEVICE, and once more --destroy=DEVICE, since the content of the device will be lost",
        )
    })?;
    let metadata = match std::fs::metadata(named) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return examine_missing(named, given),
        Err(error) => return Err(Failure::file(named, &error)),
    };
    let path = std::fs::canonicalize(named).map_err(|error| Failure::file(named, &error))?;
    let kind = metadata.file_type();
    if !kind.is_block_device() && !kind.is_file() {
        return Err(refused(named, "it is neither a block device nor a regular file"));
    }
    check_named_twice(named, &metadata, given)?;
    if given.device_size.is_some() {
        return Err(refused(named, "it exists and has a size; leave --device-size out"));
    }
    if let Some(used) = runner.use_of(&path) {
        return Err(refused(named, &format!("it is in use: {used}; name another device")));
    }
    if kind.is_file() {
        let allocated = metadata.st_blocks().saturating_mul(SECTOR);
        check_room(&path, metadata.len().saturating_sub(allocated))?;
        let bytes = metadata.len() / SECTOR * SECTOR;
        return Ok(Found::file(path, Backing::File, bytes));
    }
    let sysfs = sysfs_of(&metadata);
    let value = |name: &str| std::fs::read_to_string(sysfs.join(name)).unwrap_or_default().trim().to_owned();
    if value("ro") == "1" {
        return Err(refused(named, "it is read only"));
    }
    let partitions = partitions(&sysfs);
    if !partitions.is_empty() {
        return Err(refused(
            named,
            &format!(
                "it has partitions ({}); name one of them, or remove the table first, if nothing on it is needed: wipefs --all {}",
                partitions.join(" "),
                path.display()
            ),
        ));
    }
    let bytes = value("size").parse::<u64>().unwrap_or(0).saturating_mul(SECTOR);
    match bytes {
        0 => Err(refused(named, "the kernel tells no size of it; it may have no medium")),
        _ => {
            let behind = value("loop/backing_file");
            Ok(Found { path, backing: Backing::Device, bytes, behind, serial: serial(&sysfs) })
        }
    }
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(format!("{}: {why}", path.display()))
}

/// A file that is made for the time of the sweep.
fn examine_missing(named: &Path, given: &Given) -> Result<Found, Failure> {
    let bytes = given.device_size.ok_or_else(|| {
        refused(
            named,
            "there is no such device or file; --device-size=SIZE would make a file for the time of the sweep",
        )
    })?;
    let directory = named.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = std::fs::canonicalize(directory).map_err(|error| Failure::file(directory, &error))?;
    let name = named.file_name().ok_or_else(|| refused(named, "this is no name of a file"))?;
    let path = directory.join(name);
    if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        return Err(refused(
            named,
            "there is no such device; fathom does not create regular files under /dev",
        ));
    }
    if given.destroy.as_deref().is_some_and(|destroy| destroy != named) {
        return Err(refused(named, "--destroy names something else"));
    }
    if !bytes.is_multiple_of(SECTOR) {
        return Err(Failure::new(format!("--device-size: a device has a multiple of {SECTOR} bytes")));
    }
    check_room(&path, bytes)?;
    Ok(Found::file(path, Backing::Made, bytes))
}

/// Every block of a file is written before it becomes a device: it must not fill the disk of others on the way to an error.
fn check_room(path: &Path, bytes: u64) -> Result<(), Failure> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let free = file_system::free_bytes(directory)
        .map_err(|errno| Failure::new(format!("{}: {errno}", directory.display())))?;
    match bytes > free {
        true => Err(refused(
            path,
            &format!("it needs {} more, but {} has {} left", size(bytes), directory.display(), size(free)),
        )),
        false => Ok(()),
    }
}

/// Both options name one thing, if by other names.
fn check_named_twice(named: &Path, metadata: &Metadata, given: &Given) -> Result<(), Failure> {
    let Some(again) = &given.destroy else {
        return Err(refused(
            named,
            &format!(
                "its whole content will be lost; if that is meant, name it again: --destroy={}",
                named.display()
            ),
        ));
    };
    let other = std::fs::metadata(again).map_err(|error| Failure::file(again, &error))?;
    match identity(&other) == identity(metadata) {
        true => Ok(()),
        false => Err(refused(
            named,
            &format!("--destroy={} is another device; both must name the same one", again.display()),
        )),
    }
}

/// What a path leads to, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// A device by its number.
    Device(u64),
    /// Anything else by its file system and its number there.
    File(u64, u64),
}

pub(super) fn identity(metadata: &Metadata) -> Identity {
    match metadata.file_type().is_block_device() {
        true => Identity::Device(metadata.st_rdev()),
        false => Identity::File(metadata.st_dev(), metadata.st_ino()),
    }
}

/// Where the kernel describes a device.
fn sysfs_of(metadata: &Metadata) -> PathBuf {
    let link = number_path(metadata.st_rdev());
    std::fs::canonicalize(&link).unwrap_or(link)
}

fn number_path(number: u64) -> PathBuf {
    // As in the C library's gnu_dev_major and gnu_dev_minor.
    let major = (number >> 8) & 0xfff | (number >> 32) & 0xffff_f000;
    let minor = number & 0xff | (number >> 12) & 0xffff_ff00;
    PathBuf::from(format!("/sys/dev/block/{major}:{minor}"))
}

/// The serial number of a disk, or of the disk around a partition: names such as /dev/sdb move to other disks when a machine is
/// started again.
fn serial(sysfs: &Path) -> String {
    let places = ["wwid", "device/wwid", "device/serial", "serial"];
    let own = [sysfs.to_owned(), sysfs.join("..")].into_iter().take(match sysfs.join("partition").exists() {
        true => 2,
        false => 1,
    });
    let mut texts = own
        .flat_map(|directory| places.map(|place| directory.join(place)))
        .map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let found = texts.find(|text| !text.trim().is_empty()).unwrap_or_default();
    fathom_results::single_line(found.trim())
}

fn partitions(sysfs: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(sysfs).into_iter().flatten().flatten();
    let found = entries.filter(|entry| entry.path().join("partition").exists());
    let mut names: Vec<String> =
        found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Locks that are held as long as a sweep works on a device or file. The kernel gives them back, however the sweep ends.
#[derive(Debug)]
pub(super) struct Claim {
    /// The device or file itself.
    own: File,
    /// The disk around a partition.
    _disk: Option<File>,
}

impl Claim {
    /// Locks out other sweeps on the same bytes. Programs that watch devices (udev) leave a locked one alone as well.
    pub(super) fn of(path: &Path, own: File) -> Result<Claim, Failure> {
        lock(path, || own.try_lock())?;
        let disk = own.metadata().ok().and_then(|metadata| disk_of(&metadata));
        if let Some((path, file)) = &disk {
            lock(path, || file.try_lock_shared())?;
        }
        Ok(Claim { own, _disk: disk.map(|(_, file)| file) })
    }

    /// An error if the path leads to something else by now, or to nothing.
    pub(super) fn check(&self, path: &Path) -> Result<(), Failure> {
        let held = self.own.metadata().map_err(|error| Failure::file(path, &error))?;
        let found = std::fs::metadata(path).map_err(|error| Failure::file(path, &error))?;
        let is_there = !found.file_type().is_block_device() || sysfs_of(&found).exists();
        match identity(&held) == identity(&found) && is_there {
            true => Ok(()),
            false => Err(refused(path, "this is no longer the device that the sweep began on")),
        }
    }
}

fn disk_of(metadata: &Metadata) -> Option<(PathBuf, File)> {
    let sysfs = sysfs_of(metadata);
    if !metadata.file_type().is_block_device() || !sysfs.join("partition").exists() {
        return None;
    }
    let text = std::fs::read_to_string(sysfs.parent()?.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    let path = block_device::device_path(major.parse().ok()?, minor.parse().ok()?)?;
    let file = File::open(&path).ok()?;
    Some((path, file))
}

fn lock(path: &Path, try_lock: impl Fn() -> Result<(), TryLockError>) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(refused(
                    path,
                    "another program has locked it, perhaps another sweep; wait for its end",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(Failure::file(path, &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysfs_tells_partitions_and_serials() {
        let disk = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = disk.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        write("queue/rotational", "0\n");
        assert!(partitions(disk.path()).is_empty());
        write("sdz2/partition", "2\n");
        write("sdz1/partition", "1\n");
        assert_eq!(partitions(disk.path()), ["sdz1", "sdz2"]);
        assert_eq!(serial(disk.path()), "");
        write("device/serial", " S3RI AL\n");
        assert_eq!(serial(disk.path()), "S3RI AL");
        assert_eq!(serial(&disk.path().join("sdz1")), "S3RI AL");
    }

    #[test]
    fn device_numbers_have_two_parts() {
        assert_eq!(number_path(0x0801), Path::new("/sys/dev/block/8:1"));
        assert_eq!(number_path(0x0010_0302), Path::new("/sys/dev/block/3:258"));
    }
}
