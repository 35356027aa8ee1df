//! A recording of files as events of a block trace: each file is a device, a read or write a request that is queued and completed,
//! a sync a flush.

use crate::blktrace::{Event, SECTOR, code};
use crate::error::{CutOff, TraceError};
use crate::files::{Call, CallEnd, Done, End, FileEntry, FileKind, FileTrace, Item, Operation};
use crate::names::Device;
use crate::side::Lost;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::io::Read;

/// Files that have a device each; all others share one.
const MOST_FILES: u32 = 1 << 16;
/// Calls without an end that are remembered.
const MOST_LATER: usize = 1 << 16;
/// Files that are remembered as left out.
const MOST_LEFT_OUT: usize = 1 << 18;
/// Errors have 16 bits in an event.
const UNKNOWN_ERROR: u16 = u16::MAX;

/// Files that are left out, with all calls on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Files.
    pub files: u64,
    /// Calls of all kinds on them.
    pub calls: u64,
}

/// Decides whether a file counts.
pub type Keep = Box<dyn Fn(&FileEntry) -> bool + Send>;

/// What a recording of files has in addition to requests. Nothing in it comes from files that are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSums {
    /// Calls by operation.
    pub calls: BTreeMap<Operation, u64>,
    /// Opens that failed.
    pub failed_opens: u64,
    /// Reads at the end of a file, which gave nothing.
    pub empty_reads: u64,
    /// Reads and writes whose offset is unknown; they are not among the requests.
    pub unplaced: u64,
    /// Files.
    pub files: u64,
    /// Files of pseudo file systems.
    pub pseudo: LeftOut,
    /// Other files that the reader does not want: see [`Events::keep_files`](crate::events::Events::keep_files).
    pub unwanted: LeftOut,
    /// The sums of the recorder, if the recording has an end.
    pub end: Option<End>,
}

/// Gives the events of a recording in the order of time.
pub(crate) struct FileLoad<R> {
    trace: FileTrace<R>,
    files: HashMap<u32, FileEntry>,
    keep: Option<Keep>,
    /// Files that are left out; true for those of pseudo file systems.
    left_out: HashMap<u32, bool>,
    /// Ends of calls that are not due yet: time, number, and the event.
    ends: BinaryHeap<Reverse<(u64, u64, Ends)>>,
    /// The next request, which waits for the ends before it.
    next: Option<Event>,
    later: HashMap<u64, Event>,
    count: u64,
    /// Time of the last event given.
    given_ns: u64,
    /// Gaps since the last call of [`FileLoad::take_lost`].
    lost: Vec<Lost>,
    sums: FileSums,
    is_over: Option<CutOff>,
    has_ended: bool,
}

/// An event in the heap, whose order does not depend on it.
#[derive(Clone, Copy, Debug)]
struct Ends(Event);

impl PartialEq for Ends {
    fn eq(&self, _: &Ends) -> bool {
        true
    }
}

impl Eq for Ends {}

