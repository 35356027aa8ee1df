//! Loop devices that the kernel detaches when their last user closes them.

use crate::errno::{Errno, check};
use crate::file;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

// From linux/loop.h.
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// Maximum number of attempts to attach a device that another program may take first.
const TRIES: usize = 64;

/// `struct loop_config`.
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// `struct loop_info64`.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// Backing of a loop device, identified by numbers because it may no longer have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A file, by the device number of its file system and its inode.
    File(u64, u64),
    /// A block device, by its number.
    Device(u64),
}

/// Returns the backing of the loop device at a path.
pub fn backing(path: &Path) -> Result<Backing, Errno> {
    let device = file::open(path, libc::O_RDONLY | libc::O_NONBLOCK, 0)?;
    // SAFETY: all fields are numbers, for which zeros are valid.
    let mut info: Info = unsafe { std::mem::zeroed() };
    // SAFETY: LOOP_GET_STATUS64 writes one `struct loop_info64`, whose layout this is, through the pointer.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64 as _, &mut info) };
    check(i64::from(result))?;
    // For a file, this field repeats the device number of its file system.
    Ok(match info.rdevice {
        0 => Backing::File(info.device, info.inode),
        number if number == info.device => Backing::File(info.device, info.inode),
        number => Backing::Device(number),
    })
}

/// An attached device. It is detached once this and every other user has closed it, even if the process was killed.
#[derive(Debug)]
pub struct LoopDevice {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl LoopDevice {
    /// Attaches a file that is open for reading and writing. I/O bypasses the page cache of the file if
    /// possible ([`is_direct`](Self::is_direct)).
    pub fn attach(file: &File) -> Result<LoopDevice, Errno> {
        let control = file::open(Path::new("/dev/loop-control"), libc::O_RDWR, 0)?;
        let mut tries = 0;
        loop {
            tries += 1;
            // SAFETY: LOOP_CTL_GET_FREE takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
            let number = check(i64::from(number))?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            match configure(&path, file) {
                Ok(descriptor) => return Ok(LoopDevice { descriptor, path }),
                Err(Errno(libc::EBUSY)) if tries < TRIES => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the device's open descriptor.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Returns the device's name below /sys/block.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// True if I/O bypasses the page cache of the file.
    pub fn is_direct(&self) -> bool {
        let path = format!("/sys/block/{}/loop/dio", self.name());
        std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
    }
}

fn configure(path: &Path, file: &File) -> Result<OwnedFd, Errno> {
    let device = file::open(path, libc::O_RDWR, 0)?;
    // SAFETY: all fields are numbers, for which zeros are valid.
    let mut config: Config = unsafe { std::mem::zeroed() };
    config.fd = file.as_raw_fd() as u32;
    config.info.flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
    // SAFETY: LOOP_CONFIGURE reads one `struct loop_config`, whose layout this is, through the pointer.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &config) };
    check(i64::from(result))?;
    // The device is opened for reading, because kernels may refuse to mount a device that is open for writing.
    file::open(path, libc::O_RDONLY, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(std::mem::size_of::<Config>(), 8 + 232 + 64);
        assert_eq!(std::mem::offset_of!(Config, info.flags), 8 + 52);
    }
}
