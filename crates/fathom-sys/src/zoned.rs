//! Zones of a zoned block device, as defined by linux/blkzoned.h. All values here are in bytes; the kernel uses
//! sectors.

use crate::errno::{Errno, check};
use std::os::fd::RawFd;

const SECTOR: u64 = 512;

// linux/blkzoned.h: _IOWR(0x12, 130, struct blk_zone_report), _IOW(0x12, 131, struct blk_zone_range),
// _IOR(0x12, 132, __u32), _IOR(0x12, 133, __u32), _IOW(0x12, 136, struct blk_zone_range).
const BLKREPORTZONE: libc::c_ulong = 0xC010_1282;
const BLKRESETZONE: libc::c_ulong = 0x4010_1283;
const BLKGETZONESZ: libc::c_ulong = 0x8004_1284;
const BLKGETNRZONES: libc::c_ulong = 0x8004_1285;
const BLKFINISHZONE: libc::c_ulong = 0x4010_1288;

/// Maximum number of zones per report.
const BATCH: usize = 256;
/// Report flag: the kernel has filled in the capacity field.
const HAS_CAPACITY: u32 = 1;

/// Zone type: the zone may be written at any offset.
const TYPE_CONVENTIONAL: u8 = 1;

/// `struct blk_zone`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawZone {
    start: u64,
    length: u64,
    write_pointer: u64,
    kind: u8,
    condition: u8,
    non_sequential: u8,
    reset_recommended: u8,
    padding: [u8; 4],
    capacity: u64,
    reserved: [u8; 24],
}

/// `struct blk_zone_report` with room for a batch.
#[repr(C)]
struct RawReport {
    sector: u64,
    zones: u32,
    flags: u32,
    list: [RawZone; BATCH],
}

const _: () = assert!(std::mem::size_of::<RawZone>() == 64);
const _: () =
    assert!(std::mem::offset_of!(RawZone, kind) == 24 && std::mem::offset_of!(RawZone, capacity) == 32);
const _: () = assert!(std::mem::offset_of!(RawReport, list) == 16);

/// State of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A conventional zone, which has no write pointer.
    Conventional,
    /// Empty: the zone holds no data.
    Empty,
    /// Open, implicitly or explicitly, or closed after writing. The zone counts towards the device's limits.
    Active,
    /// Full, or finished.
    Full,
    /// Read-only.
    ReadOnly,
    /// Dead.
    Offline,
}

/// A zone as the device reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneReport {
    /// First byte.
    pub start: u64,
    /// Number of bytes from its start to the start of the next zone.
    pub length: u64,
    /// Number of usable bytes from the start.
    pub capacity: u64,
    /// Write pointer, in bytes from the start of the zone.
    pub written: u64,
    /// State.
    pub condition: Condition,
}

/// Returns the zone size in bytes; 0 for a device without zones.
pub fn zone_size(fd: RawFd) -> Result<u64, Errno> {
    get_number(fd, BLKGETZONESZ).map(|sectors| u64::from(sectors) * SECTOR)
}

/// Returns the number of zones.
pub fn zone_count(fd: RawFd) -> Result<u32, Errno> {
    get_number(fd, BLKGETNRZONES)
}

fn get_number(fd: RawFd, request: libc::c_ulong) -> Result<u32, Errno> {
    let mut number: u32 = 0;
    // SAFETY: both requests store one u32 through the pointer.
    let result = unsafe { libc::ioctl(fd, request as _, &mut number) };
    check(i64::from(result)).map(|_| number)
}

/// Returns up to 256 zones in order, starting with the one that contains byte `offset`. The list is empty after
/// the last zone.
pub fn report(fd: RawFd, offset: u64) -> Result<Vec<ZoneReport>, Errno> {
    let mut raw = Box::new(RawReport {
        sector: offset / SECTOR,
        zones: BATCH as u32,
        flags: 0,
        list: [RawZone::default(); BATCH],
    });
    // SAFETY: the kernel fills in at most as many zones as `zones` specifies, and the buffer has space for them.
    let result = unsafe { libc::ioctl(fd, BLKREPORTZONE as _, std::ptr::from_mut(raw.as_mut())) };
    check(i64::from(result))?;
    let has_capacity = raw.flags & HAS_CAPACITY != 0;
    let count = (raw.zones as usize).min(BATCH);
    Ok(raw.list[..count].iter().map(|zone| translated(zone, has_capacity)).collect())
}

