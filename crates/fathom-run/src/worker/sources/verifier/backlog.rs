//! `verify_backlog`: written data is read back in batches while the job continues. When a batch is due depends
//! only on the writes issued, not on their completion, so a later run that verifies the same sequence counts
//! the same reads, regardless of its queue depth.

use crate::plan::model::verify::VerifyPlan;
use crate::verify::history::Record;
use std::collections::BTreeMap;

/// Writes that have started and are not yet read back, and the state of the current batch.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    /// Number of unread writes at which a batch begins; 0 for never.
    size: u64,
    batch: u64,
    /// Remaining reads of the current batch. If no write is left to read, they are deferred to the next write.
    left: u64,
    unread: Unread,
    /// Reads that are due but not issued yet.
    due: u64,
    /// True if the batch covers everything, including the remaining parts of overwritten writes.
    drains: bool,
    /// Number of batch reads that became due since the last call.
    ios: u64,
    /// Bytes read in batches and at the ends of passes since the last call, if ranges count.
    bytes: u64,
}

/// Writes that are not yet read back.
#[derive(Clone, Debug)]
enum Unread {
    /// Number of writes, if each range is written once.
    Writes(u64),
    /// Bytes by file and offset. A write replaces all entries that it overlaps, even partly.
    Places(BTreeMap<(u32, u64), u32>),
}

impl Unread {
    fn add(&mut self, record: &Record) {
        match self {
            Unread::Writes(count) => *count += 1,
            Unread::Places(places) => {
                forget(places, record.file, record.offset, record.length);
                places.insert((record.file, record.offset), record.length);
            }
        }
    }

    fn len(&self) -> u64 {
        match self {
            Unread::Writes(count) => *count,
            Unread::Places(places) => places.len() as u64,
        }
    }

    /// Removes the next range; returns its bytes, if ranges count.
    fn take(&mut self) -> u64 {
        match self {
            Unread::Writes(count) => {
                *count = count.saturating_sub(1);
                0
            }
            Unread::Places(places) => places.pop_first().map_or(0, |(_, length)| u64::from(length)),
        }
    }

    /// Removes all ranges; returns their bytes, if ranges count.
    fn take_all(&mut self) -> u64 {
        match self {
            Unread::Writes(count) => {
                *count = 0;
                0
            }
            Unread::Places(places) => std::mem::take(places).into_values().map(u64::from).sum(),
        }
    }
}

/// Removes the ranges that overlap this one; true if there were any.
fn forget(places: &mut BTreeMap<(u32, u64), u32>, file: u32, offset: u64, length: u32) -> bool {
    let end = (file, offset.saturating_add(u64::from(length)));
    let mut any = false;
    while let Some((&key, &bytes)) = places.range(..end).next_back() {
        if key.0 != file || key.1.saturating_add(u64::from(bytes)) <= offset {
            break;
        }
        places.remove(&key);
        any = true;
    }
    any
}

impl Backlog {
    pub(super) fn new(plan: &VerifyPlan) -> Backlog {
        Backlog::of(plan.backlog, plan.backlog_batch, plan.may_overlap)
    }

    fn of(size: u64, batch: u64, may_overlap: bool) -> Backlog {
        Backlog {
            size,
            batch,
            left: 0,
            unread: if may_overlap { Unread::Places(BTreeMap::new()) } else { Unread::Writes(0) },
            due: 0,
            drains: false,
            ios: 0,
            bytes: 0,
        }
    }

    /// A write begins.
    pub(super) fn written(&mut self, record: &Record) {
        self.unread.add(record);
        let mut reads = 0;
        while self.size > 0 && self.unread.len() > 0 {
            if self.left == 0 && self.unread.len() >= self.size {
                self.left = self.batch;
            }
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            reads += 1;
            self.bytes += self.unread.take();
        }
        self.due += reads;
        self.ios += reads;
        self.drains |= reads > 0 && self.unread.len() == 0;
    }

