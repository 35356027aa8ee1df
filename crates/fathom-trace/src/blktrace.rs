//! The binary trace that blktrace and `blkparse -d` write.
//!
//! Records of 48 bytes in either byte order, each followed by a payload. The layout is `struct blk_io_trace` in
//! `linux/blktrace_api.h`.

use crate::error::{CutOff, Damage, TraceError};
use crate::names::Device;
use fathom_stats::Direction;
use std::io::{self, Read};

/// Size of a sector in bytes.
pub const SECTOR: u64 = 512;
/// Size of a record in bytes, without its payload.
pub const RECORD: usize = 48;
/// Start of every record; the low byte holds the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Position of the categories, which are in the upper half of an action.
const CATEGORY_SHIFT: u32 = 16;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
/// A flag of actions, in the lower half: the payload identifies a control group.
const CONTROL_GROUP: u32 = 1 << 8;

/// Codes of actions, including their own categories. The categories of the request are added to these codes.
pub mod code {
    const fn of(action: u32, category: u32) -> u32 {
        action | category << super::CATEGORY_SHIFT
    }

    /// Requested.
    pub const QUEUE: u32 = of(1, 1 << 4);
    /// The request was appended to a queued one.
    pub const BACK_MERGE: u32 = of(2, 1 << 4);
    /// The request was prepended to a queued one.
    pub const FRONT_MERGE: u32 = of(3, 1 << 4);
    /// The driver returned the request, which will be issued again.
    pub const REQUEUE: u32 = of(6, 1 << 5);
    /// The scheduler issued the request to the driver.
    pub const ISSUE: u32 = of(7, 1 << 6);
    /// Completed.
    pub const COMPLETE: u32 = of(8, 1 << 7);
    /// The request was inserted into the scheduler.
    pub const INSERT: u32 = of(12, 1 << 4);
    /// The request was split in two.
    pub const SPLIT: u32 = of(13, 0);
    /// The payload is the name of a process.
    pub const PROCESS: u32 = of(0, super::NOTIFY);
    /// The payload is the time of day: seconds and nanoseconds of 32 bits each.
    pub const TIME_OF_DAY: u32 = of(1, super::NOTIFY);
    /// The payload is a text.
    pub const MESSAGE: u32 = of(2, super::NOTIFY);
    /// Category of reads.
    pub const READ: u32 = of(0, 1);
    /// Category of writes, and of discards.
    pub const WRITE: u32 = of(0, super::WRITE);
    /// Category of flushes, which make earlier data durable.
    pub const FLUSH: u32 = of(0, super::FLUSH);
    /// Category of synchronous requests, whose caller waits for them.
    pub const SYNC: u32 = of(0, 1 << 3);
    /// Category of file data and metadata, as opposed to commands.
    pub const FILE_SYSTEM: u32 = of(0, 1 << 8);
    /// Category of read-ahead.
    pub const AHEAD: u32 = of(0, 1 << 11);
    /// Category of metadata.
    pub const METADATA: u32 = of(0, 1 << 12);
    /// Category of discards.
    pub const DISCARD: u32 = of(0, super::DISCARD);
    /// Category of writes that complete only when they are durable.
    pub const DURABLE: u32 = of(0, 1 << 15);

    /// Converts the kernel's letters to the categories of a request. An F before the operation means a flush
    /// before it, and an F after it makes the data durable.
    #[inline]
    pub fn categories(letters: &[u8]) -> u32 {
        let (mut found, mut has_operation) = (0, false);
        for (place, letter) in letters.iter().enumerate() {
            found |= match letter {
                0 => break,
                // The letters after a Z distinguish operations on zones and are not categories.
                b'Z' => return found | WRITE | FILE_SYSTEM,
                b'F' if has_operation => DURABLE,
                b'F' => FLUSH,
                b'R' => READ,
                b'W' => WRITE,
                b'D' => DISCARD | WRITE,
                b'A' => AHEAD,
                b'S' => SYNC,
                b'M' => METADATA,
                _ => 0,
            };
            // A second F directly after the first is the operation of a request that only flushes.
            has_operation |= matches!(letter, b'R' | b'W' | b'D' | b'N') || (*letter == b'F' && place > 0);
        }
        if found & (READ | WRITE) == 0 && found & FLUSH != 0 {
            found |= WRITE;
        }
        found | FILE_SYSTEM
    }
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceAction {
    /// A process issued the request.
    Queue,
    /// The request was appended to a queued request that ends where it starts.
    BackMerge,
    /// The request was prepended to a queued request that starts where it ends.
    FrontMerge,
    /// The driver received the request.
    Issue,
    /// The driver returned the request, which will be issued again.
    Requeue,
    /// The device completed the request.
    Complete,
    /// The event is a message, such as the name of a process.
    Note,
    /// Anything else.
    Other,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time in ns on the clock of the trace.
    pub time_ns: u64,
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Bytes from the start of that sector to the first byte; 0 except in recordings of files.
    pub skip: u16,
    /// Bytes.
    pub bytes: u32,
    /// The type of the event.
    pub action: TraceAction,
    /// The direction of the request.
    pub direction: Direction,
    /// True if earlier data must be durable first (a flush, or a write with a preceding flush).
    pub flushes: bool,
    /// The process.
    pub pid: u32,
    /// The device.
    pub device: Device,
    /// The processor.
    pub cpu: u32,
    /// Action and categories as the record stores them; see [`code`](mod@code).
    pub code: u32,
    /// Error number of a completion; 0 for success.
    pub error: u16,
}

impl Event {
    /// Appends the record of this event in little-endian byte order, with a payload, which is truncated to the
    /// maximum size of a payload.
    #[inline]
    pub fn encode(&self, sequence: u32, payload: &[u8], out: &mut Vec<u8>) {
        let length = u16::try_from(payload.len()).unwrap_or(u16::MAX);
        let device = self.device.major << 20 | self.device.minor & 0xf_ffff;
        // The kernel stores negative error numbers, so the sign is changed.
        let error = self.error.wrapping_neg();
        let pair = |low: u32, high: u32| (u64::from(low) | u64::from(high) << 32).to_le_bytes();
        let record: [[u8; 8]; RECORD / 8] = [
            pair(MAGIC | VERSION, sequence),
            self.time_ns.to_le_bytes(),
            self.sector.to_le_bytes(),
            pair(self.bytes, self.code & !CONTROL_GROUP),
            pair(self.pid, device),
            pair(self.cpu, u32::from(error) | u32::from(length) << 16),
        ];
        out.extend_from_slice(record.as_flattened());
        out.extend_from_slice(&payload[..usize::from(length)]);
    }

