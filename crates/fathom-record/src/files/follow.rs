//! From events to calls: which file a descriptor is, where each call reads or writes, how it ends.

use super::calls::{ARGUMENTS, RULES, What};
use super::kernel::Event;
use super::look::{self, Behind, Looked};
use super::queue::{Queue, Sums};
use super::requests::Requests;
use super::searched::Unknown;
use super::table::Files;
use super::tasks::{Descriptor, Open, SHARES_FILES, Slot, Tasks};
use fathom_trace::files::{Call, CallEnd, Item, Operation, TaskEntry};
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// The ioctl that closes a descriptor at exec. The type of libc's constant differs between C libraries.
const FIOCLEX: u64 = 0x5451;

/// Flags of open.
const CLOSE_AT_EXEC: u64 = libc::O_CLOEXEC as u64;
const APPEND: u64 = libc::O_APPEND as u64;
const TRUNCATE: u64 = libc::O_TRUNC as u64;
/// Modes of fallocate that remove, zero or move data, and the one that keeps the size.
const PUNCHES: u64 = 0x02 | 0x08 | 0x10;
const KEEPS_SIZE: u64 = 0x01;
/// Flags of close_range.
const RANGE_UNSHARES: u64 = 2;
const RANGE_AT_EXEC: u64 = 4;
/// A flag of mmap: not a file.
const ANONYMOUS: u64 = 0x20;

/// A system call that has not ended.
#[derive(Debug)]
pub(crate) struct Pending {
    rule: u16,
    arguments: [u64; ARGUMENTS],
    parts: [Option<Part>; 2],
}

/// A traced operation of a system call. Calls that copy between files have two.
#[derive(Debug)]
struct Part {
    serial: u64,
    open: Option<Rc<RefCell<Open>>>,
    place: Place,
}

/// Where data is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At an offset that the call names.
    Fixed,
    /// At the position of the descriptor, which moves on.
    Position,
    /// At the end of the file.
    End,
}

/// Follows threads through their calls.
pub(crate) struct Follower {
    pub(super) tasks: Tasks<Pending>,
    pub(super) files: Files,
    pub(super) queue: Queue,
    pub(super) requests: Requests,
    pub(super) unknown: Unknown,
    new_tasks: Vec<TaskEntry>,
    /// Ends of calls that were written without.
    pub(super) done: Vec<Item>,
    pub(super) unresolved: u64,
    unseen: u64,
}

impl Follower {
    pub(crate) fn new(with_names: bool) -> Follower {
        Follower {
            tasks: Tasks::new(),
            files: Files::new(with_names),
            queue: Queue::default(),
            requests: Requests::default(),
            unknown: Unknown::default(),
            new_tasks: Vec::new(),
            done: Vec::new(),
            unresolved: 0,
            unseen: 0,
        }
    }

    /// Adds a process that exists already.
    pub(crate) fn add_process(&mut self, pid: u32) {
        self.tasks.add_process(pid, &mut self.files);
    }

    /// Takes the next event. `looked` gives what was found when a descriptor was opened.
    pub(crate) fn take(&mut self, time_ns: u64, tid: u32, event: Event, looked: impl FnOnce(i32) -> Looked) {
        match event {
            Event::Enter(rule, arguments) => self.enter(time_ns, tid, rule, arguments),
            Event::Exit(rule, result) => self.exit(time_ns, tid, rule, result, looked),
            Event::Fork { child, flags } => self.tasks.fork(tid, child, flags, &mut self.files),
            Event::Exec { before, program } => self.tasks.exec(tid, before, program, &mut self.files),
            Event::End => drop(self.tasks.remove(tid)),
            event => self.ring(time_ns, tid, event),
        }
    }

