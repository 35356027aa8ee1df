//! The encoded records of a ledger. A record is its kind (1 byte), the length of its fields (4 bytes), the fields, and a
//! CRC-32C of all that; numbers are little endian. The first record of a ledger is the [`Start`]. Records are never changed,
//! so a ledger truncated anywhere still holds every record before that point.

use crate::rule::Rule;
use serde::{Deserialize, Serialize};

/// The first bytes of the fields of a [`Start`].
const MAGIC: &[u8; 8] = b"FATHOMLG";
/// Version of the records.
const VERSION: u32 = 1;
/// Kind and length before the fields.
const FRONT: usize = 5;
/// The checksum after them.
const CHECKSUM: usize = 4;
/// Maximum length of a record: anything beyond is damage.
const LONGEST: usize = 1 << 26;

/// The beginning of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Name of the job.
    pub job: String,
    /// Number of the clone over the whole run, from 1.
    pub clone: u16,
    /// The files by number, as absolute paths if known.
    pub files: Vec<String>,
    /// How blocks are generated.
    pub rule: Rule,
    /// Writes are durable when they are acknowledged.
    pub durable_at_once: bool,
    /// Boot ID of the machine, which the times belong to.
    pub boot_id: String,
    /// Monotonic clock, ns.
    pub time_ns: u64,
    /// Wall-clock time then, ms since 1970.
    pub time_of_day_ms: u64,
}

/// A write or a trim that is about to be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Number in this ledger; syncs are included.
    pub id: u64,
    /// Number of the write in its job; 0 for a trim.
    pub number: u64,
    /// Seed of its content; 0 for a trim.
    pub seed: u64,
    /// Number of its file.
    pub file: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Monotonic clock, ns: the time in the header of the block.
    pub time_ns: u64,
    /// The range is trimmed; its content is then undefined.
    pub discards: bool,
}

/// The kinds of sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum SyncKind {
    /// `fsync`.
    Sync = 1,
    /// `fdatasync`.
    DataSync = 2,
    /// `syncfs`.
    FileSystem = 3,
    /// `sync_file_range`, which makes nothing durable.
    Range = 4,
}

impl SyncKind {
    /// The name of the system call.
    pub fn word(self) -> &'static str {
        match self {
            SyncKind::Sync => "fsync",
            SyncKind::DataSync => "fdatasync",
            SyncKind::FileSystem => "syncfs",
            SyncKind::Range => "sync_file_range",
        }
    }

    /// True if data is durable afterwards.
    pub fn makes_durable(self) -> bool {
        self != SyncKind::Range
    }

    fn of_code(code: u8) -> Option<SyncKind> {
        [SyncKind::Sync, SyncKind::DataSync, SyncKind::FileSystem, SyncKind::Range]
            .into_iter()
            .find(|kind| *kind as u8 == code)
    }
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The ledger begins.
    Start(Box<Start>),
    /// A write or a trim is about to be submitted.
    Issued(Issued),
    /// A sync is about to be submitted.
    SyncBegun {
        /// Number in this ledger.
        id: u64,
        /// Kind.
        kind: SyncKind,
        /// Number of its file.
        file: u32,
        /// Monotonic clock, ns.
        time_ns: u64,
    },
    /// A write, trim or sync has ended.
    Ended {
        /// Its number.
        id: u64,
        /// Monotonic clock, ns.
        time_ns: u64,
        /// False if it failed.
        is_well: bool,
    },
    /// The job has ended and nothing is missing.
    JobEnded {
        /// Monotonic clock, ns.
        time_ns: u64,
    },
}

