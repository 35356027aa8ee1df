//! Block devices and file systems in memory, removed on drop.

use super::program::Finished;
use super::skip;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use tempfile::{NamedTempFile, TempDir};

/// `losetup --find` and the use of its result are two steps, so only one test at a time may perform them.
static FINDING: Mutex<()> = Mutex::new(());

/// A loop device on a file in memory.
pub(crate) struct LoopDevice {
    path: PathBuf,
    /// The file, if it belongs to the device.
    backing: Option<NamedTempFile>,
}

impl LoopDevice {
    /// A device of `bytes` bytes whose blocks are all allocated.
    pub(crate) fn new(bytes: u64) -> Result<LoopDevice, String> {
        skip::root()?;
        skip::tool("losetup")?;
        let backing = NamedTempFile::new_in("/dev/shm").map_err(|error| format!("/dev/shm: {error}"))?;
        std::fs::write(backing.path(), vec![0xa5; bytes as usize])
            .map_err(|error| format!("/dev/shm: {error}"))?;
        LoopDevice::on(backing)
    }

    /// A device of `bytes` bytes on a sparse file in `directory`: writes fail once the space is exhausted.
    pub(crate) fn with_holes(directory: &Path, bytes: u64) -> Result<LoopDevice, String> {
        skip::root()?;
        skip::tool("losetup")?;
        let backing = NamedTempFile::new_in(directory).map_err(|error| format!("{directory:?}: {error}"))?;
        backing.as_file().set_len(bytes).map_err(|error| format!("{directory:?}: {error}"))?;
        LoopDevice::on(backing)
    }

    fn on(backing: NamedTempFile) -> Result<LoopDevice, String> {
        let mut device = LoopDevice::on_file(backing.path())?;
        device.backing = Some(backing);
        Ok(device)
    }

    /// A device on a file that is kept.
    pub(crate) fn on_file(file: &Path) -> Result<LoopDevice, String> {
        LoopDevice::attached(file, &[])
    }

    /// A device on a file that is kept, with device nodes for its partitions.
    pub(crate) fn with_partitions(file: &Path) -> Result<LoopDevice, String> {
        skip::root()?;
        LoopDevice::attached(file, &["--partscan"])
    }

    /// Sets an attribute of its request queue in sysfs.
    pub(crate) fn tune(&self, attribute: &str, value: &str) -> Result<(), String> {
        let device = self.path.file_name().unwrap_or_default();
        let path = Path::new("/sys/block").join(device).join("queue").join(attribute);
        std::fs::write(&path, value).map_err(|error| format!("{value} in {}: {error}", path.display()))
    }

    /// A device with sectors of this many bytes on a file that is kept.
    pub(crate) fn with_sectors(file: &Path, bytes: u32) -> Result<LoopDevice, String> {
        skip::root()?;
        LoopDevice::attached(file, &["--sector-size", &bytes.to_string()])
    }

    fn attached(file: &Path, more: &[&str]) -> Result<LoopDevice, String> {
        let _one_at_a_time = FINDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let file = file.to_str().ok_or("the path of a temporary file is text")?;
        let path = run("losetup", &[more, &["--find", "--show", file]].concat())?;
        Ok(LoopDevice { path: path.trim().into(), backing: None })
    }

    /// The path as text.
    pub(crate) fn text(&self) -> &str {
        self.path.to_str().expect("the path of a device is text")
    }

    /// The device.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn backing(&self) -> &NamedTempFile {
        self.backing.as_ref().expect("a device on a separate file")
    }

    /// Bytes that the file behind the device occupies.
    pub(crate) fn allocated(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        self.backing().as_file().metadata().expect("the backing file has metadata").blocks() * 512
    }

    /// Content of the device.
    pub(crate) fn contents(&self) -> Vec<u8> {
        std::fs::read(self.backing().path()).expect("the backing file can be read")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // A device that cannot be detached remains; losetup's message names it.
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}

/// A mounted file system. Fields are dropped in order: it is unmounted first, then the device is detached.
pub(crate) struct Mounted {
    mount: MountPoint,
    device: Option<LoopDevice>,
}

impl Mounted {
    /// A file system created by `mkfs.TYPE` on a loop device.
    pub(crate) fn new(kind: &str, bytes: u64) -> Result<Mounted, String> {
        skip::tool(&format!("mkfs.{kind}"))?;
        let device = LoopDevice::new(bytes)?;
        let path = device.path().to_str().ok_or("the path of a device is text")?;
        run(&format!("mkfs.{kind}"), &["-q", path])?;
        Ok(Mounted { mount: MountPoint::new(&["-t", kind, path])?, device: Some(device) })
    }