    /// Returns an event of this code, with the fields that the code determines.
    #[inline]
    pub fn of_code(code: u32) -> Event {
        Event {
            time_ns: 0,
            sector: 0,
            skip: 0,
            bytes: 0,
            action: action_of(code),
            direction: direction_of(code),
            flushes: (code >> CATEGORY_SHIFT) & FLUSH != 0,
            pid: 0,
            device: Device { major: 0, minor: 0 },
            cpu: 0,
            code,
            error: 0,
        }
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
    /// The first record, which determines the byte order of the trace.
    first: Option<[u8; RECORD]>,
    /// Number of records read so far.
    records: u64,
}

impl<R: Read> Trace<R> {
    /// Starts to read a trace; returns an error if the bytes are not a trace.
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

    /// Returns the number of records read.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the next event; `None` at the end. Events before an error are valid; no event can be read after
    /// it.
    // The reader is not an iterator, because an error ends it.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Event>, CutOff> {
        let Some((event, payload)) = self.next_record()? else { return Ok(None) };
        let skipped = io::copy(&mut self.reader.by_ref().take(u64::from(payload)), &mut io::sink());
        match skipped? == u64::from(payload) {
            true => Ok(Some(event)),
            false => Err(CutOff::Payload),
        }
    }

    /// Works like [`Trace::next`], and replaces the content of `payload` with the event's payload.
    pub fn next_with_payload(&mut self, payload: &mut Vec<u8>) -> Result<Option<Event>, CutOff> {
        payload.clear();
        let Some((event, length)) = self.next_record()? else { return Ok(None) };
        let read = self.reader.by_ref().take(u64::from(length)).read_to_end(payload)?;
        match read == usize::from(length) {
            true => Ok(Some(event)),
            false => Err(CutOff::Payload),
        }
    }

    /// Returns the next event, and the length of the payload that follows.
    fn next_record(&mut self) -> Result<Option<(Event, u16)>, CutOff> {
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
        let device = self.u32(&record, 36);
        let error = self.u16(&record, 44);
        let event = Event {
            time_ns: self.u64(&record, 8),
            sector: self.u64(&record, 16),
            bytes: self.u32(&record, 24),
            pid: self.u32(&record, 32),
            device: Device { major: device >> 20, minor: device & 0xf_ffff },
            cpu: self.u32(&record, 40),
            error: if error > i16::MAX as u16 { error.wrapping_neg() } else { error },
            ..Event::of_code(self.u32(&record, 28))
        };
        Ok(Some((event, self.u16(&record, 46))))
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
    const fn number(code: u32) -> u32 {
        code & 0xffff
    }
    const QUEUE: u32 = number(code::QUEUE);
    const BACK_MERGE: u32 = number(code::BACK_MERGE);
    const FRONT_MERGE: u32 = number(code::FRONT_MERGE);
    const ISSUE: u32 = number(code::ISSUE);
    const REQUEUE: u32 = number(code::REQUEUE);
    const COMPLETE: u32 = number(code::COMPLETE);
    match number(action) & !CONTROL_GROUP {
        QUEUE => TraceAction::Queue,
        BACK_MERGE => TraceAction::BackMerge,
        FRONT_MERGE => TraceAction::FrontMerge,
        ISSUE => TraceAction::Issue,
        REQUEUE => TraceAction::Requeue,
        COMPLETE => TraceAction::Complete,
        _ => TraceAction::Other,
    }
}

/// Returns the direction of an action. Discards are tested first, because they are also marked as writes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_the_kernel_are_categories() {
        let event = |letters: &str| Event::of_code(code::QUEUE | code::categories(letters.as_bytes()));
        for (letters, direction, flushes) in [
            ("R", Direction::Read, false),
            ("RAM", Direction::Read, false),
            ("WS", Direction::Write, false),
            ("WFS", Direction::Write, false),
            ("FWS", Direction::Write, true),
            ("FWFSM", Direction::Write, true),
            ("FF", Direction::Write, true),
            ("F", Direction::Write, true),
            ("D", Direction::Trim, false),
            ("DE", Direction::Trim, false),
            ("ZR", Direction::Write, false),
            ("ZF", Direction::Write, false),
        ] {
            let event = event(letters);
            assert_eq!((event.direction, event.flushes), (direction, flushes), "{letters}");
        }
        assert_ne!(code::categories(b"WFS") & code::DURABLE, 0);
        assert_eq!(code::categories(b"FWS") & code::DURABLE, 0);
        assert_ne!(code::categories(b"RA") & code::AHEAD, 0);
    }
}
