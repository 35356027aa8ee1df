//! Exchanging the blocks below two files of one ext4 file system.

use crate::errno::{Errno, check};
use std::os::fd::RawFd;

/// `struct move_extent` of the kernel's fs/ext4/ext4.h; all numbers but the descriptor are blocks of the file system.
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
const MOVE_EXTENT: libc::c_ulong = 0xc028_660f;

/// Gives a range of a file the blocks that the donor has at the same place, with the data of the file; the donor gets the others.
/// How many blocks that were.
pub fn exchange(file: RawFd, donor: RawFd, start: u64, length: u64) -> Result<u64, Errno> {
    let mut range =
        MoveExtent { reserved: 0, donor: donor as u32, start, start_in_donor: start, length, moved: 0 };
    // SAFETY: the structure is the call's, and lives through it.
    check(i64::from(unsafe { libc::ioctl(file, MOVE_EXTENT, &mut range) }))?;
    Ok(range.moved)
}

/// True for a file on ext4 (or ext2 and ext3, which have the same number).
pub fn is_on_ext4(file: RawFd) -> Result<bool, Errno> {
    let mut found = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the structure is written by the kernel, and all zero is a valid value of it.
    let found = unsafe {
        check(i64::from(libc::fstatfs(file, found.as_mut_ptr())))?;
        found.assume_init()
    };
    Ok(found.f_type == libc::EXT4_SUPER_MAGIC)
}
