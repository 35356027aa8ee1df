//! Checks read data: in the loop, or in the threads of `verify_async`.

use super::threads::{Checked, Checkers, Task};
use super::{Known, Verifier, Worker};
use crate::message::Message;
use crate::plan::model::verify::VerifyPlan;
use crate::unit::Unit;
use crate::verify::history::State;
use fathom_verify::check::{
    Fragment, Mismatch, Problem, Reading, check, check_fragment, check_with, check_zeros,
};
use fathom_verify::stamp::Write;
use fathom_verify::sums::{Sums, gain_together};

impl Worker<'_> {
    pub(super) fn check_read(&mut self, verifier: &mut Verifier<'_>, slot: u32, unit: &Unit, known: Known) {
        let length = unit.length() as usize;
        // SAFETY: the buffer of a completed slot is owned by this worker and holds its length.
        let data = unsafe { std::slice::from_raw_parts_mut(self.buffer_of(slot, unit.length()), length) };
        let task = Task { offset: unit.offset(), file: unit.file(), known, thread: verifier.thread };
        if let Some(limit) = &mut verifier.limit
            && known.record.is_none()
            && !verifier.plan.checks_in_place
            && let Some(line) = limit.stop_line_of_data(&verifier.plan.rule, data)
        {
            self.context.messages.send(&Message::Output(line));
            verifier.ends_with_state = true;
            self.stopping = true;
            return;
        }
        match &mut verifier.checkers {
            Some(checkers) => {
                checkers.hand_over(task, data);
                while let Some(result) = verifier.checkers.as_mut().and_then(Checkers::ready) {
                    self.take_result(verifier, result);
                }
            }
            None => self.check_or_hold(verifier, task, data),
        }
    }

    /// Checks a read, or adds it to the batch.
    fn check_or_hold(&mut self, verifier: &mut Verifier<'_>, task: Task, data: &mut [u8]) {
        let plan = verifier.plan;
        let is_full = match &mut verifier.held {
            Some(held) if gain_together(&plan.rule, data.len()) => {
                held.take(task, data, self.clock.monotonic_ns())
            }
            _ => {
                // The batch is checked first, so that findings are reported in the order of the reads.
                self.check_all_held(verifier);
                let found = task.check(plan, data, None);
                return self.take_findings(verifier, &task, data, &found);
            }
        };
        if is_full {
            self.check_all_held(verifier);
        }
    }

    fn check_all_held(&mut self, verifier: &mut Verifier<'_>) {
        let Some(mut held) = verifier.held.take() else { return };
        held.check(verifier.plan, |task, data, found| self.take_findings(verifier, task, data, found));
        verifier.held = Some(held);
    }

    fn take_findings(
        &mut self,
        verifier: &mut Verifier<'_>,
        task: &Task,
        data: &mut [u8],
        found: &[Mismatch],
    ) {
        match found {
            [] => verifier.findings.count(data.len() as u64),
            _ => self.report_miscompare(verifier, task, data, found),
        }
    }

    /// Flushes the batch, because no further read will complete.
    pub(super) fn check_held(&mut self) {
        let Some(mut verifier) = self.features.verifier.take() else { return };
        self.check_all_held(&mut verifier);
        self.features.verifier = Some(verifier);
    }

    fn take_result(&mut self, verifier: &mut Verifier<'_>, mut result: Checked) {
        self.take_findings(verifier, &result.task, &mut result.data, &result.mismatches);
        if let Some(checkers) = &mut verifier.checkers {
            checkers.recycle(result.data);
        }
    }

    /// Waits for the verification threads.
    pub(super) fn finish_checks(&mut self) {
        self.check_held();
        let Some(mut verifier) = self.features.verifier.take() else { return };
        while let Some(result) = verifier.checkers.as_mut().and_then(Checkers::wait_for_one) {
            self.take_result(&mut verifier, result);
        }
        self.features.verifier = Some(verifier);
    }
}

impl Task {
    /// Length in bytes of the write that a read of `data` bytes belongs to.
    pub(super) fn write_length(&self, data: usize) -> usize {
        self.known.record.map_or(data, |record| record.write_length as usize)
    }

    /// Checks the data of a read; `sums` holds precomputed checksums.
    pub(super) fn check(&self, plan: &VerifyPlan, data: &mut [u8], sums: Option<&Sums>) -> Vec<Mismatch> {
        let check = |data: &mut [u8], reading: &Reading<'_>| match sums {
            Some(sums) => check_with(&plan.rule, data, reading, plan.is_fatal, sums),
            None => check(&plan.rule, data, reading, plan.is_fatal),
        };
        let Known { seed, issued, .. } = self.known;
        let Some(record) = &self.known.record else {
            let reading = Reading { seed, issued, ..Reading::new(self.offset, None, data.len()) };
            return check(data, &reading);
        };
        let write: Write = record.write(self.thread);
        let write_length = record.write_length as usize;
        match record.state {
            State::Trimmed => return check_zeros(data, self.offset),
            State::Fragment => return self.check_fragment(plan, data, (&write, write_length)),
            State::Written | State::Gone => {}
        }
        let reading = Reading { issued, ..Reading::new(self.offset, Some(&write), write_length) };
        let found = check(data, &reading);
        // The run that wrote the block may have trimmed it later; if zeros were requested for trimmed blocks,
        // it must then read as zeros.
        if record.to_trim && !found.is_empty() {
            let reads_zero = plan.trims.as_ref().is_some_and(|trims| trims.reads_zero);
            if !reads_zero || check_zeros(data, self.offset).is_empty() {
                return Vec::new();
            }
        }
        found
    }

    fn check_fragment(&self, plan: &VerifyPlan, data: &[u8], write: (&Write, usize)) -> Vec<Mismatch> {
        let Err(wrong) = check_fragment(&plan.rule, data, self.offset, write) else { return Vec::new() };
        let Fragment { first, found, wanted, .. } = wrong;
        let problem = Problem::Pattern { at: first, found, wanted };
        vec![Mismatch { offset: self.offset, at: 0, length: data.len(), problem }]
    }
}
