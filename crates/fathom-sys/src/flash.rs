//! Flash memory devices (`/dev/mtd0`): geometry, erasing, bad blocks.

use crate::errno::{Errno, check};
use std::fs;
use std::os::fd::RawFd;

// From mtd/mtd-abi.h: _IOW('M', 20, struct erase_info_user64), _IOW('M', 11, __kernel_loff_t).
const MEMERASE64: libc::c_ulong = 0x4010_4D14;
const MEMGETBADBLOCK: libc::c_ulong = 0x4008_4D0B;

/// Geometry of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Size of the device in bytes.
    pub size: u64,
    /// Size of an erase block in bytes.
    pub erase_size: u64,
    /// Granularity in bytes: writes start and end at multiples of it.
    pub write_size: u64,
}

/// Returns the geometry of the flash device with this number; `None` if the device is not flash memory.
pub fn geometry(device: u64) -> Option<Geometry> {
    let directory = format!("/sys/dev/char/{}:{}", libc::major(device), libc::minor(device));
    let number =
        |name: &str| fs::read_to_string(format!("{directory}/{name}")).ok()?.trim().parse::<u64>().ok();
    let geometry = Geometry {
        size: number("size")?,
        erase_size: number("erasesize")?,
        write_size: number("writesize")?,
    };
    (geometry.erase_size > 0).then_some(geometry)
}

/// Erases whole blocks: sets all their bits to 1.
pub fn erase(fd: RawFd, offset: u64, length: u64) -> Result<(), Errno> {
    let range = [offset, length];
    // SAFETY: MEMERASE64 reads two u64 through the pointer.
    let result = unsafe { libc::ioctl(fd, MEMERASE64 as _, range.as_ptr()) };
    check(i64::from(result)).map(|_| ())
}

/// True if the erase block at `offset` is marked as bad. Devices without such marks have no bad blocks.
pub fn is_bad(fd: RawFd, offset: u64) -> Result<bool, Errno> {
    let offset = offset as libc::loff_t;
    // SAFETY: MEMGETBADBLOCK reads one loff_t through the pointer.
    let result = unsafe { libc::ioctl(fd, MEMGETBADBLOCK as _, &offset) };
    match check(i64::from(result)) {
        Err(Errno(libc::EOPNOTSUPP)) => Ok(false),
        answer => answer.map(|bad| bad != 0),
    }
}
