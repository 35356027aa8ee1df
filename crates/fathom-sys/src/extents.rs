//! The extents of a file: where they are on its device, and swapping them between two files of one ext4 file system.

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

/// `FS_IOC_FIEMAP`, `_IOWR('f', 11, struct fiemap)`, and the number of extents asked for in one call.
const FIEMAP: u32 = 0xc020_660b;
const AT_A_TIME: usize = 64;

/// Flags of `linux/fiemap.h`: the last extent of the file, and those of extents without a place on the device: its place is
/// unknown, allocation is delayed, the data is encoded, inline, or packed with other data.
const LAST: u32 = 0x1;
const WITHOUT_PLACE: u32 = 0x2 | 0x4 | 0x8 | 0x200 | 0x400;

/// `struct fiemap` with room for extents.
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [MapExtent; AT_A_TIME],
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct MapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    more_reserved: [u32; 3],
}

/// An extent of a file: bytes that are adjacent in the file and on its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file.
    pub logical: u64,
    /// Offset on the device of the file system.
    pub physical: u64,
    /// Bytes.
    pub length: u64,
}

/// Returns the first extents at or after an offset of a file, and the offset up to which all of them are known. Extents
/// that have no separate place on the device are left out.
pub fn extents_from(file: RawFd, start: u64) -> Result<(Vec<Extent>, u64), Errno> {
    let mut map = Map {
        start,
        length: u64::MAX - start,
        flags: 0,
        mapped: 0,
        room: AT_A_TIME as u32,
        reserved: 0,
        extents: [MapExtent::default(); AT_A_TIME],
    };
    // SAFETY: the structure is the call's, has room for the extents that it announces, and lives through the call.
    check(i64::from(unsafe { libc::ioctl(file, FIEMAP as _, &mut map) }))?;
    let found = &map.extents[..(map.mapped as usize).min(AT_A_TIME)];
    let end = match found.last() {
        Some(last) if last.flags & LAST == 0 => last.logical.saturating_add(last.length),
        _ => u64::MAX,
    };
    let placed = found.iter().filter(|extent| extent.flags & WITHOUT_PLACE == 0);
    let extent =
        |found: &MapExtent| Extent { logical: found.logical, physical: found.physical, length: found.length };
    Ok((placed.map(extent).collect(), end))
}

/// Swaps a range of a file with the donor's blocks at the same offset; the data stays in the file. Returns
/// the number of blocks swapped.
pub fn exchange(file: RawFd, donor: RawFd, start: u64, length: u64) -> Result<u64, Errno> {
    let mut range =
        MoveExtent { reserved: 0, donor: donor as u32, start, start_in_donor: start, length, moved: 0 };
    // SAFETY: the structure is the call's, and lives through it.
    check(i64::from(unsafe { libc::ioctl(file, MOVE_EXTENT as _, &mut range) }))?;
    Ok(range.moved)
}