    /// Removes a failed write, which must not be read back.
    pub(super) fn failed(&mut self, file: u32, offset: u64, length: u32) {
        let was_unread = match &mut self.unread {
            Unread::Writes(count) if *count > 0 => {
                *count -= 1;
                true
            }
            Unread::Writes(_) => false,
            Unread::Places(places) => forget(places, file, offset, length),
        };
        if !was_unread {
            self.due = self.due.saturating_sub(1);
        }
    }

    /// True if a write is to be read back now.
    pub(super) fn is_due(&self) -> bool {
        self.due > 0 || self.drains
    }

    /// Records that a write was read back or, if `any` is false, that none can be read for now.
    pub(super) fn has_read(&mut self, any: bool) {
        match any {
            true => self.due = self.due.saturating_sub(1),
            false => self.drains = false,
        }
    }

    /// Clears the backlog at the end of a pass, when the rest is read back.
    pub(super) fn end_pass(&mut self) {
        self.bytes += self.unread.take_all();
        (self.due, self.drains) = (0, false);
    }

    /// Number of batch reads since the last call.
    pub(super) fn take_ios(&mut self) -> u64 {
        std::mem::take(&mut self.ios)
    }

    /// Bytes read back since the last call, if ranges count.
    pub(super) fn take_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, length: u32) -> Record {
        Record::gone(0, offset, length, 0)
    }

    fn reads(mut backlog: Backlog, writes: impl Iterator<Item = Record>) -> Vec<u64> {
        writes
            .map(|record| {
                backlog.written(&record);
                backlog.take_ios()
            })
            .collect()
    }

    /// The reads are the same as those of fio 3.41.
    #[test]
    fn batches_follow_writes() {
        for may_overlap in [false, true] {
            let of = |size, batch, writes| {
                reads(Backlog::of(size, batch, may_overlap), (0..writes).map(|at| write(at * 4, 4)))
            };
            assert_eq!(of(0, 1, 4), [0, 0, 0, 0]);
            assert_eq!(of(4, 4, 9), [0, 0, 0, 4, 0, 0, 0, 4, 0]);
            assert_eq!(of(3, 2, 8), [0, 0, 2, 0, 2, 0, 2, 0]);
            assert_eq!(of(4, 6, 12), [0, 0, 0, 4, 1, 1, 0, 0, 0, 4, 1, 1]);
        }
    }

    /// The reads are the same as those of fio 3.41: with `rw=write:-4k bs=8k` no backlog ever fills.
    #[test]
    fn a_write_takes_the_place_of_those_it_goes_over() {
        let steps_back = (0..6).map(|at| write(at * 4, 8));
        assert_eq!(reads(Backlog::of(3, 3, true), steps_back.clone()), [0; 6]);
        let mut backlog = Backlog::of(3, 3, true);
        steps_back.for_each(|record| backlog.written(&record));
        backlog.end_pass();
        assert_eq!((backlog.take_bytes(), backlog.take_ios()), (8, 0));
        let order = [31, 27, 21, 16, 19, 31, 0, 7, 10, 31].map(|block| write(block * 4, 4));
        assert_eq!(reads(Backlog::of(8, 2, true), order.into_iter()), [0, 0, 0, 0, 0, 0, 0, 0, 2, 0]);
        let long_over_three = [write(0, 4), write(4, 4), write(8, 4), write(2, 8), write(12, 4)];
        assert_eq!(reads(Backlog::of(4, 4, true), long_over_three.into_iter()), [0; 5]);
    }

    #[test]
    fn what_failed_is_not_waited_for() {
        for may_overlap in [false, true] {
            let mut backlog = Backlog::of(2, 2, may_overlap);
            backlog.written(&write(0, 4));
            backlog.failed(0, 0, 4);
            backlog.written(&write(4, 4));
            assert!(!backlog.is_due(), "one write is there");
            backlog.written(&write(8, 4));
            backlog.failed(0, 8, 4);
            backlog.has_read(true);
            backlog.has_read(false);
            assert!(!backlog.is_due(), "of two one was read, and the other failed");
        }
    }
}