impl Record {
    /// Adds the record to `bytes`.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let front = bytes.len();
        bytes.extend([self.code(), 0, 0, 0, 0]);
        self.encode_fields(bytes);
        let length = (bytes.len() - front - FRONT) as u32;
        bytes[front + 1..front + FRONT].copy_from_slice(&length.to_le_bytes());
        let checksum = crc_fast::crc32_iscsi(&bytes[front..]);
        bytes.extend(checksum.to_le_bytes());
    }

    fn code(&self) -> u8 {
        match self {
            Record::Start(_) => 1,
            Record::Issued(_) => 2,
            Record::SyncBegun { .. } => 3,
            Record::Ended { .. } => 4,
            Record::JobEnded { .. } => 5,
        }
    }

    fn encode_fields(&self, bytes: &mut Vec<u8>) {
        match self {
            Record::Start(start) => {
                bytes.extend(MAGIC);
                bytes.extend(VERSION.to_le_bytes());
                // Serializing text, numbers and lists of them never fails.
                bytes.extend(serde_json::to_vec(start).unwrap_or_default());
            }
            Record::Issued(issued) => {
                let Issued { id, number, seed, file, offset, length, time_ns, discards } = *issued;
                for value in [id, number, seed, offset, length, time_ns] {
                    bytes.extend(value.to_le_bytes());
                }
                bytes.extend(file.to_le_bytes());
                bytes.push(u8::from(discards));
            }
            Record::SyncBegun { id, kind, file, time_ns } => {
                bytes.extend(id.to_le_bytes());
                bytes.extend(time_ns.to_le_bytes());
                bytes.extend(file.to_le_bytes());
                bytes.push(*kind as u8);
            }
            Record::Ended { id, time_ns, is_well } => {
                bytes.extend(id.to_le_bytes());
                bytes.extend(time_ns.to_le_bytes());
                bytes.push(u8::from(*is_well));
            }
            Record::JobEnded { time_ns } => bytes.extend(time_ns.to_le_bytes()),
        }
    }

    /// The time at which it happened: monotonic clock, ns.
    pub fn time_ns(&self) -> u64 {
        match self {
            Record::Start(start) => start.time_ns,
            Record::Issued(issued) => issued.time_ns,
            Record::SyncBegun { time_ns, .. }
            | Record::Ended { time_ns, .. }
            | Record::JobEnded { time_ns } => *time_ns,
        }
    }
}

/// Reads consecutive records; ends before the first truncated or damaged one.
pub struct Records<'a> {
    bytes: &'a [u8],
}

impl<'a> Records<'a> {
    /// The records of a ledger.
    pub fn new(bytes: &'a [u8]) -> Records<'a> {
        Records { bytes }
    }

    /// Number of bytes that could not be decoded, once the records have ended.
    pub fn bytes_left(&self) -> usize {
        self.bytes.len()
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let length = u32::from_le_bytes(self.bytes.get(1..FRONT)?.try_into().ok()?) as usize;
        if length > LONGEST {
            return None;
        }
        let covered = self.bytes.get(..FRONT + length)?;
        let end = FRONT + length + CHECKSUM;
        let checksum = u32::from_le_bytes(self.bytes.get(FRONT + length..end)?.try_into().ok()?);
        if checksum != crc_fast::crc32_iscsi(covered) {
            return None;
        }
        let record = decode(covered[0], &covered[FRONT..])?;
        self.bytes = &self.bytes[end..];
        Some(record)
    }
}

fn decode(code: u8, fields: &[u8]) -> Option<Record> {
    let mut fields = Fields(fields);
    let record = match code {
        1 => {
            let magic = fields.take(MAGIC.len())?;
            if magic != MAGIC || fields.u32()? != VERSION {
                return None;
            }
            Record::Start(serde_json::from_slice(std::mem::take(&mut fields.0)).ok()?)
        }
        2 => Record::Issued(Issued {
            id: fields.u64()?,
            number: fields.u64()?,
            seed: fields.u64()?,
            offset: fields.u64()?,
            length: fields.u64()?,
            time_ns: fields.u64()?,
            file: fields.u32()?,
            discards: fields.flag()?,
        }),
        3 => {
            let (id, time_ns, file) = (fields.u64()?, fields.u64()?, fields.u32()?);
            Record::SyncBegun { id, kind: SyncKind::of_code(fields.u8()?)?, file, time_ns }
        }
        4 => Record::Ended { id: fields.u64()?, time_ns: fields.u64()?, is_well: fields.flag()? },
        5 => Record::JobEnded { time_ns: fields.u64()? },
        _ => return None,
    };
    fields.0.is_empty().then_some(record)
}

/// True if the bytes begin like a ledger of any version.
pub fn looks_like_ledger(bytes: &[u8]) -> bool {
    bytes.first() == Some(&1) && bytes.get(FRONT..FRONT + MAGIC.len()) == Some(MAGIC)
}

/// Consecutive fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn flag(&mut self) -> Option<bool> {
        self.u8().map(|byte| byte != 0)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}
