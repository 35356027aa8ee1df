//! Reading the binary trace that blktrace and `blkparse -d` write.
//!
//! Records of 48 bytes in either byte order, each followed by a payload. The layout is `struct blk_io_trace` in
//! `linux/blktrace_api.h`.

use crate::failure::Failure;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a record without its payload.
const RECORD: usize = 48;
/// Start of every record; the low byte is the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Categories, in the upper half of an action.
const CATEGORY_SHIFT: u32 = 16;
const WRITE: u32 = 1 << 1;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
/// Actions, in the lower half; a flag says that the payload names a control group.
const CONTROL_GROUP: u32 = 1 << 8;
const QUEUE: u32 = 1;
const BACK_MERGE: u32 = 2;
const FRONT_MERGE: u32 = 3;
const COMPLETE: u32 = 8;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    Read,
    Write,
    Trim,
}

impl Direction {
    pub(super) const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A process asked for it.
    Queue,
    /// It was appended to a request in flight that ends where it begins.
    BackMerge,
    /// It was put before a request in flight that begins where it ends.
    FrontMerge,
    /// The device is done.
    Complete,
    /// A note of the kernel, such as the name of a process.
    Note,
    /// Anything else.
    Other,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) time_ns: u64,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    pub(super) action: Action,
    pub(super) direction: Direction,
    pub(super) pid: u32,
    pub(super) device: Device,
}

/// Number of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Device {
    pub(super) major: u32,
    pub(super) minor: u32,
}

/// A trace while it is read.
pub(super) struct Trace<R> {
    reader: R,
    big_endian: bool,
    /// The first record, which told the byte order.
    first: Option<[u8; RECORD]>,
}

impl<R: Read> Trace<R> {
    /// Starts to read; an error if it is no trace.
    pub(super) fn open(path: &Path, mut reader: R) -> Result<Trace<R>, Failure> {
        let mut first = [0; RECORD];
        let name = path.display();
        match read_up_to(&mut reader, &mut first) {
            Err(error) => return Err(Failure::file(path, &error)),
            Ok(RECORD) => {}
            Ok(count) => {
                return Err(Failure::new(format!(
                    "short read on trace file: {name} has {count} bytes, no record"
                )));
            }
        }
        let magic: [u8; 4] = std::array::from_fn(|index| first[index]);
        let big_endian = match (is_magic(u32::from_le_bytes(magic)), is_magic(u32::from_be_bytes(magic))) {
            (true, _) => false,
            (_, true) => true,
            _ => {
                let hint = "it is no binary trace of version 7; make one with blktrace, or with blkparse -d";
                return Err(Failure::new(format!("blktrace appears corrupt: {name}: {hint}")));
            }
        };
        Ok(Trace { reader, big_endian, first: Some(first) })
    }

    /// The next event; `None` at the end. An error tells why reading cannot go on; what came before is good.
    pub(super) fn next(&mut self) -> Result<Option<Event>, String> {
        let record = match self.first.take() {
            Some(record) => record,
            None => {
                let mut record = [0; RECORD];
                match read_up_to(&mut self.reader, &mut record).map_err(|error| error.to_string())? {
                    0 => return Ok(None),
                    RECORD => record,
                    count => return Err(format!("the last record is cut off after {count} bytes")),
                }
            }
        };
        let magic = self.u32(&record, 0);
        if !is_magic(magic) {
            return Err(format!("bad magic in blktrace data: {magic:x}"));
        }
        self.skip_payload(u64::from(self.u16(&record, 46)))?;
        let action = self.u32(&record, 28);
        let device = self.u32(&record, 36);
        Ok(Some(Event {
            time_ns: self.u64(&record, 8),
            sector: self.u64(&record, 16),
            bytes: self.u32(&record, 24),
            action: action_of(action),
            direction: direction_of(action),
            pid: self.u32(&record, 32),
            device: Device { major: device >> 20, minor: device & 0xf_ffff },
        }))
    }

    fn skip_payload(&mut self, length: u64) -> Result<(), String> {
        let skipped = io::copy(&mut self.reader.by_ref().take(length), &mut io::sink());
        match skipped.map_err(|error| error.to_string())? == length {
            true => Ok(()),
            false => Err("the payload of the last record is cut off".to_owned()),
        }
    }

    fn bytes<const N: usize>(&self, record: &[u8; RECORD], at: usize) -> [u8; N] {
        let mut bytes = std::array::from_fn(|index| record[at + index]);
        if self.big_endian {
            bytes.reverse();
        }
        bytes
    }

    fn u16(&self, record: &[u8; RECORD], at: usize) -> u16 {
        u16::from_le_bytes(self.bytes(record, at))
    }

    fn u32(&self, record: &[u8; RECORD], at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(record, at))
    }

    fn u64(&self, record: &[u8; RECORD], at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(record, at))
    }
}

fn is_magic(number: u32) -> bool {
    number == MAGIC | VERSION
}

fn action_of(action: u32) -> Action {
    if (action >> CATEGORY_SHIFT) & NOTIFY != 0 {
        return Action::Note;
    }
    match action & 0xffff & !CONTROL_GROUP {
        QUEUE => Action::Queue,
        BACK_MERGE => Action::BackMerge,
        FRONT_MERGE => Action::FrontMerge,
        COMPLETE => Action::Complete,
        _ => Action::Other,
    }
}

/// Discards are marked as writes too.
fn direction_of(action: u32) -> Direction {
    let category = action >> CATEGORY_SHIFT;
    if category & DISCARD != 0 {
        Direction::Trim
    } else if category & WRITE != 0 {
        Direction::Write
    } else {
        Direction::Read
    }
}

/// Fills the buffer as far as the reader goes.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
