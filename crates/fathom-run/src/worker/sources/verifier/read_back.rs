//! Reads back from the medium: before data is checked, it is written to storage, errors of that are reported,
//! and the data cached by this machine is dropped. Data that stays in memory is counted, so that the report can
//! say how much of the checked data came from there.

use super::held::Held;
use super::{Verifier, Worker};
use crate::files::FileKind;
use crate::invariant::holds;
use crate::region::Stage;
use crate::unit::Operation;
use fathom_stats::Direction;
use fathom_stats::samples::bump;
use fathom_sys::Errno;
use fathom_verify::ledger::SyncKind;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum number of steps that are generated to count the work that a stopped job has left undone.
const MOST_STEPS: usize = 1 << 24;

/// How far written data must have progressed before it is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The data is durable, as after `fdatasync`.
    Durable,
    /// The data has been written out of the page cache.
    WrittenBack,
}

impl Worker<'_> {
    /// Makes reads of blocks come from the medium. The job's run time is suspended meanwhile, so written data
    /// is checked regardless of the device's speed.
    pub(super) fn turn_to_medium(&mut self, reach: Reach) {
        if self.features.verifier.is_none() {
            return;
        }
        let (begin_ns, stage) = (self.clock.monotonic_ns(), self.block.stage());
        if reach == Reach::Durable {
            self.context.set_stage(Stage::FinalSync);
        }
        let mut in_memory = Some(0);
        for index in 0..self.files.list.len() {
            let was_open = self.files.is_open(index);
            if !was_open && let Err(error) = self.files.reopen(self.plan, index) {
                crate::worker::files::report(&self.context, &error);
                self.stopping = true;
                return;
            }
            let left = self.turn_file_to_medium(index, reach);
            in_memory = in_memory.zip(left).map(|(sum, left): (u64, u64)| sum.saturating_add(left));
            if !was_open {
                let closed = self.files.close(index);
                self.take_late_error(index as u32, closed);
            }
        }
        if let Some(verifier) = &mut self.features.verifier {
            verifier.findings.begin_reading(in_memory);
            verifier.has_new_writes = false;
        }
        if reach == Reach::Durable {
            self.context.set_stage(stage);
        }
        let deadline = self.block.deadline_ns.load(Relaxed);
        if deadline != 0 {
            let taken = self.clock.monotonic_ns().saturating_sub(begin_ns);
            self.block.deadline_ns.store(deadline.saturating_add(taken), Relaxed);
        }
    }

    /// Bytes of a file that stay in memory; `None` if unknown.
    fn turn_file_to_medium(&mut self, index: usize, reach: Reach) -> Option<u64> {
        let opening = &self.plan.files.opening;
        let is_mapped = self.plan.files.are_mapped;
        let is_cached = is_mapped || !opening.direct;
        let kind = self.files.entries()[index].kind;
        if is_cached && matches!(kind, FileKind::Regular | FileKind::Block | FileKind::Object) {
            let done = match reach {
                Reach::Durable => self.sync_recorded(SyncKind::DataSync, index as u32),
                Reach::WrittenBack => self.files.write_back(index),
            };
            self.take_late_error(index as u32, done);
        }
        if opening.invalidates {
            self.engine.let_go(index as u32);
        }
        let left = self.files.forget(index, is_cached, opening.invalidates)?;
        if left == 0 || reach == Reach::WrittenBack || !opening.invalidates || !is_cached || is_mapped {
            return Some(left);
        }
        // Pages that other processes have mapped or locked stay in the cache, but direct I/O bypasses them.
        let alignment = self.plan.target_plan.common_alignment(self.files.list[index].start);
        Some(if self.files.read_past_cache(index, true, alignment) { 0 } else { left })
    }

    /// Makes the job write through the page cache again, as its options request.
    pub(super) fn turn_to_cache(&mut self) {
        let opening = &self.plan.files.opening;
        if opening.direct || self.plan.files.are_mapped {
            return;
        }
        for index in 0..self.files.list.len() {
            if self.files.list[index].handle.is_open() {
                self.files.read_past_cache(index, false, 0);
            }
        }
    }

    /// Reports a writeback error of an earlier write as an error of the job.
    pub(in crate::worker) fn take_late_error(&mut self, file: u32, done: Result<(), Errno>) {
        let Err(errno) = done else { return };
        match errno.0 {
            // These errors mean that there is no data to sync, or that syncing is not supported.
            libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | libc::EROFS => {}
            _ if self.tolerates(Operation::Write, errno) => self.count_error(errno),
            _ => self.sync_failed(file, errno),
        }
    }

    /// Stores how many blocks this run should have checked but did not. Called when the job ends.
    pub(super) fn account_for_checks(&mut self) {
        let Some(verifier) = &mut self.features.verifier else { return };
        let held = verifier.held.as_ref().map_or(0, Held::len);
        holds!(held == 0, Checked, "{held} reads are left in their batch");
        let plan = verifier.plan;
        let failed = verifier.failed_checks;
        let unchecked = if !plan.wants_checks {
            0
        } else if plan.only_checks && !plan.rehearses {
            failed + self.rest_of_sequence(Direction::Write)
        } else if !plan.writes {
            failed + self.unread_blocks()
        } else if !plan.only_checks && (!plan.reads_back || verifier.is_endless) {
            // No record is left that could be read back, so all writes count.
            verifier.number
        } else {
            failed + verifier.remembered()
        };
        let counters = &self.block.verification;
        counters.unchecked_blocks.store(unchecked, Relaxed);
        counters.is_accounted.store(1, Relaxed);
    }

    /// Number of blocks in its part that a read-only job has not read.
    fn unread_blocks(&mut self) -> u64 {
        let Some(verifier) = &self.features.verifier else { return 0 };
        if verifier.passes > 0 || verifier.ends_with_state {
            return 0;
        }
        let targets = &self.plan.target_plan;
        if !targets.covers_everything() {
            return self.rest_of_sequence(Direction::Read);
        }
        let counters = &self.block.verification;
        let (reads, bytes) = (counters.checked_reads.load(Relaxed), counters.checked_bytes.load(Relaxed));
        let length = bytes.checked_div(reads).unwrap_or(0).max(targets.smallest_length());
        // A remainder too short for a block is never read.
        let sizes = self.files.list.iter().map(|file| file.size);
        sizes.fold(0, u64::saturating_add).saturating_sub(bytes) / length
    }

    /// Number of I/Os in a direction that a stopped job has left undone.
    fn rest_of_sequence(&mut self, direction: Direction) -> u64 {
        let goes_on =
            self.is_over() && !self.features.verifier.as_ref().is_some_and(|own| own.ends_with_state);
        if !goes_on {
            return 0;
        }
        let rest = std::iter::from_fn(|| self.next_of_pass()).take(MOST_STEPS);
        rest.filter(|target| target.direction == direction).count() as u64
    }
}

impl Verifier<'_> {
    /// Number of blocks still to be read back.
    fn remembered(&mut self) -> u64 {
        match &self.start_of_pass {
            Some(pass) => self.number.saturating_sub(pass.number),
            None => {
                self.history.condense();
                self.history.to_check() as u64 + self.blocks_of_later_windows
            }
        }
    }
}

impl super::Findings<'_> {
    /// Counts checked bytes by their source: memory, medium, or unknown.
    pub(super) fn count_source(&mut self, bytes: u64) {
        let counters = &self.block.verification;
        match &mut self.in_memory {
            None => bump(&counters.unknown_source_bytes, bytes),
            Some(left) => {
                let from_memory = bytes.min(*left);
                *left -= from_memory;
                bump(&counters.from_memory_bytes, from_memory);
            }
        }
    }

    fn begin_reading(&mut self, in_memory: Option<u64>) {
        self.in_memory = in_memory;
    }
}
