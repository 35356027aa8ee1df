//! How much a job still has to do.

use crate::plan::WorkerPlan;
use fathom_spec::JobSpec;
use fathom_spec::value::SizeSpec;

/// What is left: of the current pass over the files, and of the whole job.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    /// Bytes of one pass.
    pass_bytes: u64,
    /// Bytes still to issue in this pass.
    pub(super) pass_left: u64,
    /// Bytes still to issue in the job (`io_size` may go beyond or stop short of a pass).
    job_left: u64,
    /// I/Os still to issue (`number_ios`), if they are limited.
    ios_left: Option<u64>,
    passes_left: u64,
    /// Bytes of one of the `loops`.
    loop_bytes: u64,
    time_based: bool,
    repeats_for_size: bool,
    largest: u64,
    /// What [`Budget::pass_left`] was when the pass began.
    pass_began_with: u64,
}

/// What follows the end of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterPass {
    /// The next of the `loops`, with the same order of offsets.
    NextLoop,
    /// Another pass with the same order of offsets.
    Repeat,
    /// Another pass with a new order.
    Continue,
    /// Nothing.
    End,
}

impl Budget {
    /// The budget of a job for which one pass over its files is `available` bytes.
    pub(super) fn new(plan: &WorkerPlan, job: &JobSpec, available: u64) -> Budget {
        // A pass of `sprandom` writes more than the files' size, and is the only one.
        let single_pass = job.io_type.sprandom;
        let pass_bytes = match &job.size.size {
            Some(SizeSpec::Bytes(bytes)) if !job.size.fill_device && !single_pass => (*bytes).min(available),
            _ => available,
        };
        let job_bytes = match &job.size.io_size {
            Some(SizeSpec::Bytes(bytes)) if *bytes > 0 => *bytes,
            Some(SizeSpec::Percent(percent)) => (u128::from(pass_bytes) * u128::from(*percent) / 100) as u64,
            _ => pass_bytes,
        };
        let passes = if single_pass { 1 } else { u64::from(job.job_description.loops.max(1)) };
        // A trim and the write after it cover the same bytes: a pass moves each byte twice.
        let factor =
            if plan.target_plan.directions == crate::target::DirectionPlan::TrimThenWrite { 2 } else { 1 };
        let time_based = job.time.time_based && !single_pass;
        let mut budget = Budget {
            pass_bytes: pass_bytes.saturating_mul(factor),
            pass_left: 0,
            job_left: job_bytes.saturating_mul(factor),
            ios_left: match job.io_type.number_ios {
                0 => None,
                count => Some(count.saturating_mul(passes)),
            },
            passes_left: passes - 1,
            loop_bytes: job_bytes.saturating_mul(factor),
            time_based,
            repeats_for_size: job.size.io_size.is_some() && !single_pass,
            largest: plan.target_plan.lengths.iter().map(|rule| rule.max()).max().unwrap_or(1),
            pass_began_with: 0,
        };
        budget.begin_pass(budget.job_left);
        budget
    }

    /// Bytes that the whole job means to move; 0 when only time ends it.
    pub(super) fn goal_bytes(&self) -> u64 {
        if self.time_based {
            0
        } else {
            self.job_left.saturating_add(self.passes_left.saturating_mul(self.loop_bytes))
        }
    }

    /// Takes an I/O out of the budget.
    #[inline(always)]
    pub(super) fn spend(&mut self, bytes: u64) {
        self.pass_left = self.pass_left.saturating_sub(bytes);
    }

    /// Puts back what was taken out for an I/O that did not come to be, or only in part.
    pub(super) fn put_back(&mut self, bytes: u64) {
        self.pass_left = self.pass_left.saturating_add(bytes);
    }

    /// True when this pass has issued all it should.
    #[inline(always)]
    pub(super) fn pass_is_spent(&self) -> bool {
        self.pass_left == 0
    }

    /// True when the number of I/Os is limited, so that each must be [counted](Budget::count_io).
    pub(super) fn counts_ios(&self) -> bool {
        self.ios_left.is_some()
    }

    /// Takes one I/O from `number_ios`; false when none is left.
    pub(super) fn count_io(&mut self) -> bool {
        match &mut self.ios_left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    /// Puts back what [`count_io`](Budget::count_io) took for an I/O that did not come to be.
    pub(super) fn put_back_io(&mut self) {
        if let Some(left) = &mut self.ios_left {
            *left += 1;
        }
    }

    /// Data that was read back counts against `io_size` too.
    pub(super) fn count_read_back(&mut self, bytes: u64) {
        if self.repeats_for_size {
            self.job_left = self.job_left.saturating_sub(bytes);
        }
    }

    /// Closes a pass and says what follows.
    pub(super) fn end_pass(&mut self) -> AfterPass {
        let issued = self.pass_began_with - self.pass_left;
        self.pass_began_with = self.pass_left;
        if issued == 0 {
            return AfterPass::End;
        }
        self.job_left = self.job_left.saturating_sub(issued);
        if self.time_based {
            self.begin_pass(self.pass_bytes);
            return AfterPass::Continue;
        }
        if self.passes_left > 0 {
            self.passes_left -= 1;
            self.begin_pass(self.loop_bytes);
            return AfterPass::NextLoop;
        }
        // All loops together count against `io_size`.
        if self.repeats_for_size && self.job_left >= self.largest {
            self.begin_pass(self.job_left);
            return AfterPass::Repeat;
        }
        AfterPass::End
    }

    /// Starts a pass of at most `limit` bytes.
    fn begin_pass(&mut self, limit: u64) {
        self.pass_left = match self.time_based {
            // Time alone ends the job; a pass ends when the files are covered.
            true if !self.repeats_for_size => u64::MAX,
            true => self.pass_bytes,
            false => self.pass_bytes.min(limit),
        };
        self.pass_began_with = self.pass_left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(pass_bytes: u64, job_bytes: u64, loops: u64) -> Budget {
        let mut budget = Budget {
            pass_bytes,
            pass_left: 0,
            job_left: job_bytes,
            ios_left: None,
            passes_left: loops - 1,
            loop_bytes: job_bytes,
            time_based: false,
            repeats_for_size: true,
            largest: 4096,
            pass_began_with: 0,
        };
        budget.begin_pass(job_bytes);
        budget
    }

    /// Blocks of 4 KiB per pass.
    fn passes(mut budget: Budget) -> Vec<u64> {
        let mut passes = Vec::new();
        loop {
            let mut blocks = 0;
            while !budget.pass_is_spent() {
                budget.spend(4096);
                blocks += 1;
            }
            passes.push(blocks);
            if budget.end_pass() == AfterPass::End {
                return passes;
            }
        }
    }

    #[test]
    fn loops_and_io_size() {
        assert_eq!(passes(budget(16384, 16384, 1)), [4]);
        assert_eq!(passes(budget(16384, 16384, 3)), [4, 4, 4]);
        assert_eq!(passes(budget(16384, 8192, 2)), [2, 2]);
        assert_eq!(passes(budget(16384, 40960, 1)), [4, 4, 2]);
        assert_eq!(passes(budget(16384, 24576, 2)), [4, 4]);
        assert_eq!(passes(budget(16384, 10000, 1)), [3]);
    }
}