    fn enter(&mut self, time_ns: u64, tid: u32, rule: u16, arguments: [u64; ARGUMENTS]) {
        let parts = self.begin(time_ns, tid, RULES[usize::from(rule)].what, &arguments);
        let task = self.tasks.get(tid, &mut self.files);
        // A thread that makes a system call no longer handles a request of a ring.
        task.request = None;
        task.pending = Some(Pending { rule, arguments, parts });
    }

    /// Begins the calls of the trace that a system call is.
    fn begin(
        &mut self,
        time_ns: u64,
        tid: u32,
        what: What,
        arguments: &[u64; ARGUMENTS],
    ) -> [Option<Part>; 2] {
        let argument = |place: Option<usize>| place.map_or(0, |place| arguments[place]);
        let first = arguments[0] as i32;
        match what {
            What::Move(operation, offset, length) => {
                // preadv2 and pwritev2 use the position if the offset is -1.
                let offset = offset.map(|place| arguments[place]).filter(|offset| *offset as i64 >= 0);
                [self.moves(time_ns, tid, first, operation, Source::of(offset), argument(length)), None]
            }
            What::Copy { from, to, length } => {
                [(Operation::Read, from), (Operation::Write, to)].map(|(operation, (descriptor, pointer))| {
                    // The offset is in memory of the program unless the position is used.
                    let source = if argument(pointer) == 0 { Source::Position } else { Source::Unknown };
                    self.moves(
                        time_ns,
                        tid,
                        arguments[descriptor] as i32,
                        operation,
                        source,
                        arguments[length],
                    )
                })
            }
            What::Range(operation, offset, length) => {
                let offset = offset.map(|place| arguments[place]);
                [self.on_file(time_ns, tid, first, operation, offset, argument(length)), None]
            }
            What::Allocate => {
                let operation =
                    if arguments[1] & PUNCHES != 0 { Operation::Punch } else { Operation::Allocate };
                [self.on_file(time_ns, tid, first, operation, Some(arguments[2]), arguments[3]), None]
            }
            What::TruncatePath => {
                [Some(self.without_file(time_ns, tid, Operation::Truncate, arguments[1])), None]
            }
            What::Open(_) => [Some(self.without_file(time_ns, tid, Operation::Open, 0)), None],
            What::Close => [self.close(time_ns, tid, first), None],
            What::CloseRange => {
                self.close_range(time_ns, tid, arguments[0]..=arguments[1], arguments[2]);
                [None, None]
            }
            What::CloseAtExec => {
                self.close_at_exec(tid, first, arguments[1] == FIOCLEX);
                [None, None]
            }
            What::Map if arguments[3] & ANONYMOUS == 0 => {
                let (descriptor, offset) = (arguments[4] as i32, Some(arguments[5]));
                if let Some(part) =
                    self.on_file(time_ns, tid, descriptor, Operation::Map, offset, arguments[1])
                {
                    self.queue.end(part.serial, time_ns, 0, &mut self.done);
                }
                [None, None]
            }
            What::Unshare if arguments[0] & SHARES_FILES != 0 => {
                self.unshare(tid);
                [None, None]
            }
            _ => [None, None],
        }
    }

    /// The open file behind a descriptor; `None` if it is not a file, or closed before it was looked up.
    pub(super) fn open(&mut self, tid: u32, descriptor: i32) -> Option<Rc<RefCell<Open>>> {
        match self.tasks.descriptor(tid, descriptor, &mut self.files) {
            Some(Descriptor::File(open)) => Some(open),
            Some(Descriptor::Other) => None,
            None => {
                self.unresolved += u64::from(descriptor >= 0);
                None
            }
        }
    }

    fn moves(
        &mut self,
        time_ns: u64,
        tid: u32,
        descriptor: i32,
        operation: Operation,
        source: Source,
        length: u64,
    ) -> Option<Part> {
        let open = self.open(tid, descriptor)?;
        let (file, position, appends) = {
            let open = open.borrow();
            (open.file, open.position, open.appends && operation == Operation::Write)
        };
        let (place, offset) = match source {
            // Linux appends even if the call names an offset.
            _ if appends => (Place::End, self.files.end(file)),
            Source::Given(offset) => (Place::Fixed, Some(offset)),
            Source::Position => (Place::Position, position),
            Source::Unknown => (Place::Fixed, None),
        };
        let serial = self.call(time_ns, tid, operation, file, offset, length);
        Some(Part { serial, open: Some(open), place })
    }

