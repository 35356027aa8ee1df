//! The encoded records of a ledger. A record consists of its kind (1 byte), the length of its fields (4 bytes),
//! the fields, and a CRC-32C of these bytes. Numbers are little-endian. The first record of a ledger is the
//! [`Start`]. Records are never changed, so a ledger truncated anywhere still holds every record before that
//! point.

use crate::rule::Rule;
use serde::{Deserialize, Serialize};

/// First bytes of the fields of a [`Start`].
const MAGIC: &[u8; 8] = b"FATHOMLG";
/// Version of the records.
const VERSION: u32 = 1;
/// Size in bytes of kind and length, which precede the fields.
const FRONT: usize = 5;
/// Size in bytes of the checksum, which follows the fields.
const CHECKSUM: usize = 4;
/// Maximum length of a record in bytes; a greater length means that the record is damaged.
const LONGEST: usize = 1 << 26;

/// The beginning of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Name of the job.
    pub job: String,
    /// Number of the clone in the whole run; the first is 1.
    pub clone: u16,
    /// The files by number; their paths are absolute if known.
    pub files: Vec<String>,
    /// Rule by which the content of blocks is generated.
    pub rule: Rule,
    /// True if writes are durable when they are acknowledged.
    pub durable_at_once: bool,
    /// Boot ID of the machine, to which the times belong.
    pub boot_id: String,
    /// Start time on the monotonic clock, in ns.
    pub time_ns: u64,
    /// Start time on the wall clock, in ms since 1970.
    pub time_of_day_ms: u64,
}

/// A write or a trim that is about to be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Number of the operation in this ledger, in which syncs are counted too.
    pub id: u64,
    /// Number of the write in its job; 0 for a trim.
    pub number: u64,
    /// Seed of the content; 0 for a trim.
    pub seed: u64,
    /// Number of the file.
    pub file: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Time on the monotonic clock in ns, which the header of the block contains.
    pub time_ns: u64,
    /// True if the range is trimmed, after which its content is undefined.
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
    /// Returns the name of the system call.
    pub fn word(self) -> &'static str {
        match self {
            SyncKind::Sync => "fsync",
            SyncKind::DataSync => "fdatasync",
            SyncKind::FileSystem => "syncfs",
            SyncKind::Range => "sync_file_range",
        }
    }

    /// True if data is durable after the sync.
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
    /// Start of the ledger.
    Start(Box<Start>),
    /// A write or a trim is about to be submitted.
    Issued(Issued),
    /// A sync is about to be submitted.
    SyncBegun {
        /// Number of the sync in this ledger.
        id: u64,
        /// Kind.
        kind: SyncKind,
        /// Number of the file.
        file: u32,
        /// Time on the monotonic clock in ns.
        time_ns: u64,
    },
    /// A write, trim or sync has ended.
    Ended {
        /// Its number.
        id: u64,
        /// Time on the monotonic clock in ns.
        time_ns: u64,
        /// False if the operation failed.
        is_well: bool,
    },
    /// The job has ended, and its ledger is complete.
    JobEnded {
        /// Time on the monotonic clock in ns.
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
                // The error is ignored, because texts, numbers and lists of them can always be serialized.
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

    /// Returns the time of the event on the monotonic clock in ns.
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

/// Reads consecutive records, until the first truncated or damaged one.
pub struct Records<'a> {
    bytes: &'a [u8],
}

impl<'a> Records<'a> {
    /// Starts to read the records of a ledger.
    pub fn new(bytes: &'a [u8]) -> Records<'a> {
        Records { bytes }
    }

    /// Returns the number of bytes that could not be decoded, once the records have ended.
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
