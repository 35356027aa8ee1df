//! Recordings of what programs ask of their files, as `fathom record --files` writes them.
//!
//! A recording is a sequence of zstd frames; [`plain`](crate::plain) gives their content. That is [`MAGIC`] and then records: the
//! length of the rest as a [variable-length number](put_number), a byte that says which kind of record it is, and its fields.
//! Readers skip kinds that they do not know, and fields after those that they know. Each frame ends with a complete record.
//!
//! * `B`, `L`, `E`: JSON of [`Begin`], [`Lost`] and [`End`]: the first record, the places where events are missing, the last record.
//! * `F`: a [`FileEntry`], before the first call on it. `T`: a [`TaskEntry`], before the first call of it.
//! * `C`: a [`Call`]. Calls are in the order of their submission; one that takes longer than a second is written without its end.
//! * `D`: a [`Done`], the end of such a call.

use crate::error::{CutOff, Damage, TraceError};
use crate::side::Lost;
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read};

/// First bytes of the content.
pub const MAGIC: &[u8] = b"fathom files 1\n";
/// The current version.
pub const VERSION: u32 = 1;
/// Maximum length of a record; names are at most 4096 bytes long.
const LONGEST: u64 = 1 << 20;

/// The conditions of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Version of the format; see [`VERSION`].
    pub version: u32,
    /// Version of the program.
    pub program: String,
    /// Release of the kernel.
    pub kernel: String,
    /// The clock of the times: CLOCK_MONOTONIC is `mono`.
    pub clock: String,
    /// Time of day in ns since 1970 when that clock read `clock_ns`.
    pub wall_ns: u64,
    /// See `wall_ns`.
    pub clock_ns: u64,
    /// Number of this part of the recording, from 1.
    pub part: u32,
    /// What was recorded: `command`, `pid` or `cgroup`.
    pub target: String,
    /// The names of files and programs are in it.
    pub names: bool,
}

/// The sums of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Calls in all parts.
    pub calls: u64,
    /// Events that the kernel lost because a buffer was full.
    pub lost: u64,
    /// Calls on descriptors that were closed before their file could be looked up; they are not in the trace.
    pub unresolved: u64,
    /// Opens after which the file could not be looked up; it has a number and no other properties.
    pub unknown_files: u64,
    /// Calls with the length or the place in a memory of the program that the recorder does not read (libaio); not in the trace.
    pub unseen: u64,
    /// Calls without an offset.
    pub unplaced: u64,
    /// Calls whose end was not seen.
    pub unfinished: u64,
    /// Mappings of files to memory. Accesses to them are not seen.
    pub mapped: u64,
    /// Length of the recording in ns.
    pub time_ns: u64,
    /// User and system time of the recorder in µs.
    pub recorder_us: (u64, u64),
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// It could not be looked up.
    #[default]
    Unknown,
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A block device.
    Device,
    /// A file or directory of a pseudo file system such as proc or sysfs, which holds no data: the kernel makes its content up.
    Pseudo,
}

impl FileKind {
    const ALL: [FileKind; 5] =
        [FileKind::Unknown, FileKind::Regular, FileKind::Directory, FileKind::Device, FileKind::Pseudo];
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileEntry {
    /// Its number, from 1. The same file may get another number if it is seen again much later.
    pub id: u32,
    /// Its kind.
    pub kind: FileKind,
    /// Its size in bytes when it was first seen.
    pub size: u64,
    /// Its path; empty in recordings without names.
    pub name: Vec<u8>,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskEntry {
    /// Its id.
    pub tid: u32,
    /// The id of its process.
    pub pid: u32,
    /// Name of its program; empty in recordings without names.
    pub name: Vec<u8>,
}

/// What a program asks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    /// Read data.
    Read = 1,
    /// Write data.
    Write = 2,
    /// fsync, and syncfs of its file system.
    Sync = 3,
    /// fdatasync.
    DataSync = 4,
    /// sync_file_range.
    RangeSync = 5,
    /// fallocate that allocates space.
    Allocate = 6,
    /// fallocate that removes or zeroes a range.
    Punch = 7,
    /// truncate, ftruncate: the length is the new size.
    Truncate = 8,
    /// open in all its forms.
    Open = 9,
    /// close.
    Close = 10,
    /// mmap: accesses to the range are not seen.
    Map = 11,
}

impl Operation {
    /// All operations, by number from 1.
    pub const ALL: [Operation; 11] = [
        Operation::Read,
        Operation::Write,
        Operation::Sync,
        Operation::DataSync,
        Operation::RangeSync,
        Operation::Allocate,
        Operation::Punch,
        Operation::Truncate,
        Operation::Open,
        Operation::Close,
        Operation::Map,
    ];