    fn on_file(
        &mut self,
        time_ns: u64,
        tid: u32,
        descriptor: i32,
        operation: Operation,
        offset: Option<u64>,
        length: u64,
    ) -> Option<Part> {
        let open = self.open(tid, descriptor)?;
        let file = open.borrow().file;
        let serial = self.call(time_ns, tid, operation, file, offset, length);
        Some(Part { serial, open: Some(open), place: Place::Fixed })
    }

    fn without_file(&mut self, time_ns: u64, tid: u32, operation: Operation, length: u64) -> Part {
        let serial = self.call(time_ns, tid, operation, 0, None, length);
        Part { serial, open: None, place: Place::Fixed }
    }

    pub(super) fn call(
        &mut self,
        time_ns: u64,
        tid: u32,
        operation: Operation,
        file: u32,
        offset: Option<u64>,
        length: u64,
    ) -> u64 {
        let with_names = self.files.with_names();
        let task = self.tasks.get(tid, &mut self.files);
        if !std::mem::replace(&mut task.is_announced, true) {
            // A thread that has ended can no longer be asked for its name.
            let name = if with_names { look::program(tid) } else { Vec::new() };
            let name = if with_names && name.is_empty() { task.program.to_vec() } else { name };
            self.new_tasks.push(TaskEntry { tid, pid: task.pid, name });
        }
        let end = CallEnd::Later(0);
        self.queue.begin(Call { time_ns, tid, operation, is_ring: false, file, offset, length, end })
    }

    /// The descriptor is free as soon as the call begins.
    fn close(&mut self, time_ns: u64, tid: u32, descriptor: i32) -> Option<Part> {
        let task = self.tasks.get(tid, &mut self.files);
        let slot = task.descriptors.borrow_mut().remove(&descriptor)?;
        let Descriptor::File(open) = slot.what else { return None };
        let file = open.borrow().file;
        let serial = self.call(time_ns, tid, Operation::Close, file, None, 0);
        Some(Part { serial, open: None, place: Place::Fixed })
    }

    fn close_range(&mut self, time_ns: u64, tid: u32, range: RangeInclusive<u64>, flags: u64) {
        if flags & RANGE_UNSHARES != 0 {
            self.unshare(tid);
        }
        let descriptors = Rc::clone(&self.tasks.get(tid, &mut self.files).descriptors);
        let mut within: Vec<i32> = descriptors.borrow().keys().copied().collect();
        within.retain(|descriptor| range.contains(&u64::from(descriptor.unsigned_abs())));
        within.sort_unstable();
        for descriptor in within {
            if flags & RANGE_AT_EXEC != 0 {
                self.close_at_exec(tid, descriptor, true);
            } else if let Some(part) = self.close(time_ns, tid, descriptor) {
                self.queue.end(part.serial, time_ns, 0, &mut self.done);
            }
        }
    }

    fn close_at_exec(&mut self, tid: u32, descriptor: i32, closes: bool) {
        let task = self.tasks.get(tid, &mut self.files);
        if let Some(slot) = task.descriptors.borrow_mut().get_mut(&descriptor) {
            slot.closes_at_exec = closes;
        }
    }

    fn unshare(&mut self, tid: u32) {
        let task = self.tasks.get(tid, &mut self.files);
        let own = task.descriptors.borrow().clone();
        task.descriptors = Rc::new(RefCell::new(own));
    }