impl PartialOrd for Ends {
    fn partial_cmp(&self, other: &Ends) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ends {
    fn cmp(&self, _: &Ends) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl<R: Read> FileLoad<R> {
    pub(crate) fn open(reader: R) -> Result<FileLoad<R>, TraceError> {
        Ok(FileLoad {
            trace: FileTrace::open(reader)?,
            files: HashMap::new(),
            keep: None,
            left_out: HashMap::new(),
            ends: BinaryHeap::new(),
            next: None,
            later: HashMap::new(),
            count: 0,
            given_ns: 0,
            lost: Vec::new(),
            sums: FileSums::default(),
            is_over: None,
            has_ended: false,
        })
    }

    pub(crate) fn keep_files(&mut self, keep: Keep) {
        self.keep = Some(keep);
    }

    pub(crate) fn sums(&self) -> &FileSums {
        &self.sums
    }

    pub(crate) fn records(&self) -> u64 {
        self.trace.records()
    }

    /// The file that a device of an event stands for.
    pub(crate) fn file(&self, device: Device) -> Option<&FileEntry> {
        self.files.get(&device.minor).filter(|_| device.major == 0)
    }

    pub(crate) fn take_lost(&mut self) -> Vec<Lost> {
        std::mem::take(&mut self.lost)
    }

    /// The next event, and its message if it has one.
    pub(crate) fn next(&mut self, message: &mut Vec<u8>) -> Result<Option<Event>, CutOff> {
        message.clear();
        loop {
            let until = self.next.map(|event| event.time_ns);
            let is_due = |ends: &Reverse<(u64, u64, Ends)>| until.is_some_and(|until| ends.0.0 <= until);
            if self.ends.peek().is_some_and(|ends| self.has_ended || is_due(ends))
                && let Some(Reverse((_, _, Ends(event)))) = self.ends.pop()
            {
                self.given_ns = event.time_ns;
                return Ok(Some(event));
            }
            if let Some(event) = self.next.take() {
                self.given_ns = event.time_ns;
                return Ok(Some(event));
            }
            if self.has_ended {
                return self.is_over.take().map_or(Ok(None), Err);
            }
            match self.trace.next() {
                Ok(Some(item)) => {
                    if let Some(event) = self.take(item, message) {
                        return Ok(Some(event));
                    }
                }
                Ok(None) => self.has_ended = true,
                // What had ended before is still given.
                Err(error) => (self.has_ended, self.is_over) = (true, Some(error)),
            }
        }
    }

    /// Takes a record; returns the event that a name is.
    fn take(&mut self, item: Item, message: &mut Vec<u8>) -> Option<Event> {
        match item {
            Item::Begin(_) => {}
            Item::File(file) => self.file_found(file),
            Item::Task(task) => {
                if !task.name.is_empty() {
                    message.extend_from_slice(&task.name);
                    return Some(Event { pid: task.tid, ..Event::of_code(code::PROCESS) });
                }
            }
            Item::Call(call) => self.call(&call),
            Item::Done(done) => self.done(&done),
            Item::Lost(lost) => self.lost.push(lost),
            Item::End(end) => self.sums.end = Some(end),
        }
        None
    }

    fn file_found(&mut self, file: FileEntry) {
        let is_pseudo = file.kind == FileKind::Pseudo;
        if is_pseudo || self.keep.as_ref().is_some_and(|keep| !keep(&file)) {
            if self.left_out.len() >= MOST_LEFT_OUT {
                // Most calls on a file come soon after it was found.
                self.left_out.clear();
            }
            let is_new = self.left_out.insert(file.id, is_pseudo).is_none();
            self.left_out_sums(is_pseudo).files += u64::from(is_new);
        } else if file.id < MOST_FILES && self.files.insert(file.id, file).is_none() {
            self.sums.files += 1;
        }
    }

    fn left_out_sums(&mut self, is_pseudo: bool) -> &mut LeftOut {
        if is_pseudo { &mut self.sums.pseudo } else { &mut self.sums.unwanted }
    }

    fn call(&mut self, call: &Call) {
        if let Some(is_pseudo) = self.left_out.get(&call.file).copied() {
            self.left_out_sums(is_pseudo).calls += 1;
            return;
        }
        *self.sums.calls.entry(call.operation).or_default() += 1;
        let result = match call.end {
            CallEnd::Known(_, result) => Some(result),
            CallEnd::Later(_) => None,
        };
        let direction = match call.operation {
            Operation::Read => code::READ,
            Operation::Write => code::WRITE,
            Operation::Punch => code::DISCARD | code::WRITE,
            Operation::Sync | Operation::DataSync | Operation::RangeSync => code::FLUSH | code::WRITE,
            Operation::Open => {
                self.sums.failed_opens += u64::from(result.is_some_and(|result| result < 0));
                return;
            }
            _ => return,
        };
        let moves = matches!(call.operation, Operation::Read | Operation::Write);
        if moves && result == Some(0) {
            self.sums.empty_reads += u64::from(call.operation == Operation::Read);
            return;
        }
        if moves && call.offset.is_none() {
            self.sums.unplaced += 1;
            return;
        }
        // What was moved; of a call that failed, what was asked for.
        let bytes = match result {
            _ if call.operation.is_sync() => 0,
            Some(moved) if moves && moved > 0 => moved.unsigned_abs(),
            _ => call.length,
        };
        if bytes == 0 && !call.operation.is_sync() {
            return;
        }
        let minor = if call.file < MOST_FILES { call.file } else { u32::MAX };
        let offset = if call.operation.is_sync() { 0 } else { call.offset.unwrap_or(0) };
        let event = Event {
            time_ns: call.time_ns,
            sector: offset / SECTOR,
            skip: (offset % SECTOR) as u16,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            pid: call.tid,
            device: Device { major: 0, minor },
            ..Event::of_code(code::QUEUE | direction)
        };
        self.next = Some(event);
        match call.end {
            CallEnd::Known(ns, result) => self.ends_at(event, call.time_ns.saturating_add(ns), result),
            CallEnd::Later(serial) => {
                if self.later.len() >= MOST_LATER {
                    self.later.clear();
                }
                self.later.insert(serial, event);
            }
        }
    }

    fn done(&mut self, done: &Done) {
        if let Some(event) = self.later.remove(&done.serial) {
            self.ends_at(event, done.time_ns.max(self.given_ns), done.result);
        }
    }

    fn ends_at(&mut self, event: Event, time_ns: u64, result: i64) {
        let error = match result {
            0.. => 0,
            error => u16::try_from(error.unsigned_abs()).unwrap_or(UNKNOWN_ERROR),
        };
        let categories = event.code & !code::QUEUE;
        let end = Event {
            time_ns: time_ns.max(event.time_ns),
            error,
            sector: event.sector,
            skip: event.skip,
            bytes: event.bytes,
            pid: event.pid,
            device: event.device,
            ..Event::of_code(code::COMPLETE | categories)
        };
        self.count += 1;
        self.ends.push(Reverse((end.time_ns, self.count, Ends(end))));
    }
}
