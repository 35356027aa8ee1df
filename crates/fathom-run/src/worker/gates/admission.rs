//! Conditions for which a drawn I/O may have to wait: an overlapping I/O in flight, a file that must first be
//! opened or locked, a barrier.

use crate::logs::FileEvent;
use crate::storage::Handle;
use crate::storage::files::locks::{Attempt, FileLocks};
use crate::targets::Target;
use crate::unit::Unit;
use crate::worker::feature::{Choice, Feature, Needs};
use crate::worker::gates::overlap::OverlapRule;
use crate::worker::places::TargetPart;
use crate::worker::{Next, Worker, WorkerContext};
use fathom_spec::engines::StorageKind;
use fathom_spec::options::file::LockFile;
use fathom_stats::Direction;
use fathom_verify::ledger::SyncKind;
use std::collections::VecDeque;

/// Interval between attempts to take a lock that another job holds, in ns.
const LOCK_PAUSE_NS: u64 = 20_000;

/// Poll interval while an I/O of another job overlaps, in ns.
const OVERLAP_PAUSE_NS: u64 = 5_000;

/// The admission rules of a job.
pub(in crate::worker) struct Admission<'a> {
    /// An I/O that was drawn but is delayed.
    held: Option<Target>,
    /// `serialize_overlap`.
    overlap: Option<OverlapRule<'a>>,
    /// `openfiles`: the open files, least recently used first, and their limit.
    open_files: Option<(VecDeque<u32>, usize)>,
    /// `lockfile`.
    pub(in crate::worker) locks: Option<FileLocks>,
    /// `write_barrier`: the number of writes between barriers, and of writes since the last barrier.
    barrier: Option<(u64, u64)>,
    /// `unlink_each_loop`: set when a loop is over and the files must be recreated.
    renews_files: bool,
    renewal_is_due: bool,
    /// True if the last write was a barrier, so that no I/O may be issued before it completes.
    behind_barrier: bool,
}

impl Feature for Admission<'_> {
    /// Decides whether the next I/O is delayed. Some rules delay it until other I/Os have completed, so these
    /// must be seen.
    fn needs(&self) -> Needs {
        Needs { choice: Choice::EachIo, ends_from_ns: self.follows_ends().then_some(0), ..Needs::default() }
    }
}

impl<'a> Admission<'a> {
    /// The rules of a worker with this many files, if it has any.
    pub(in crate::worker) fn of(context: &WorkerContext<'a>, files: usize) -> Option<Admission<'a>> {
        let plan = context.worker_plan();
        let limit = plan.target_plan.files.most_open.unwrap_or(usize::MAX);
        let admission = Admission {
            held: None,
            overlap: OverlapRule::of(context),
            // Without storage there are no files to open, and only files can be locked.
            open_files: (limit < files && plan.has_storage()).then(|| ((0..limit as u32).collect(), limit)),
            locks: match plan.files.lock {
                _ if plan.storage != StorageKind::Files => None,
                LockFile::None => None,
                LockFile::Exclusive => Some(FileLocks::new(files, false)),
                LockFile::ReadWrite => Some(FileLocks::new(files, true)),
            },
            barrier: (plan.syncs.barrier_every > 0).then_some((plan.syncs.barrier_every, 0)),
            renews_files: plan.files.are_renewed,
            renewal_is_due: false,
            behind_barrier: false,
        };
        let needed = admission.overlap.is_some()
            || admission.open_files.is_some()
            || admission.locks.is_some()
            || admission.renews_files
            || admission.barrier.is_some();
        needed.then_some(admission)
    }

    /// True if the rules have to see every completion.
    fn follows_ends(&self) -> bool {
        self.locks.is_some() || self.overlap.as_ref().is_some_and(OverlapRule::spans_jobs)
    }

    /// Called between two loops.
    pub(in crate::worker) fn begin_loop(&mut self) {
        self.renewal_is_due = self.renews_files;
    }

    /// Takes the delayed I/O.
    pub(in crate::worker) fn take_held(&mut self) -> Option<Target> {
        self.held.take()
    }
}

impl Worker<'_> {
    /// Admits an I/O, or delays it and returns how long to wait.
    pub(in crate::worker) fn admit(&mut self, next: Next, now: u64) -> Next {
        let Next::Io(target) = next else { return next };
        let Some(mut admission) = self.features.admission.take() else { return next };
        let wait = self.reason_to_wait(&mut admission, target, now);
        admission.held = wait.is_some().then_some(target);
        self.features.admission = Some(admission);
        if wait.is_some()
            && let Some(timed) = &mut self.features.timed
        {
            timed.hold_back();
        }
        wait.unwrap_or(next)
    }

