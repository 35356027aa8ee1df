//! A block device made of memory: so fast that the tester, not the device, decides on the rate.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::NamedTempFile;

/// Bytes of the device.
const SIZE: u64 = 256 << 20;

/// A compressed memory disk, or a loop device on a file in memory where the kernel has none.
pub(crate) struct MemoryDevice {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    Zram { number: String },
    Loop { _backing: NamedTempFile },
}

impl MemoryDevice {
    /// A new device full of data, or why there can be none.
    pub(crate) fn create() -> Result<MemoryDevice, String> {
        if !is_root() {
            return Err("a block device needs root".to_owned());
        }
        let device = zram().or_else(|_| loop_device())?;
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
        let result = match &self.kind {
            Kind::Zram { number } => std::fs::write("/sys/class/zram-control/hot_remove", number),
            Kind::Loop { .. } => Command::new("losetup").arg("--detach").arg(&self.path).status().map(drop),
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
    // Reading this file makes a device that nobody else has.
    let number =
        std::fs::read_to_string("/sys/class/zram-control/hot_add").map_err(|error| error.to_string())?;
    let number = number.trim().to_owned();
    let path = PathBuf::from(format!("/dev/zram{number}"));
    let size = format!("/sys/block/zram{number}/disksize");
    let device = MemoryDevice { path, kind: Kind::Zram { number } };
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
            Ok(MemoryDevice { path, kind: Kind::Loop { _backing: backing } })
        }
    }
}

/// Random content, which neither compression nor a shortcut for empty blocks makes cheaper to read.
fn fill(path: &Path) -> io::Result<()> {
    let mut device = OpenOptions::new().write(true).open(path)?;
    io::copy(&mut File::open("/dev/urandom")?.take(SIZE), &mut device)?;
    device.sync_all()
}
