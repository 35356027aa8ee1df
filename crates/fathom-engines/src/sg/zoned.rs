//! Zones of a SCSI disk, managed by SCSI commands (ZBC-2). This is for generic devices, which have no block
//! device whose zones the kernel could report.

use super::commands::{self, Command};
use super::{ScsiError, TIMEOUT_MS, ask, capacity, sense};
use fathom_run::files::{FileEntry, FileError};
use fathom_run::zones::device::{OwnZones, ZonedDevice};
use fathom_sys::scsi::{self, Transfer};
use fathom_sys::zoned::{Condition, ZoneReport};
use fathom_sys::{Errno, file};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Maximum number of zones per report.
const BATCH: usize = 256;
/// Size of a report's header and of each zone in it, in bytes.
const HEADER: usize = 64;
const DESCRIPTOR: usize = 64;

/// Peripheral device type of disks with zones that require sequential writes.
const HOST_MANAGED: u8 = 0x14;
/// Value with which a device reports no limit.
const ANY_NUMBER: u32 = u32::MAX;

/// The zones of an open device, managed by SCSI commands.
pub(super) struct ScsiZones {
    descriptor: OwnedFd,
    /// Size of a logical block in bytes.
    block: u64,
    /// Size of the disk in bytes.
    size: u64,
}

impl ScsiZones {
    /// Opens a device; with `writes`, its zones can be changed.
    fn open(entry: &FileEntry, writes: bool) -> Result<ScsiZones, Errno> {
        let access = if writes { libc::O_RDWR } else { libc::O_RDONLY };
        let descriptor = file::open(&entry.path, access | libc::O_NONBLOCK, 0)?;
        let (blocks, block) = capacity(scsi::run, descriptor.as_raw_fd()).map_err(|_| Errno(libc::EIO))?;
        let block = u64::from(block);
        Ok(ScsiZones { descriptor, block, size: blocks.saturating_mul(block) })
    }

    fn act(&mut self, action: u8, start: u64) -> Result<(), Errno> {
        let command = Command::zone_action(action, start / self.block);
        // SAFETY: there is no transfer.
        let answer = unsafe {
            scsi::run(self.descriptor.as_raw_fd(), command.bytes(), Transfer::None, 0, TIMEOUT_MS)
        }?;
        if sense::is_good(&answer) { Ok(()) } else { Err(Errno(libc::EIO)) }
    }
}

impl ZonedDevice for ScsiZones {
    fn report(&mut self, offset: u64) -> Result<Option<Vec<ZoneReport>>, Errno> {
        if offset >= self.size {
            return Ok(Some(Vec::new()));
        }
        report(self.descriptor.as_raw_fd(), self.block, offset).map(Some).map_err(|_| Errno(libc::EIO))
    }

    fn reset(&mut self, start: u64, _length: u64) -> Result<(), Errno> {
        self.act(commands::RESET_WRITE_POINTER, start)
    }

    fn finish(&mut self, start: u64, _length: u64) -> Result<(), Errno> {
        self.act(commands::FINISH_ZONE, start)
    }
}

/// Reports zones, starting with the one that contains this byte.
fn report(descriptor: RawFd, block: u64, offset: u64) -> Result<Vec<ZoneReport>, ScsiError> {
    let mut answer = vec![0; HEADER + BATCH * DESCRIPTOR];
    let command = Command::report_zones(offset / block, answer.len() as u32);
    ask(scsi::run, descriptor, command, &mut answer)?;
    Ok(zones_of(&answer, block))
}

/// The zones that a report contains; the report may announce more.
fn zones_of(answer: &[u8], block: u64) -> Vec<ZoneReport> {
    let Some((header, list)) = answer.split_at_checked(HEADER) else { return Vec::new() };
    let Some(length) = header.first_chunk() else { return Vec::new() };
    let count = u32::from_be_bytes(*length) as usize / DESCRIPTOR;
    list.as_chunks().0.iter().take(count).map(|zone| zone_of(zone, block)).collect()
}