    /// True for the three kinds of sync.
    pub fn is_sync(self) -> bool {
        matches!(self, Operation::Sync | Operation::DataSync | Operation::RangeSync)
    }
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Time of submission in ns on the clock of the trace. It never decreases.
    pub time_ns: u64,
    /// The thread.
    pub tid: u32,
    /// What is asked.
    pub operation: Operation,
    /// It was submitted through a ring of io_uring.
    pub is_ring: bool,
    /// The file's number; 0 if there is none (an open that failed) or it is unknown.
    pub file: u32,
    /// First byte; `None` if the kernel does not say.
    pub offset: Option<u64>,
    /// Length in bytes that was asked for.
    pub length: u64,
    /// How it ended, or the number by which a [`Done`] says so later.
    pub end: CallEnd,
}

/// End of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It took this many ns, and had this result: bytes, a descriptor, or a negative error number.
    Known(u64, i64),
    /// It had not ended when it was written. A [`Done`] with this number follows, unless the end was never seen.
    Later(u64),
}

/// The end of a call that took long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The number in [`CallEnd::Later`].
    pub serial: u64,
    /// Time of its end in ns.
    pub time_ns: u64,
    /// Its result.
    pub result: i64,
}

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// The conditions.
    Begin(Box<Begin>),
    /// A file.
    File(FileEntry),
    /// A thread.
    Task(TaskEntry),
    /// A call.
    Call(Call),
    /// The end of a call that took long.
    Done(Done),
    /// Events are missing here.
    Lost(Lost),
    /// The sums.
    End(End),
}

const IS_RING: u64 = 1;
const IS_PLACED: u64 = 2;
const IS_LATER: u64 = 4;

/// Writes records. Times are differences from the last one, so it must write all records of a part.
#[derive(Debug, Default)]
pub struct Encoder {
    last_ns: u64,
    record: Vec<u8>,
}

impl Encoder {
    /// Appends a record.
    pub fn put(&mut self, item: &Item, out: &mut Vec<u8>) {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        match item {
            Item::Begin(begin) => put_json(b'B', &**begin, &mut record),
            Item::Lost(lost) => put_json(b'L', lost, &mut record),
            Item::End(end) => put_json(b'E', end, &mut record),
            Item::File(file) => {
                record.push(b'F');
                for number in [u64::from(file.id), file.kind as u64, file.size] {
                    put_number(number, &mut record);
                }
                record.extend_from_slice(&file.name);
            }
            Item::Task(task) => {
                record.push(b'T');
                put_number(u64::from(task.tid), &mut record);
                put_number(u64::from(task.pid), &mut record);
                record.extend_from_slice(&task.name);
            }
            Item::Call(call) => self.put_call(call, &mut record),
            Item::Done(done) => {
                record.push(b'D');
                put_number(done.serial, &mut record);
                put_signed(done.time_ns.wrapping_sub(self.last_ns) as i64, &mut record);
                put_signed(done.result, &mut record);
            }
        }
        put_number(record.len() as u64, out);
        out.extend_from_slice(&record);
        self.record = record;
    }

    fn put_call(&mut self, call: &Call, record: &mut Vec<u8>) {
        record.push(b'C');
        put_signed(call.time_ns.wrapping_sub(self.last_ns) as i64, record);
        self.last_ns = call.time_ns;
        put_number(u64::from(call.tid), record);
        put_number(call.operation as u64, record);
        let flag = |set: bool, flag: u64| if set { flag } else { 0 };
        let is_later = matches!(call.end, CallEnd::Later(_));
        put_number(
            flag(call.is_ring, IS_RING) | flag(call.offset.is_some(), IS_PLACED) | flag(is_later, IS_LATER),
            record,
        );
        put_number(u64::from(call.file), record);
        if let Some(offset) = call.offset {
            put_number(offset, record);
        }
        put_number(call.length, record);
        match call.end {
            CallEnd::Known(ns, result) => {
                put_number(ns, record);
                put_signed(result, record);
            }
            CallEnd::Later(serial) => put_number(serial, record),
        }
    }
}

fn put_json(kind: u8, value: &impl Serialize, out: &mut Vec<u8>) {
    out.push(kind);
    // Plain data with text keys always has a JSON form, and memory can be written to.
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "{written:?}");
}

