//! Block devices in memory, so fast that the tester rather than the device limits the rate.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::NamedTempFile;

/// Bytes of the device.
const SIZE: u64 = 256 << 20;

/// Kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceKind {
    /// A compressed memory disk (zram). It completes each I/O within the submission call, in the submitter's
    /// thread. It does not support non-blocking submission, so the kernel hands io_uring's I/O to worker
    /// threads.
    Zram,
    /// A loop device on a file in memory. I/O is queued and completes later, as on a real device.
    Loop,
}

impl DeviceKind {
    /// The name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DeviceKind::Zram => "zram",
            DeviceKind::Loop => "loop device in memory",
        }
    }
}

/// A device that is removed on drop.
pub(crate) struct MemoryDevice {
    path: PathBuf,
    hold: Hold,
}

/// Resource that keeps the device alive.
enum Hold {
    Zram { number: String },
    Loop { _backing: NamedTempFile },
}

impl MemoryDevice {
    /// Creates a device filled with data; the error says why it cannot be created.
    pub(crate) fn create(kind: DeviceKind) -> Result<MemoryDevice, String> {
        if !is_root() {
            return Err("a block device needs root".to_owned());
        }
        let device = match kind {
            DeviceKind::Zram => zram().map_err(|error| format!("cannot create a zram device: {error}"))?,
            DeviceKind::Loop => loop_device()?,
        };
        fill(&device.path).map_err(|error| format!("{}: {error}", device.path.display()))?;
        Ok(device)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryDevice {
    fn drop(&mut self) {
        let result = match &self.hold {
            Hold::Zram { number } => std::fs::write("/sys/class/zram-control/hot_remove", number),
            Hold::Loop { .. } => Command::new("losetup").arg("--detach").arg(&self.path).status().map(drop),
        };
        if let Err(error) = result {
            eprintln!("{} stays: {error}", self.path.display());
        }
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn zram() -> Result<MemoryDevice, String> {
    // Reading this file creates a new, unused device.
    let number =
        std::fs::read_to_string("/sys/class/zram-control/hot_add").map_err(|error| error.to_string())?;
    let number = number.trim().to_owned();
    let path = PathBuf::from(format!("/dev/zram{number}"));
    let size = format!("/sys/block/zram{number}/disksize");
    let device = MemoryDevice { path, hold: Hold::Zram { number } };
    std::fs::write(size, SIZE.to_string()).map_err(|error| error.to_string())?;
    Ok(device)
}

fn loop_device() -> Result<MemoryDevice, String> {
    let backing = NamedTempFile::new_in("/dev/shm").map_err(|error| format!("/dev/shm: {error}"))?;
    backing.as_file().set_len(SIZE).map_err(|error| format!("/dev/shm: {error}"))?;
    let made = Command::new("losetup")
        .args(["--find", "--show", "--direct-io=on"])
        .arg(backing.path())
        .output()
        .map_err(|error| format!("losetup: {error}"))?;
    match made.status.success() {
        false => Err(format!("losetup: {}", String::from_utf8_lossy(&made.stderr).trim())),
        true => {
            let path = PathBuf::from(String::from_utf8_lossy(&made.stdout).trim());
            Ok(MemoryDevice { path, hold: Hold::Loop { _backing: backing } })
        }
    }
}

/// Writes random content, so that neither compression nor a shortcut for empty blocks makes reads cheaper.
fn fill(path: &Path) -> io::Result<()> {
    let mut device = OpenOptions::new().write(true).open(path)?;
    io::copy(&mut File::open("/dev/urandom")?.take(SIZE), &mut device)?;
    device.sync_all()
}
