//! Questions to and commands for block devices.

use crate::errno::{Errno, check};
use std::os::fd::RawFd;

// From linux/fs.h: _IOR(0x12, 114, size_t), _IO(0x12, 97), _IO(0x12, 119).
const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;
const BLKFLSBUF: libc::c_ulong = 0x1261;
const BLKDISCARD: libc::c_ulong = 0x1277;

/// Size of a block device in bytes.
pub fn size(fd: RawFd) -> Result<u64, Errno> {
    let mut bytes: u64 = 0;
    // SAFETY: BLKGETSIZE64 stores one u64 through the pointer.
    let result = unsafe { libc::ioctl(fd, BLKGETSIZE64 as _, &mut bytes) };
    check(i64::from(result)).map(|_| bytes)
}

/// Writes back and drops the buffer cache of a block device.
pub fn flush_buffers(fd: RawFd) -> Result<(), Errno> {
    // SAFETY: BLKFLSBUF takes no argument.
    let result = unsafe { libc::ioctl(fd, BLKFLSBUF as _, 0) };
    check(i64::from(result)).map(|_| ())
}

/// Discards a range of a block device.
pub fn discard(fd: RawFd, offset: u64, length: u64) -> Result<(), Errno> {
    let range = [offset, length];
    // SAFETY: BLKDISCARD reads two u64 through the pointer.
    let result = unsafe { libc::ioctl(fd, BLKDISCARD as _, range.as_ptr()) };
    check(i64::from(result)).map(|_| ())
}
