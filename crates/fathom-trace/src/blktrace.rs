//! The binary trace that blktrace and `blkparse -d` write.
//!
//! Records of 48 bytes in either byte order, each followed by a payload. The layout is `struct blk_io_trace` in
//! `linux/blktrace_api.h`.

use crate::error::{CutOff, Damage, TraceError};
use crate::names::Device;
use fathom_stats::Direction;
use std::io::{self, Read};

/// Bytes of a sector.
pub const SECTOR: u64 = 512;
/// Bytes of a record without its payload.
pub const RECORD: usize = 48;
/// Start of every record; the low byte is the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Categories, in the upper half of an action.
const CATEGORY_SHIFT: u32 = 16;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
/// Actions, in the lower half; a flag marks a payload that names a control group.
const CONTROL_GROUP: u32 = 1 << 8;
const QUEUE: u32 = 1;
const BACK_MERGE: u32 = 2;
const FRONT_MERGE: u32 = 3;
const COMPLETE: u32 = 8;

/// Type of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceAction {
    /// A process requested it.
    Queue,
    /// It was appended to a request in flight that ends at its start.
    BackMerge,
    /// It was prepended to a request in flight that begins at its end.
    FrontMerge,
    /// The device completed it.
    Complete,
    /// A kernel message, such as the name of a process.
    Note,
    /// Anything else.
    Other,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time in ns on the clock of the trace.
    pub time_ns: u64,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Bytes.
    pub bytes: u32,
    /// Type of the event.
    pub action: TraceAction,
    /// Direction of the request.
    pub direction: Direction,
    /// Earlier data must be durable first (a flush, or a write with a preceding flush).
    pub flushes: bool,
    /// The process.
    pub pid: u32,
    /// The device.
    pub device: Device,
    /// The processor.
    pub cpu: u32,
    /// Action and categories as stored in the record.
    pub code: u32,
}

impl Event {
    /// The record of this event, in little-endian byte order and without a payload.
    pub fn to_record(&self, sequence: u32) -> [u8; RECORD] {
        let device = self.device.major << 20 | self.device.minor & 0xf_ffff;
        let mut record = [0; RECORD];
        let mut put = |at: usize, bytes: &[u8]| {
            record.iter_mut().skip(at).zip(bytes).for_each(|(place, byte)| *place = *byte);
        };
        put(0, &(MAGIC | VERSION).to_le_bytes());
        put(4, &sequence.to_le_bytes());
        put(8, &self.time_ns.to_le_bytes());
        put(16, &self.sector.to_le_bytes());
        put(24, &self.bytes.to_le_bytes());
        put(28, &(self.code & !CONTROL_GROUP).to_le_bytes());
        put(32, &self.pid.to_le_bytes());
        put(36, &device.to_le_bytes());
        put(40, &self.cpu.to_le_bytes());
        record
    }
}

/// True if the bytes begin like a trace, in either byte order.
pub fn begins_trace(bytes: &[u8]) -> bool {
    bytes
        .first_chunk::<4>()
        .is_some_and(|magic| is_magic(u32::from_le_bytes(*magic)) || is_magic(u32::from_be_bytes(*magic)))
}

/// A reader of a trace.
pub struct Trace<R> {
    reader: R,
    big_endian: bool,
    /// The first record, which determines the byte order.
    first: Option<[u8; RECORD]>,
    /// Records read so far.
    records: u64,
}

impl<R: Read> Trace<R> {
    /// Starts to read; an error if it is not a trace.
    pub fn open(mut reader: R) -> Result<Trace<R>, TraceError> {
        let mut first = [0; RECORD];
        let count = read_up_to(&mut reader, &mut first)?;
        if count < RECORD {
            return Err(Damage::Short(count).into());
        }
        let big_endian = match (begins_trace(&first), first[0] == (VERSION as u8)) {
            (true, is_little) => !is_little,
            (false, _) => return Err(Damage::NoTrace.into()),
        };
        Ok(Trace { reader, big_endian, first: Some(first), records: 0 })
    }

    /// Number of records read.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The next event; `None` at the end. Events before an error are valid; nothing can be read after it.
    // Not an iterator, because an error ends it.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Event>, CutOff> {
        let record = match self.first.take() {
            Some(record) => record,
            None => {
                let mut record = [0; RECORD];
                match read_up_to(&mut self.reader, &mut record)? {
                    0 => return Ok(None),
                    RECORD => record,
                    count => return Err(CutOff::Record(count)),
                }
            }
        };
        self.records += 1;
        let magic = self.u32(&record, 0);
        if !is_magic(magic) {
            return Err(CutOff::Magic(magic));
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
            flushes: (action >> CATEGORY_SHIFT) & FLUSH != 0,
            pid: self.u32(&record, 32),
            device: Device { major: device >> 20, minor: device & 0xf_ffff },
            cpu: self.u32(&record, 40),
            code: action,
        }))
    }

    fn skip_payload(&mut self, length: u64) -> Result<(), CutOff> {
        let skipped = io::copy(&mut self.reader.by_ref().take(length), &mut io::sink());
        match skipped? == length {
            true => Ok(()),
            false => Err(CutOff::Payload),
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

fn action_of(action: u32) -> TraceAction {
    if (action >> CATEGORY_SHIFT) & NOTIFY != 0 {
        return TraceAction::Note;
    }
    match action & 0xffff & !CONTROL_GROUP {
        QUEUE => TraceAction::Queue,
        BACK_MERGE => TraceAction::BackMerge,
        FRONT_MERGE => TraceAction::FrontMerge,
        COMPLETE => TraceAction::Complete,
        _ => TraceAction::Other,
    }
}

/// Discards are also marked as writes.
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

/// Fills the buffer as far as data is available.
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