    /// The wait that this I/O requires, if any.
    fn reason_to_wait(&mut self, admission: &mut Admission, target: Target, now: u64) -> Option<Next> {
        let busy = self.slots.units().iter().any(Unit::is_in_flight);
        let must_be_alone =
            admission.renewal_is_due || admission.behind_barrier || admission.is_next_barrier(target);
        if busy && must_be_alone {
            return Some(Next::WaitForEnd);
        }
        if std::mem::take(&mut admission.renewal_is_due) {
            self.renew_files();
        }
        if let Some(overlap) = &admission.overlap
            && !overlap.lets_through(target)
        {
            let pause = self.clock.ticks_of_ns(OVERLAP_PAUSE_NS);
            return Some(if overlap.spans_jobs() { Next::Wait(now + pause) } else { Next::WaitForEnd });
        }
        if let Some((open, limit)) = &mut admission.open_files
            && !self.open_in_turn(open, *limit, target.file)
        {
            return Some(Next::WaitForEnd);
        }
        if let Some(locks) = &mut admission.locks {
            let path = &self.files.list[target.file as usize].name;
            match locks.try_lock(target.file as usize, path, target.direction == Direction::Read) {
                Ok(Attempt::Locked) => {}
                Ok(Attempt::HeldByThisJob) => return Some(Next::WaitForEnd),
                Ok(Attempt::HeldByAnother) => {
                    return Some(Next::Wait(now + self.clock.ticks_of_ns(LOCK_PAUSE_NS)));
                }
                Err(errno) => self.engine_failed("lockfile", errno),
            }
        }
        admission.count_write(target);
        None
    }

    /// Makes sure that a file is open. At the limit, the least recently used file without I/O in flight is
    /// closed; returns false if all open files have I/O in flight.
    fn open_in_turn(&mut self, open: &mut VecDeque<u32>, limit: usize, file: u32) -> bool {
        if let Some(place) = open.iter().position(|&other| other == file) {
            open.remove(place);
            open.push_back(file);
            return true;
        }
        if open.len() >= limit {
            let in_flight =
                |file: u32| self.slots.units().iter().any(|unit| unit.is_in_flight() && unit.file() == file);
            let Some(place) = open.iter().position(|&other| !in_flight(other)) else { return false };
            if let Some(idle) = open.remove(place) {
                self.sync_before_close(idle as usize);
                let closed = self.files.close(idle as usize);
                self.take_late_error(idle, closed);
                if let Some(log) = &mut self.features.issue_log {
                    log.note(FileEvent::Close, idle);
                }
                self.places[idle as usize].handle = Handle::NONE;
            }
        }
        match self.files.reopen(self.plan, file as usize) {
            Ok(handle) => {
                self.places[file as usize].handle = handle;
                open.push_back(file);
                // The engine's state for the file, such as its position, is invalid for a new descriptor.
                self.engine.reopened(file as usize);
                if let Some(log) = &mut self.features.issue_log {
                    log.note(FileEvent::Open, file);
                }
            }
            Err(error) => {
                self.stopping = true;
                self.context.fail_with_files(&error);
            }
        }
        true
    }

    /// Applies `fsync_on_close` to a file that is closed during the run.
    fn sync_before_close(&mut self, file: usize) {
        if !self.plan.syncs.at_close {
            return;
        }
        if let Err(errno) = self.files.sync(&mut self.engine, file, SyncKind::Sync) {
            self.stopping = true;
            self.sync_failed(file as u32, errno);
        }
    }

    /// Removes the regular files of the job and recreates them.
    fn renew_files(&mut self) {
        let readonly = self.context.plan.readonly;
        match self.files.renew(self.plan, readonly) {
            Ok(()) => {
                let room = self.buffers.length();
                self.places =
                    self.files.list.iter().map(|file| TargetPart::of(self.plan, file, room)).collect();
                let is_open = |index: &usize| self.places[*index].handle.is_open();
                (0..self.places.len()).filter(is_open).for_each(|index| self.engine.reopened(index));
            }
            Err(error) => {
                self.stopping = true;
                self.context.fail_with_files(&error);
            }
        }
    }

    /// Called when an I/O on this file has completed.
    #[cold]
    pub(in crate::worker) fn settle_admission(&mut self, unit: &Unit, moved: bool) {
        self.settle_zone(unit, moved);
        let file = unit.file();
        if let Some(overlap) =
            self.features.admission.as_ref().and_then(|admission| admission.overlap.as_ref())
        {
            overlap.clear_reservation();
        }
        if let Some(locks) = self.features.admission.as_mut().and_then(|admission| admission.locks.as_mut()) {
            locks.unlock(file as usize);
        }
    }
}

impl Admission<'_> {
    fn is_next_barrier(&self, target: Target) -> bool {
        self.barrier
            .is_some_and(|(every, writes)| target.direction == Direction::Write && writes + 1 >= every)
    }

    fn count_write(&mut self, target: Target) {
        self.behind_barrier = self.is_next_barrier(target);
        if let Some((_, writes)) = self.barrier.as_mut().filter(|_| target.direction == Direction::Write) {
            *writes = if self.behind_barrier { 0 } else { *writes + 1 };
        }
    }
}