    fn exit(&mut self, time_ns: u64, tid: u32, rule: u16, result: i64, looked: impl FnOnce(i32) -> Looked) {
        let what = RULES[usize::from(rule)].what;
        match what {
            What::NotFile if result >= 0 => {
                self.put(tid, result as i32, Slot { what: Descriptor::Other, closes_at_exec: false });
                return;
            }
            What::NotFile => return,
            What::Unseen => {
                self.unseen += result.max(0).unsigned_abs();
                return;
            }
            _ => {}
        }
        // Only calls whose beginning was seen.
        let pending = self.tasks.known(tid).and_then(|task| task.pending.take());
        let Some(Pending { arguments, mut parts, .. }) = pending.filter(|pending| pending.rule == rule)
        else {
            return;
        };
        let first = arguments[0] as i32;
        match what {
            What::Move(..) | What::Copy { .. } => {
                parts.iter().flatten().for_each(|part| self.moved(part, result))
            }
            What::Range(Operation::Truncate, ..) if result >= 0 => self.resized(&parts, arguments[1]),
            What::Allocate if result >= 0 && arguments[1] & (PUNCHES | KEEPS_SIZE) == 0 => {
                self.wrote(&parts, arguments[2].saturating_add(arguments[3]));
            }
            What::Open(flags) => {
                let flags = flags.map(|place| arguments[place]);
                self.opened(tid, parts[0].as_mut(), flags, result, looked);
            }
            What::Duplicate if result >= 0 => self.duplicate(tid, first, result as i32, false),
            What::DuplicateTo(flags) if result >= 0 && first != result as i32 => {
                let at_exec = flags.is_some_and(|place| arguments[place] & CLOSE_AT_EXEC != 0);
                self.duplicate(tid, first, result as i32, at_exec);
            }
            What::Control if result >= 0 => self.control(tid, first, &arguments, result),
            What::Seek if result >= 0 => {
                if let Some(open) = self.open(tid, first) {
                    open.borrow_mut().position = Some(result.unsigned_abs());
                }
            }
            _ => {}
        }
        for part in parts.iter().flatten() {
            self.queue.end(part.serial, time_ns, result, &mut self.done);
        }
    }

    /// Data was moved: the offset is that of the position now, which other threads may have moved since the call began.
    fn moved(&mut self, part: &Part, result: i64) {
        let Some(open) = &part.open else { return };
        let mut open = open.borrow_mut();
        let bytes = result.max(0).unsigned_abs();
        let offset = match part.place {
            Place::Fixed => self.queue.call(part.serial).and_then(|call| call.offset),
            Place::Position => open.position,
            Place::End => self.files.end(open.file),
        };
        let end = offset.map(|offset| offset.saturating_add(bytes));
        if part.place != Place::Fixed && result >= 0 {
            open.position = end;
        }
        let Some(call) = self.queue.call(part.serial) else { return };
        call.offset = offset;
        // The lengths in a vector are not seen.
        call.length = call.length.max(bytes);
        if call.operation == Operation::Write {
            if bytes == 0 && result == 0 && call.length > 0 {
                // A copy that found nothing to write.
                self.queue.void(part.serial);
            } else if let Some(end) = end {
                self.files.wrote(open.file, end);
            }
        }
    }

    fn resized(&mut self, parts: &[Option<Part>; 2], size: u64) {
        let open = parts.iter().flatten().find_map(|part| part.open.as_ref());
        if let Some(open) = open {
            self.files.resized(open.borrow().file, size);
        }
    }

    fn wrote(&mut self, parts: &[Option<Part>; 2], end: u64) {
        let open = parts.iter().flatten().find_map(|part| part.open.as_ref());
        if let Some(open) = open {
            self.files.wrote(open.borrow().file, end);
        }
    }

