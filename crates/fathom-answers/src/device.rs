//! A device or file whose content a command destroys: its properties, the confirmation by naming it twice, and
//! a lock on it.

use crate::Runner;
use crate::figures::size;
use fathom_command::Failure;
use fathom_sys::{block_device, file_system};
use std::fs::{File, Metadata, TryLockError};
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time to wait for a command to exit after it was killed.
const PATIENCE: Duration = Duration::from_secs(5);
/// Unit in which the kernel gives the sizes of devices, in bytes.
pub(crate) const SECTOR: u64 = 512;

/// A failure message that begins with the path.
pub(crate) fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(format!("{}: {why}", path.display()))
}

/// Checks that the file system has space for the whole file. Without the check, the file might fill up a shared
/// disk before it fails.
pub(crate) fn check_room(path: &Path, bytes: u64) -> Result<(), Failure> {
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

/// Checks that `--destroy` names the same target, possibly under another name.
pub(crate) fn check_named_twice(
    named: &Path,
    metadata: &Metadata,
    destroy: Option<&Path>,
) -> Result<(), Failure> {
    let Some(again) = destroy else {
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

/// A device that a run may use: unused and whole.
pub(crate) struct Scratch {
    /// Its path without links.
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

/// Examines a device that a run reads or, if `writes`, whose content it destroys.
pub(crate) fn scratch(
    named: &Path,
    destroy: Option<&Path>,
    writes: bool,
    runner: &dyn Runner,
) -> Result<Scratch, Failure> {
    let metadata = std::fs::metadata(named).map_err(|error| Failure::file(named, &error))?;
    let path = std::fs::canonicalize(named).map_err(|error| Failure::file(named, &error))?;
    if !metadata.file_type().is_block_device() {
        return Err(refused(
            named,
            "it is not a block device; losetup --find --show FILE makes one of a file",
        ));
    }
    if writes {
        check_named_twice(named, &metadata, destroy)?;
        if let Some(used) = runner.use_of(&path) {
            return Err(refused(named, &format!("it is in use: {used}; name another device")));
        }
    }
    let bytes = whole_device(named, &path, &Facts::of(&metadata), writes)?;
    Ok(Scratch { path, bytes })
}

/// The size of a device, which may be written to if `writes`.
pub(crate) fn whole_device(named: &Path, path: &Path, facts: &Facts, writes: bool) -> Result<u64, Failure> {
    if writes && facts.is_read_only() {
        return Err(refused(named, "it is read only"));
    }
    let partitions = facts.partitions();
    if writes && !partitions.is_empty() {
        return Err(refused(
            named,
            &format!(
                "it has partitions ({}); name one of them, or remove the table first, if nothing on it is needed: wipefs --all {}",
                partitions.join(" "),
                path.display()
            ),
        ));
    }
    match facts.bytes() {
        0 => Err(refused(named, "the kernel reports no size for it; it may have no medium")),
        bytes => Ok(bytes),
    }
}

/// The real path of a file that does not exist yet. Refuses regular files below /dev.
pub(crate) fn path_of_new_file(named: &Path) -> Result<PathBuf, Failure> {
    let directory = named.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = std::fs::canonicalize(directory).map_err(|error| Failure::file(directory, &error))?;
    let name = named.file_name().ok_or_else(|| refused(named, "this is not a file name"))?;
    let path = directory.join(name);
    match path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        true => {
            Err(refused(named, "there is no such device; fathom does not create regular files under /dev"))
        }
        false => Ok(path),
    }
}

/// Identity of the object at a path, regardless of the path's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A device by its number.
    Device(u64),
    /// Any other object, by the number of its file system and its inode number.
    File(u64, u64),
}

pub(crate) fn identity(metadata: &Metadata) -> Identity {
    match metadata.file_type().is_block_device() {
        true => Identity::Device(metadata.st_rdev()),
        false => Identity::File(metadata.st_dev(), metadata.st_ino()),
    }
}

/// The kernel's facts about a block device.
pub(crate) struct Facts {
    sysfs: PathBuf,
}

impl Facts {
    pub(crate) fn of(metadata: &Metadata) -> Facts {
        Facts { sysfs: sysfs_of(metadata) }
    }

    /// Content of a file in the device's sysfs directory; empty if the file does not exist.
    pub(crate) fn value(&self, name: &str) -> String {
        std::fs::read_to_string(self.sysfs.join(name)).unwrap_or_default().trim().to_owned()
    }

    /// Content of a file in the sysfs directory of the device's disk, for attributes that partitions do not
    /// have.
    pub(crate) fn value_of_disk(&self, name: &str) -> String {
        let above = Path::new("..").join(name);
        match self.sysfs.join("partition").exists() {
            true => self.value(&above.to_string_lossy()),
            false => self.value(name),
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.value("ro") == "1"
    }

    /// Size in bytes; 0 if the device has no medium.
    pub(crate) fn bytes(&self) -> u64 {
        self.value("size").parse::<u64>().unwrap_or(0).saturating_mul(SECTOR)
    }

    /// The backing file of a loop device; empty for other devices.
    pub(crate) fn behind(&self) -> String {
        self.value("loop/backing_file")
    }

    /// Kernel names of the device's partitions.
    pub(crate) fn partitions(&self) -> Vec<String> {
        partitions(&self.sysfs)
    }

    /// The serial number of a disk, or of a partition's disk. It identifies the disk after a reboot, when names
    /// such as /dev/sdb may refer to other disks.
    pub(crate) fn serial(&self) -> String {
        serial(&self.sysfs)
    }
}

/// The sysfs directory of a device.
fn sysfs_of(metadata: &Metadata) -> PathBuf {
    let link = number_path(metadata.st_rdev());
    std::fs::canonicalize(&link).unwrap_or(link)
}

fn number_path(number: u64) -> PathBuf {
    // The bits are split as in the C library's gnu_dev_major and gnu_dev_minor.
    let major = (number >> 8) & 0xfff | (number >> 32) & 0xffff_f000;
    let minor = number & 0xff | (number >> 12) & 0xffff_ff00;
    PathBuf::from(format!("/sys/dev/block/{major}:{minor}"))
}

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

/// Locks held while a command works on a device or file. The kernel releases them regardless of how the command
/// ends.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The device or file itself.
    own: File,
    /// The disk that contains a partition.
    _disk: Option<File>,
}

impl Claim {
    /// Locks out other commands on the same bytes. Programs that watch devices, such as udev, do not touch a
    /// locked device either.
    pub(crate) fn of(path: &Path, own: File) -> Result<Claim, Failure> {
        lock(path, || own.try_lock())?;
        let disk = own.metadata().ok().and_then(|metadata| disk_of(&metadata));
        if let Some((path, file)) = &disk {
            lock(path, || file.try_lock_shared())?;
        }
        Ok(Claim { own, _disk: disk.map(|(_, file)| file) })
    }

    /// Fails if the path now leads to another object, or to none.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Failure> {
        let held = self.own.metadata().map_err(|error| Failure::file(path, &error))?;
        let found = std::fs::metadata(path).map_err(|error| Failure::file(path, &error))?;
        let is_there = !found.file_type().is_block_device() || sysfs_of(&found).exists();
        match identity(&held) == identity(&found) && is_there {
            true => Ok(()),
            false => Err(refused(path, "this is no longer the device that the runs began on")),
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
                    "another program has locked it, perhaps another fathom; wait until that exits",
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
        let partition = Facts { sysfs: disk.path().join("sdz1") };
        assert_eq!(
            (partition.value_of_disk("queue/rotational"), partition.value("ro")),
            ("0".into(), String::new())
        );
    }

    #[test]
    fn device_numbers_have_two_parts() {
        assert_eq!(number_path(0x0801), Path::new("/sys/dev/block/8:1"));
        assert_eq!(number_path(0x0010_0302), Path::new("/sys/dev/block/3:258"));
    }
}