fn translated(zone: &RawZone, has_capacity: bool) -> ZoneReport {
    let condition = match (zone.kind, zone.condition) {
        (TYPE_CONVENTIONAL, _) | (_, 0) => Condition::Conventional,
        (_, 1) => Condition::Empty,
        (_, 2..=4) => Condition::Active,
        (_, 0xE) => Condition::Full,
        (_, 0xD) => Condition::ReadOnly,
        _ => Condition::Offline,
    };
    // Kernels before 5.9 report no capacity, because all their zones are completely usable.
    let capacity = if has_capacity { zone.capacity } else { zone.length };
    let written = match condition {
        Condition::Empty | Condition::Offline => 0,
        Condition::Active => zone.write_pointer.saturating_sub(zone.start).min(capacity),
        // The write pointer of zones in these states is meaningless.
        Condition::Conventional | Condition::Full | Condition::ReadOnly => capacity,
    };
    ZoneReport {
        start: zone.start.saturating_mul(SECTOR),
        length: zone.length.saturating_mul(SECTOR),
        capacity: capacity.saturating_mul(SECTOR),
        written: written.saturating_mul(SECTOR),
        condition,
    }
}

/// Resets a zone: the write pointer returns to its start.
pub fn reset(fd: RawFd, start: u64, length: u64) -> Result<(), Errno> {
    manage(fd, BLKRESETZONE, start, length)
}

/// Finishes a zone, so that it no longer counts as open.
pub fn finish(fd: RawFd, start: u64, length: u64) -> Result<(), Errno> {
    manage(fd, BLKFINISHZONE, start, length)
}

fn manage(fd: RawFd, request: libc::c_ulong, start: u64, length: u64) -> Result<(), Errno> {
    // struct blk_zone_range: first sector, number of sectors.
    let range = [start / SECTOR, length / SECTOR];
    // SAFETY: the request reads two u64 through the pointer.
    let result = unsafe { libc::ioctl(fd, request as _, range.as_ptr()) };
    check(i64::from(result)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn requests_are_those_of_the_header() {
        let number = |direction: u64, command: u64, size: usize| {
            direction << 30 | (size as u64) << 16 | 0x12 << 8 | command
        };
        let report_header = std::mem::offset_of!(RawReport, list);
        assert_eq!(BLKREPORTZONE, number(3, 130, report_header));
        assert_eq!(BLKRESETZONE, number(1, 131, 16));
        assert_eq!(BLKGETZONESZ, number(2, 132, 4));
        assert_eq!(BLKGETNRZONES, number(2, 133, 4));
        assert_eq!(BLKFINISHZONE, number(1, 136, 16));
    }

    #[test]
    fn sectors_become_bytes_and_conditions_become_states() {
        let zone = RawZone {
            start: 128,
            length: 128,
            write_pointer: 136,
            kind: 2,
            condition: 4,
            capacity: 96,
            ..RawZone::default()
        };
        let active = translated(&zone, true);
        assert_eq!(
            (active.start, active.length, active.capacity, active.written),
            (65536, 65536, 49152, 4096)
        );
        assert_eq!(active.condition, Condition::Active);
        assert_eq!(translated(&zone, false).capacity, 65536);
        let state = |kind, condition| {
            let zone = translated(&RawZone { kind, condition, ..zone }, true);
            (zone.condition, zone.written)
        };
        assert_eq!(state(1, 0), (Condition::Conventional, 49152));
        assert_eq!(state(2, 1), (Condition::Empty, 0));
        assert_eq!(state(3, 2), (Condition::Active, 4096));
        assert_eq!(state(2, 0xE), (Condition::Full, 49152));
        assert_eq!(state(2, 0xD), (Condition::ReadOnly, 49152));
        assert_eq!(state(2, 0xF), (Condition::Offline, 0));
        assert_eq!(state(2, 7), (Condition::Offline, 0));
    }

    #[test]
    fn what_has_no_zones_says_so() {
        let file = std::fs::File::open("/dev/null").expect("the null device");
        assert!(zone_size(file.as_raw_fd()).is_err());
        assert!(report(file.as_raw_fd(), 0).is_err());
        assert!(reset(file.as_raw_fd(), 0, 4096).is_err());
    }
}