    /// An open has ended.
    fn opened(
        &mut self,
        tid: u32,
        part: Option<&mut Part>,
        flags: Option<u64>,
        result: i64,
        looked: impl FnOnce(i32) -> Looked,
    ) {
        let Some(part) = part.filter(|_| result >= 0) else { return };
        let descriptor = result as i32;
        let Looked { behind, opened, others } = looked(descriptor);
        let (appends, closes_at_exec) = match flags {
            Some(flags) => (flags & APPEND != 0, flags & CLOSE_AT_EXEC != 0),
            None => (
                opened.is_some_and(|opened| opened.appends),
                opened.is_some_and(|opened| opened.closes_at_exec),
            ),
        };
        let file = match behind {
            Some(Behind::File(found)) => self.files.number(&found),
            Some(_) => {
                self.queue.void(part.serial);
                self.put(tid, descriptor, Slot { what: Descriptor::Other, closes_at_exec });
                return;
            }
            None => self.files.unknown(),
        };
        let is_known = self.files.end(file).is_some();
        if flags.is_some_and(|flags| flags & TRUNCATE != 0) {
            self.files.resized(file, 0);
        }
        if let Some(call) = self.queue.call(part.serial) {
            call.file = file;
        }
        let open = Rc::new(RefCell::new(Open { file, position: Some(0), appends }));
        if !is_known {
            let since_ns = self.queue.call(part.serial).map_or(0, |call| call.time_ns);
            self.unknown.add((tid, since_ns), file, &open, others);
        }
        self.put(tid, descriptor, Slot { what: Descriptor::File(open), closes_at_exec });
    }

    fn put(&mut self, tid: u32, descriptor: i32, slot: Slot) {
        let task = self.tasks.get(tid, &mut self.files);
        task.descriptors.borrow_mut().insert(descriptor, slot);
    }

    fn duplicate(&mut self, tid: u32, from: i32, to: i32, closes_at_exec: bool) {
        match self.tasks.descriptor(tid, from, &mut self.files) {
            Some(what) => self.put(tid, to, Slot { what, closes_at_exec }),
            // It is looked up when it is used.
            None => drop(self.tasks.get(tid, &mut self.files).descriptors.borrow_mut().remove(&to)),
        }
    }

    fn control(&mut self, tid: u32, descriptor: i32, arguments: &[u64; ARGUMENTS], result: i64) {
        match arguments[1] as i32 {
            libc::F_DUPFD => self.duplicate(tid, descriptor, result as i32, false),
            libc::F_DUPFD_CLOEXEC => self.duplicate(tid, descriptor, result as i32, true),
            libc::F_SETFD => self.close_at_exec(tid, descriptor, arguments[2] & libc::FD_CLOEXEC as u64 != 0),
            libc::F_SETFL => {
                if let Some(open) = self.open(tid, descriptor) {
                    open.borrow_mut().appends = arguments[2] & APPEND != 0;
                }
            }
            _ => {}
        }
    }

    /// Events are missing: descriptors may have changed.
    pub(crate) fn lost(&mut self) {
        self.tasks.forget_descriptors();
    }

    /// Gives files and threads that are new, and the calls that may be written.
    pub(crate) fn flush(&mut self, now_ns: u64, is_end: bool, items: &mut Vec<Item>) {
        items.extend(self.files.take_new().into_iter().map(Item::File));
        items.extend(self.new_tasks.drain(..).map(Item::Task));
        self.queue.flush(now_ns, is_end, |file| self.unknown.has(file), items);
        items.append(&mut self.done);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            sums: self.queue.sums(),
            unresolved: self.unresolved,
            unknown_files: self.files.unknown_files(),
            unseen: self.unseen,
        }
    }
}

/// Offset at which a call moves data, as far as its arguments tell.
enum Source {
    Given(u64),
    Position,
    Unknown,
}

impl Source {
    fn of(offset: Option<u64>) -> Source {
        offset.map_or(Source::Position, Source::Given)
    }
}

/// What was recorded, and what was not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sums: Sums,
    pub(crate) unresolved: u64,
    pub(crate) unknown_files: u64,
    pub(crate) unseen: u64,
}
