//! Zones of an NVMe namespace without the kernel's block layer, which does not support every namespace.

use super::error::NamespaceError;
use super::namespace::Namespace;
use fathom_run::files::{FileEntry, FileError};
use fathom_run::zones::device::{OwnZones, ZonedDevice};
use fathom_sys::nvme::{self, Command};
use fathom_sys::zoned::{Condition, ZoneReport};
use fathom_sys::{Errno, file};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Opcodes of Zone Management Send and Receive, with their actions.
const SEND: u8 = 0x79;
const RECEIVE: u8 = 0x7a;
const FINISH: u32 = 2;
const RESET: u32 = 4;
const REPORT: u32 = 0;
/// Requests a report of only as many zones as fit into the buffer.
const PARTIAL: u32 = 1 << 16;
/// Number of the Zoned Namespace command set in Identify, and its data structures.
const ZONED: u8 = 2;
const NAMESPACE_OF_COMMAND_SET: u8 = 0x05;
/// Offset of the formats in the data structure of a namespace.
const FORMATS: usize = 2816;
/// Size of a report's header, and of a zone in it, in bytes.
const HEADER: usize = 64;
const ZONE: usize = 64;
/// Maximum number of zones per report.
const BATCH: usize = 63;

struct NamespaceZones {
    device: OwnedFd,
    namespace: u32,
    block_bytes: u64,
    zone_bytes: u64,
    /// Size of the whole namespace in bytes.
    bytes: u64,
}

/// The zones of a target; `None` if the target has none.
pub(super) fn of(entry: &FileEntry, writes: bool, pi_act: bool) -> Result<Option<OwnZones>, FileError> {
    let failed = |errno| FileError::of_call(errno, "open", &entry.path);
    let flags = if writes { libc::O_RDWR } else { libc::O_RDONLY };
    let device = file::open(&entry.path, flags, 0).map_err(failed)?;
    let told = |why: NamespaceError| FileError::without_line(format!("{}: {why}", entry.name()));
    let namespace = Namespace::of(device.as_raw_fd()).map_err(told)?;
    let Some((zone_bytes, limits)) = zoning(device.as_raw_fd(), &namespace, pi_act) else { return Ok(None) };
    // A zone that was written but not finished counts against both limits, even if it is not open. The fields
    // are zero-based, and all ones mean no limit.
    let limits = limits.map(|limit| limit.wrapping_add(1));
    let limit = limits.into_iter().filter(|&limit| limit > 0).min().unwrap_or(0);
    let block_bytes = u64::from(namespace.block_bytes(pi_act));
    let bytes = namespace.blocks.saturating_mul(block_bytes);
    let zones = NamespaceZones { device, namespace: namespace.id, block_bytes, zone_bytes, bytes };
    Ok(Some(OwnZones { zone_size: zone_bytes, limit, device: Box::new(zones) }))
}

/// Size of a namespace's zones in bytes; `None` if it has none.
pub(super) fn zone_bytes(fd: RawFd, namespace: &Namespace, pi_act: bool) -> Option<u64> {
    zoning(fd, namespace, pi_act).map(|(zone_bytes, _)| zone_bytes)
}

/// Size of a zone in bytes, and the limits of active and open zones, from Identify.
fn zoning(fd: RawFd, namespace: &Namespace, pi_act: bool) -> Option<(u64, [u32; 2])> {
    let answer = nvme::identify(fd, NAMESPACE_OF_COMMAND_SET, namespace.id, ZONED).ok()?;
    let number = |at: usize| u32::from_le_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]]);
    // Each format has a field of 16 bytes, of which 8 hold the number of blocks in a zone.
    let format = FORMATS + 16 * namespace.format;
    let zone_blocks = u64::from(number(format)) | u64::from(number(format + 4)) << 32;
    let zone_bytes = zone_blocks.saturating_mul(u64::from(namespace.block_bytes(pi_act)));
    (zone_blocks > 0).then_some((zone_bytes, [number(4), number(8)]))
}

impl NamespaceZones {
    fn address(&self, offset: u64) -> [u32; 2] {
        let block = offset / self.block_bytes;
        [block as u32, (block >> 32) as u32]
    }

    fn report_from(&self, offset: u64) -> Result<Vec<ZoneReport>, Errno> {
        let mut answer = vec![0; HEADER + BATCH * ZONE];
        let [low, high] = self.address(offset);
        let command = Command {
            opcode: RECEIVE,
            namespace: self.namespace,
            words_10_15: [low, high, answer.len() as u32 / 4 - 1, REPORT | PARTIAL, 0, 0],
            ..Command::default()
        };
        nvme::ask(self.device.as_raw_fd(), command, &mut answer).map_err(super::errno_of)?;
        let (header, list) = answer.split_at(HEADER);
        let count = header.iter().take(8).rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let zones = list.chunks_exact(ZONE).take(count as usize);
        Ok(zones.map(|zone| self.translated(zone)).collect())
    }

    fn translated(&self, zone: &[u8]) -> ZoneReport {
        let number =
            |at: usize| zone[at..at + 8].iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let blocks = |at: usize| number(at).saturating_mul(self.block_bytes);
        let (capacity, start, write_pointer) = (blocks(8), blocks(16), blocks(24));
        let condition = match zone[1] >> 4 {
            0x1 => Condition::Empty,
            0x2..=0x4 => Condition::Active,
            0xd => Condition::ReadOnly,
            0xe => Condition::Full,
            _ => Condition::Offline,
        };
        let written = match condition {
            Condition::Active => write_pointer.saturating_sub(start).min(capacity),
            Condition::Empty => 0,
            _ => capacity,
        };
        ZoneReport { start, length: self.zone_bytes, capacity, written, condition }
    }

    fn send(&self, start: u64, action: u32) -> Result<(), Errno> {
        let [low, high] = self.address(start);
        let words = [low, high, 0, action, 0, 0];
        let command =
            Command { opcode: SEND, namespace: self.namespace, words_10_15: words, ..Command::default() };
        nvme::order(self.device.as_raw_fd(), command).map_err(super::errno_of)
    }
}

impl ZonedDevice for NamespaceZones {
    fn report(&mut self, offset: u64) -> Result<Option<Vec<ZoneReport>>, Errno> {
        if offset >= self.bytes { Ok(Some(Vec::new())) } else { self.report_from(offset).map(Some) }
    }

    fn reset(&mut self, start: u64, _length: u64) -> Result<(), Errno> {
        self.send(start, RESET)
    }

    fn finish(&mut self, start: u64, _length: u64) -> Result<(), Errno> {
        self.send(start, FINISH)
    }
}