/// Appends a number of variable length: 7 bits per byte, the lowest first; the highest bit says that more follow.
pub fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number: 0, -1, 1, -2 and so on are stored as 0, 1, 2, 3.
fn put_signed(number: i64, out: &mut Vec<u8>) {
    put_number((number << 1 ^ number >> 63) as u64, out);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_small(bytes: &mut &[u8]) -> Option<u32> {
    take_number(bytes)?.try_into().ok()
}

fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let number = take_number(bytes)?;
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

/// True if the content of a file begins like a recording of files.
pub fn begins_recording(content: &[u8]) -> bool {
    content.starts_with(&MAGIC[..MAGIC.len().min(content.len())]) && content.len() >= 8
}

/// Reads the records of a recording.
pub struct FileTrace<R> {
    reader: R,
    record: Vec<u8>,
    records: u64,
    last_ns: u64,
    has_end: bool,
}

impl<R: Read> FileTrace<R> {
    /// Starts to read the content of a recording; an error if it is something else.
    pub fn open(mut reader: R) -> Result<FileTrace<R>, TraceError> {
        let mut magic = [0; MAGIC.len()];
        reader.read_exact(&mut magic).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => TraceError::Broken(Damage::NoRecording),
            _ => TraceError::Io(error),
        })?;
        match magic == MAGIC {
            true => Ok(FileTrace { reader, record: Vec::new(), records: 0, last_ns: 0, has_end: false }),
            false => Err(Damage::NoRecording.into()),
        }
    }

    /// Records read so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The next record; `None` at the end. Records before an error are valid; nothing can be read after it.
    // Not an iterator, because an error ends it.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Item>, CutOff> {
        loop {
            let Some(length) = self.length()? else {
                return if self.has_end { Ok(None) } else { Err(CutOff::NoEnd) };
            };
            self.record.resize(length, 0);
            self.reader.read_exact(&mut self.record).map_err(cut)?;
            self.records += 1;
            let record = std::mem::take(&mut self.record);
            let item = self.item(&record);
            self.record = record;
            if let Some(item) = item? {
                self.has_end |= matches!(item, Item::End(_));
                return Ok(Some(item));
            }
        }
    }

    /// The length of the next record; `None` at the end.
    fn length(&mut self) -> Result<Option<usize>, CutOff> {
        let (mut bytes, mut byte) = (Vec::new(), [0]);
        loop {
            match self.reader.read(&mut byte) {
                Ok(0) if bytes.is_empty() => return Ok(None),
                Ok(0) => return Err(CutOff::Frame),
                Ok(_) => bytes.push(byte[0]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(cut(error)),
            }
            if byte[0] & 0x80 == 0 {
                let length = take_number(&mut &bytes[..]).filter(|length| (1..=LONGEST).contains(length));
                return length.map(|length| Some(length as usize)).ok_or(CutOff::NotRecord(self.records + 1));
            }
            if bytes.len() > 9 {
                return Err(CutOff::NotRecord(self.records + 1));
            }
        }
    }

    /// The item in a record; `None` if its kind is not known.
    fn item(&mut self, record: &[u8]) -> Result<Option<Item>, CutOff> {
        let Some((kind, mut rest)) = record.split_first() else { return Ok(None) };
        let item = match kind {
            b'B' => serde_json::from_slice(rest).ok().map(|begin| Item::Begin(Box::new(begin))),
            b'L' => serde_json::from_slice(rest).ok().map(Item::Lost),
            b'E' => serde_json::from_slice(rest).ok().map(Item::End),
            b'F' => file(&mut rest),
            b'T' => task(&mut rest),
            b'C' => self.call(&mut rest).map(Item::Call),
            b'D' => self.done(&mut rest).map(Item::Done),
            _ => return Ok(None),
        };
        item.map(Some).ok_or(CutOff::NotRecord(self.records))
    }

    fn call(&mut self, bytes: &mut &[u8]) -> Option<Call> {
        // Times do not decrease, whatever the bytes say.
        let time_ns = self.last_ns.wrapping_add_signed(take_signed(bytes)?).max(self.last_ns);
        let tid = take_small(bytes)?;
        let operation = *Operation::ALL.get((take_number(bytes)?.checked_sub(1)?) as usize)?;
        let flags = take_number(bytes)?;
        let file = take_small(bytes)?;
        let offset = if flags & IS_PLACED != 0 { Some(take_number(bytes)?) } else { None };
        let length = take_number(bytes)?;
        let end = match flags & IS_LATER != 0 {
            true => CallEnd::Later(take_number(bytes)?),
            false => CallEnd::Known(take_number(bytes)?, take_signed(bytes)?),
        };
        self.last_ns = time_ns;
        Some(Call { time_ns, tid, operation, is_ring: flags & IS_RING != 0, file, offset, length, end })
    }

    fn done(&self, bytes: &mut &[u8]) -> Option<Done> {
        let serial = take_number(bytes)?;
        let time_ns = self.last_ns.wrapping_add_signed(take_signed(bytes)?);
        Some(Done { serial, time_ns, result: take_signed(bytes)? })
    }
}

fn file(bytes: &mut &[u8]) -> Option<Item> {
    let (id, kind, size) = (take_small(bytes)?, take_number(bytes)?, take_number(bytes)?);
    let kind = FileKind::ALL.get(usize::try_from(kind).ok()?).copied().unwrap_or_default();
    Some(Item::File(FileEntry { id, kind, size, name: bytes.to_vec() }))
}

fn task(bytes: &mut &[u8]) -> Option<Item> {
    Some(Item::Task(TaskEntry { tid: take_small(bytes)?, pid: take_small(bytes)?, name: bytes.to_vec() }))
}

/// An incomplete frame is the usual end of a recording that was cut off.
fn cut(error: std::io::Error) -> CutOff {
    match error.kind() {
        ErrorKind::UnexpectedEof => CutOff::Frame,
        _ => CutOff::Io(error),
    }
}

#[cfg(test)]
mod tests;