    /// A file system in memory with a capacity of `bytes` bytes.
    pub(crate) fn memory(bytes: u64) -> Result<Mounted, String> {
        skip::root()?;
        Ok(Mounted {
            mount: MountPoint::new(&["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])?,
            device: None,
        })
    }

    /// Its mount point.
    pub(crate) fn path(&self) -> &Path {
        self.mount.0.path()
    }

    /// The underlying device, if any.
    pub(crate) fn device(&self) -> Option<&Path> {
        self.device.as_ref().map(LoopDevice::path)
    }

    /// Remounts it read-only.
    pub(crate) fn make_read_only(&self) -> Result<(), String> {
        run("mount", &["-o", "remount,ro", self.path().to_str().ok_or("the path is text")?]).map(drop)
    }
}

/// A mount that is unmounted on drop.
pub(crate) struct MountPoint(TempDir);

impl MountPoint {
    /// Mounts with these arguments of mount(8) on a separate directory.
    pub(crate) fn new(arguments: &[&str]) -> Result<MountPoint, String> {
        let directory = super::scratch();
        let path = directory.path().to_str().ok_or("the path of a temporary directory is text")?;
        run("mount", &[arguments, &[path]].concat())?;
        Ok(MountPoint(directory))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        // Lazily, so that an open file does not keep the mount forever.
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

/// The kernel's counters for a block device, by its name without `/dev/`: reads, merged reads, sectors read,
/// ..., writes.
pub(crate) fn statistics(name: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("statistics");
    text.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}

/// Uses a device with an ext4 file system in ways that forbid writing to it; `refused` checks that a program
/// reports this in these words.
pub(crate) fn in_use(device: &LoopDevice, refused: impl Fn(&str)) -> Result<(), String> {
    // Its journal would write by itself five seconds after mounting.
    let mount = MountPoint::new(&["-t", "ext4", "-o", "commit=300", device.text()])?;
    run("sync", &["-f", mount.path().to_str().expect("text")])?;
    refused("is in use: it is mounted at ");
    drop(mount);
    let mut options = std::fs::OpenOptions::new();
    let claim = options.read(true).custom_flags(libc::O_EXCL).open(device.path()).expect("it is free");
    refused("it is claimed by the kernel or a program");
    drop(claim);
    run("blockdev", &["--setro", device.text()])?;
    refused("it is read only");
    run("blockdev", &["--setrw", device.text()])?;
    Ok(())
}

/// Makes it active swap, which `answer` must refuse and leave unchanged.
#[track_caller]
pub(crate) fn in_use_as_swap(device: &LoopDevice, answer: impl Fn() -> Finished) -> Result<(), String> {
    run("mkswap", &[device.text()])?;
    run("swapon", &[device.text()])?;
    let before = std::fs::read(device.path()).expect("it can be read");
    let answer = answer();
    run("swapoff", &[device.text()]).expect("it was on");
    assert!(answer.stderr.contains("it is active swap"), "{}", answer.stderr);
    assert!(std::fs::read(device.path()).expect("it can be read") == before);
    Ok(())
}

/// Runs a system tool; returns its output, or its message as the error.
pub(crate) fn run(tool: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(tool).args(arguments).output().map_err(|error| format!("{tool}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A control group that limits its members' rate on a device. The limit is removed on drop.
pub(crate) struct Throttle {
    group: PathBuf,
    /// For a limit on the root group: the file of the limit, and the device.
    of_everybody: Option<(PathBuf, String)>,
}

impl Throttle {
    /// Limits the device for all processes and the kernel's writeback: `read_bps`, `write_bps`, `read_iops` or
    /// `write_iops`. This requires version 1 of control groups, in which all processes share one root group.
    pub(crate) fn of_everybody(device: &Path, what: &str, limit: u64) -> Result<Throttle, String> {
        let group = PathBuf::from("/sys/fs/cgroup/blkio");
        let file = group.join(format!("blkio.throttle.{what}_device"));
        let number = device_number(device)?;
        std::fs::write(&file, format!("{number} {limit}"))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Throttle { group, of_everybody: Some((file, number)) })
    }

    /// Limits members of the group to `reads_per_second` on the device.
    pub(crate) fn new(device: &Path, reads_per_second: u32) -> Result<Throttle, String> {
        let root = Path::new("/sys/fs/cgroup/blkio");
        let group = root.join(format!(
            "fathom-throttle-{}-{}",
            std::process::id(),
            device.file_name().unwrap_or_default().to_string_lossy()
        ));
        std::fs::create_dir(&group).map_err(|error| format!("{}: {error}", group.display()))?;
        let throttle = Throttle { group, of_everybody: None };
        let rule = format!("{} {reads_per_second}", device_number(device)?);
        std::fs::write(throttle.group.join("blkio.throttle.read_iops_device"), rule)
            .map_err(|error| format!("reads cannot be limited: {error}"))?;
        Ok(throttle)
    }

    pub(crate) fn name(&self) -> String {
        self.group.file_name().expect("a name").to_string_lossy().into_owned()
    }

    /// The file to which a process writes its ID to join the group.
    pub(crate) fn members(&self) -> PathBuf {
        self.group.join("cgroup.procs")
    }

    /// A subgroup without separate limits, created by the job.
    pub(crate) fn inner(&self) -> String {
        format!("{}/inner", self.name())
    }
}

/// `major:minor` of a device.
fn device_number(device: &Path) -> Result<String, String> {
    let number = std::fs::metadata(device).map_err(|error| error.to_string())?.st_rdev();
    Ok(format!("{}:{}", number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xfff00))
}

impl Drop for Throttle {
    fn drop(&mut self) {
        match &self.of_everybody {
            Some((file, number)) => drop(std::fs::write(file, format!("{number} 0"))),
            None => {
                let _ = std::fs::remove_dir(self.group.join("inner"));
                let _ = std::fs::remove_dir(&self.group);
            }
        }
    }
}
