//! Swaps extents between two files of one ext4 file system.

use crate::errno::{Errno, check};
use std::os::fd::RawFd;

/// `struct move_extent` of the kernel's fs/ext4/ext4.h; all numbers except the descriptor are in file system
/// blocks.
#[repr(C)]
struct MoveExtent {
    reserved: u32,
    donor: u32,
    start: u64,
    start_in_donor: u64,
    length: u64,
    moved: u64,
}

/// `EXT4_IOC_MOVE_EXT`, `_IOWR('f', 15, struct move_extent)`.
const MOVE_EXTENT: u32 = 0xc028_660f;

/// Swaps a range of a file with the donor's blocks at the same offset; the data stays in the file. Returns
/// the number of blocks swapped.
pub fn exchange(file: RawFd, donor: RawFd, start: u64, length: u64) -> Result<u64, Errno> {
    let mut range =
        MoveExtent { reserved: 0, donor: donor as u32, start, start_in_donor: start, length, moved: 0 };
    // SAFETY: the structure is the call's, and lives through it.
    check(i64::from(unsafe { libc::ioctl(file, MOVE_EXTENT as _, &mut range) }))?;
    Ok(range.moved)
}