fn zone_of(descriptor: &[u8; DESCRIPTOR], block: u64) -> ZoneReport {
    let number = |place: usize| {
        descriptor[place..place + 8].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let (length, start, pointer) = (number(8), number(16), number(24));
    let condition = match (descriptor[0] & 0xf, descriptor[1] >> 4) {
        (1, _) | (_, 0) => Condition::Conventional,
        (_, 1) => Condition::Empty,
        (_, 2..=4) => Condition::Active,
        (_, 0xE) => Condition::Full,
        (_, 0xD) => Condition::ReadOnly,
        _ => Condition::Offline,
    };
    let written = match condition {
        Condition::Empty | Condition::Offline => 0,
        Condition::Active => pointer.saturating_sub(start).min(length),
        // Zones in these conditions have no meaningful write pointer.
        Condition::Conventional | Condition::Full | Condition::ReadOnly => length,
    };
    let bytes = |blocks: u64| blocks.saturating_mul(block);
    ZoneReport {
        start: bytes(start),
        length: bytes(length),
        capacity: bytes(length),
        written: bytes(written),
        condition,
    }
}

/// True for a disk with zones that require sequential writes.
pub(super) fn is_host_managed(descriptor: RawFd) -> Result<bool, ScsiError> {
    let mut answer = [0; commands::INQUIRY_ANSWER];
    ask(scsi::run, descriptor, Command::inquiry(None), &mut answer)?;
    Ok(answer[0] & 0x1f == HOST_MANAGED)
}

/// The zones of a generic device; with `writes`, they can be changed.
pub(crate) fn own_zones(entry: &FileEntry, writes: bool) -> Result<Option<OwnZones>, FileError> {
    let failed = |errno, call| FileError::of_call(errno, call, &entry.path);
    let said = |call: &'static str, why: ScsiError| {
        failed(Errno(libc::EIO), call).with_message(format!("fathom: {}: {why}", entry.path.display()))
    };
    let device = ScsiZones::open(entry, writes).map_err(|errno| failed(errno, "open"))?;
    let descriptor = device.descriptor.as_raw_fd();
    let has_zones = is_host_managed(descriptor).map_err(|why| said("INQUIRY", why))?;
    let zones = match has_zones {
        true => report(descriptor, device.block, 0).map_err(|why| said("REPORT ZONES", why))?,
        false => Vec::new(),
    };
    let Some(zone_size) = zones.first().map(|zone| zone.length).filter(|length| *length > 0) else {
        return Err(FileError::without_line(format!(
            "{}: zonemode=zbd needs a regular file, a block device, or a SCSI disk with zones",
            entry.name()
        )));
    };
    // If a device does not report its limit on open zones, no limit is assumed.
    let mut answer = [0; commands::INQUIRY_ANSWER];
    let page = Command::inquiry(Some(commands::ZONED_PAGE));
    let limit = match ask(scsi::run, descriptor, page, &mut answer) {
        Ok(()) => u32::from_be_bytes([answer[16], answer[17], answer[18], answer[19]]),
        Err(_) => ANY_NUMBER,
    };
    let limit = if limit == ANY_NUMBER { 0 } else { limit };
    Ok(Some(OwnZones { zone_size, limit, device: Box::new(device) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn descriptor(kind: u8, condition: u8, start: u64, pointer: u64) -> [u8; DESCRIPTOR] {
        let mut bytes = [0; DESCRIPTOR];
        (bytes[0], bytes[1]) = (kind, condition << 4);
        bytes[8..16].copy_from_slice(&8192_u64.to_be_bytes());
        bytes[16..24].copy_from_slice(&start.to_be_bytes());
        bytes[24..32].copy_from_slice(&pointer.to_be_bytes());
        bytes
    }

    #[test]
    fn a_report_is_read() {
        let mut answer = vec![0; HEADER];
        answer[..4].copy_from_slice(&192_u32.to_be_bytes());
        answer.extend(descriptor(1, 0, 0, u64::MAX));
        answer.extend(descriptor(2, 2, 8192, 8200));
        answer.extend(descriptor(2, 0xE, 16384, u64::MAX));
        // The report contains more data than its header announces.
        answer.extend(descriptor(2, 1, 24576, 24576));
        let zones = zones_of(&answer, 512);
        let seen: Vec<_> = zones.iter().map(|zone| (zone.start, zone.written, zone.condition)).collect();
        let zone = 8192 * 512;
        assert_eq!(
            seen,
            [
                (0, zone, Condition::Conventional),
                (zone, 4096, Condition::Active),
                (2 * zone, zone, Condition::Full)
            ]
        );
        assert!(zones.iter().all(|found| (found.length, found.capacity) == (zone, zone)));
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(answer in proptest::collection::vec(any::<u8>(), 0..400), block in 1_u64..8192) {
            for zone in zones_of(&answer, block) {
                prop_assert!(zone.written <= zone.length);
            }
        }
    }
}
