//! One I/O in flight. Units are in memory that the crew can read as well, so that it can list the stuck I/Os of
//! a device that hangs. Every field is an atomic that only the worker writes, with `Relaxed` stores, which cost
//! as much as plain ones.

use crate::targets::Target;
use fathom_stats::Direction;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Operation of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u32)]
pub enum Operation {
    /// Read data.
    Read = 0,
    /// Write data.
    Write = 1,
    /// Discard a range.
    Trim = 2,
    /// fsync.
    Sync = 3,
    /// fdatasync.
    DataSync = 4,
    /// sync_file_range.
    RangeSync = 5,
}

impl Operation {
    /// The operation's word in messages.
    pub fn word(self) -> &'static str {
        ["read", "write", "trim", "sync", "datasync", "sync_file_range"][self as usize]
    }

    /// True for the three kinds of sync.
    pub fn is_sync(self) -> bool {
        self as u32 >= Operation::Sync as u32
    }

    /// Converts a number, as given by `as u32`, to its operation.
    fn from_number(number: u32) -> Operation {
        match number {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Trim,
            3 => Operation::Sync,
            4 => Operation::DataSync,
            _ => Operation::RangeSync,
        }
    }
}

impl From<Direction> for Operation {
    fn from(direction: Direction) -> Operation {
        match direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
            Direction::Trim => Operation::Trim,
        }
    }
}

/// One I/O unit, the size of a cache line.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Unit {
    /// First byte in the file.
    offset: AtomicU64,
    /// Tick at which submission started.
    start: AtomicU64,
    /// Tick at which the kernel accepted the unit.
    issue: AtomicU64,
    /// Nonzero while the unit is in flight.
    in_flight: AtomicU32,
    length: AtomicU32,
    /// Bytes moved by earlier, partial attempts.
    done: AtomicU32,
    file: AtomicU32,
    operation: AtomicU32,
    /// Index of the unit's priority among the job's priorities.
    priority: AtomicU32,
}

const _: () = assert!(std::mem::size_of::<Unit>() == 64);

impl Unit {
    /// Sets the unit's target. From then on the unit counts as in flight, because submission itself may hang.
    #[inline(always)]
    pub fn aim(&self, target: Target, start: u64) {
        self.offset.store(target.offset, Relaxed);
        self.length.store(target.length, Relaxed);
        self.file.store(target.file, Relaxed);
        self.operation.store(target.direction as u32, Relaxed);
        self.start.store(start, Relaxed);
        self.done.store(0, Relaxed);
        self.set_in_flight(true);
    }

    /// Turns the unit into a sync of a file; `offset` and `length` are used by range syncs.
    pub fn aim_sync(&self, operation: Operation, file: u32, offset: u64, length: u32, start: u64) {
        self.offset.store(offset, Relaxed);
        self.length.store(length, Relaxed);
        self.file.store(file, Relaxed);
        self.operation.store(operation as u32, Relaxed);
        self.start.store(start, Relaxed);
        self.done.store(0, Relaxed);
        self.set_in_flight(true);
    }

    /// Sets both submission and issue to this tick, for engines that complete an I/O inside the call.
    #[inline(always)]
    pub fn started_at(&self, tick: u64) {
        self.start.store(tick, Relaxed);
        self.issue.store(tick, Relaxed);
    }

    /// Records the tick at which the unit was handed to the kernel.
    #[inline(always)]
    pub fn issued_at(&self, tick: u64) {
        self.issue.store(tick, Relaxed);
    }

    /// Sets whether the unit is in flight.
    #[inline(always)]
    pub fn set_in_flight(&self, in_flight: bool) {
        self.in_flight.store(u32::from(in_flight), Relaxed);
    }

    /// See [`set_in_flight`](Unit::set_in_flight).
    #[inline(always)]
    pub fn is_in_flight(&self) -> bool {
        self.in_flight.load(Relaxed) != 0
    }

    /// First byte of the complete I/O.
    #[inline(always)]
    pub fn offset(&self) -> u64 {
        self.offset.load(Relaxed)
    }

    /// Length of the complete I/O in bytes.
    #[inline(always)]
    pub fn length(&self) -> u32 {
        self.length.load(Relaxed)
    }

    /// Bytes moved by earlier, partial attempts.
    #[inline(always)]
    pub fn done(&self) -> u32 {
        self.done.load(Relaxed)
    }

    /// Adds to [`done`](Unit::done).
    pub fn add_done(&self, bytes: u32) {
        self.done.store(self.done().saturating_add(bytes), Relaxed);
    }

    /// Index of the file.
    #[inline(always)]
    pub fn file(&self) -> u32 {
        self.file.load(Relaxed)
    }

    /// Sets the index of the unit's priority, which stays until it is set again.
    pub fn set_priority(&self, index: u32) {
        self.priority.store(index, Relaxed);
    }

    /// See [`set_priority`](Unit::set_priority).
    pub fn priority(&self) -> u32 {
        self.priority.load(Relaxed)
    }

    /// The operation.
    #[inline(always)]
    pub fn operation(&self) -> Operation {
        Operation::from_number(self.operation.load(Relaxed))
    }

    /// Direction of the unit, or `None` for a sync.
    #[inline(always)]
    pub fn direction(&self) -> Option<Direction> {
        Direction::from_index(self.operation.load(Relaxed) as usize)
    }

    /// Tick at which submission started.
    #[inline(always)]
    pub fn start(&self) -> u64 {
        self.start.load(Relaxed)
    }

    /// Tick at which the kernel accepted the unit.
    #[inline(always)]
    pub fn issue(&self) -> u64 {
        self.issue.load(Relaxed)
    }
}
