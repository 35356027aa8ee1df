//! Remaining work of a job.

use crate::files::share_of;
use crate::plan::WorkerPlan;
use crate::plan::model::amounts::Amounts;
use crate::plan::model::lengths::LengthRule;
use crate::plan::model::targets::DirectionPlan;
use fathom_spec::value::SizeSpec;
use fathom_stats::Direction;

/// Number of bytes that stands for an endless job.
const MOST_BYTES: u64 = i64::MAX as u64;

/// Remaining work of the job. A pass over the files ends when its sequence of targets ends or, if the plan says
/// so (`passes_end_by_size`), after a number of bytes. Without either end, as in a random job without a map of
/// blocks, the job is a single pass.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    /// Bytes still to issue in addition to the granted ones: those of the pass if it ends by bytes, otherwise
    /// those of all loops together.
    own_left: i64,
    /// Bytes that may be issued before the rules are consulted again; the last I/O may exceed this.
    granted: i64,
    /// Initial value of [`Budget::granted`].
    grant: i64,
    /// Bytes still to issue after the current pass.
    later: u64,
    /// Bytes after which a pass ends.
    pass_limit: u64,
    /// Bytes to issue in the pass when it began.
    pass_began_with: i64,
    /// Bytes still to move towards `io_size`. Reading back counts as well; loops do not.
    counted_left: u64,
    /// Number of I/Os still to issue (`number_ios`), if limited.
    ios_left: Option<u64>,
    passes_left: u64,
    time_based: bool,
    repeats_for_size: bool,
    largest: u64,
}

/// The continuation after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterPass {
    /// The next of the `loops`, with the offsets in the same order.
    NextLoop,
    /// Another pass with the offsets in the same order.
    Repeat,
    /// Another pass, repeated until time is up; random offsets get a new order.
    Continue,
    /// Nothing.
    End,
}

impl Budget {
    /// The budget of a job whose pass over its files moves `available` bytes.
    pub(super) fn new(plan: &WorkerPlan, amounts: &Amounts, available: u64) -> Budget {
        // A pass of `sprandom` writes more bytes than the files have, and the job makes only this pass.
        let single_pass = plan.budget.is_single_pass;
        let pass_bytes = match &amounts.size {
            Some(SizeSpec::Bytes(bytes)) if !single_pass => (*bytes).min(available),
            _ => available,
        };
        let job_bytes = match &amounts.io_size {
            Some(SizeSpec::Bytes(bytes)) if *bytes > 0 => *bytes,
            // The percentage refers to the size of the files, not to the part selected by `size`.
            Some(SizeSpec::Percent(percent)) if *percent > 0 => pass_bytes.min(share_of(available, *percent)),
            _ => pass_bytes,
        };
        let passes = if single_pass { 1 } else { plan.budget.loops };
        // A trim and the write after it cover the same bytes and count as one I/O: a pass moves each byte twice, and ends with a
        // write.
        let trims = plan.target_plan.directions == DirectionPlan::TrimThenWrite;
        let times = if trims { 2 } else { 1 };
        let whole_bytes = match plan.target_plan.lengths[Direction::Trim] {
            LengthRule::Fixed(length) if trims && length > 0 => {
                job_bytes.div_ceil(length).saturating_mul(length)
            }
            _ => job_bytes,
        };
        let loop_bytes = whole_bytes.saturating_mul(times);
        let time_based = plan.time.time_based && !single_pass;
        let all_bytes = if time_based { u64::MAX } else { loop_bytes.saturating_mul(passes) };
        let is_read_back_in_order = plan.verify.is_some() && !plan.target_plan.random;
        let pass_limit = match plan.budget.passes_end_by_size {
            // Sequential writes are read back before they are repeated, so a pass covers the files only once.
            true if is_read_back_in_order => pass_bytes,
            true => loop_bytes.max(pass_bytes),
            false => u64::MAX,
        };
        let mut budget = Budget {
            own_left: 0,
            granted: 0,
            grant: 0,
            later: all_bytes.min(MOST_BYTES),
            pass_limit,
            pass_began_with: 0,
            // Trims count like writes, so a job with both finishes in fewer passes.
            counted_left: job_bytes,
            // A time-based job ends only by time.
            ios_left: plan
                .budget
                .ios
                .filter(|_| !time_based)
                .map(|count| count.saturating_mul(passes).saturating_mul(times)),
            passes_left: passes - 1,
            time_based,
            // An `io_size` in percent is at most one pass over files without holes.
            repeats_for_size: !single_pass
                && match &amounts.io_size {
                    Some(SizeSpec::Bytes(bytes)) if *bytes > 0 => true,
                    _ => plan.budget.goes_again_through_holes,
                },
            largest: plan.target_plan.lengths.values().map(|rule| rule.max()).max().unwrap_or(1),
        };
        budget.begin_pass();
        budget
    }

    /// Total bytes of the job; 0 if it ends only by time.
    pub(super) fn goal_bytes(&self) -> u64 {
        if self.time_based { 0 } else { self.left() }
    }

    fn left(&self) -> u64 {
        self.later.saturating_add_signed(self.left_of_pass())
    }

    /// Takes the bytes of the next pass from the total. Bytes by which the last I/O exceeded the previous pass
    /// count towards the job's total.
    fn begin_pass(&mut self) {
        let left = self.left();
        (self.granted, self.grant) = (0, 0);
        self.own_left = left.min(self.pass_limit) as i64;
        self.later = left - self.own_left as u64;
        self.pass_began_with = self.own_left;
    }

    /// Estimated number of I/Os left at this mean length, as far as loops are known; `None` if the job ends
    /// only by time.
    pub(super) fn ios_to_go(&self, mean_length: f64) -> Option<u64> {
        if self.time_based {
            return None;
        }
        let by_bytes = (self.left() as f64 / mean_length.max(1.0)).ceil() as u64;
        Some(self.ios_left.map_or(by_bytes, |left| left.min(by_bytes)))
    }

    /// Subtracts an I/O.
    #[inline(always)]
    pub(super) fn spend(&mut self, bytes: u64) {
        self.granted = self.granted.wrapping_sub(bytes as i64);
    }

    /// Grants this many bytes, or the rest of the pass, for issuing without consulting the rules.
    pub(super) fn grant(&mut self, bytes: u64) {
        let left = self.left_of_pass();
        self.granted = left.clamp(0, i64::try_from(bytes).unwrap_or(i64::MAX));
        self.grant = self.granted;
        self.own_left = left - self.granted;
    }

    /// Ends the grant; returns the bytes issued under it.
    pub(super) fn end_grant(&mut self) -> u64 {
        let issued = self.grant - self.granted;
        self.own_left = self.left_of_pass();
        (self.granted, self.grant) = (0, 0);
        issued.max(0) as u64
    }

    /// True if an I/O may be issued under the grant.
    #[inline(always)]
    pub(super) fn is_granted(&self) -> bool {
        self.granted > 0
    }

    /// Bytes still to issue in this pass; negative if the last I/O exceeded the pass.
    pub(super) fn left_of_pass(&self) -> i64 {
        self.own_left.wrapping_add(self.granted)
    }

    /// Returns the bytes of an I/O that was not issued, or only partly moved.
    pub(super) fn put_back(&mut self, bytes: u64) {
        self.own_left = self.own_left.wrapping_add(bytes as i64);
    }

    /// True if the job has issued everything.
    pub(super) fn is_spent(&self) -> bool {
        self.left_of_pass() <= 0
    }

    /// Remaining I/Os of `number_ios`.
    pub(super) fn ios_left(&self) -> Option<u64> {
        self.ios_left
    }

    /// Takes one I/O from `number_ios`; false if none is left.
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

    /// Takes several I/Os, which will certainly be issued, from `number_ios`.
    pub(super) fn count_ios(&mut self, count: u64) {
        if let Some(left) = &mut self.ios_left {
            *left = left.saturating_sub(count);
        }
    }

    /// Returns an I/O that [`count_io`](Budget::count_io) took but that was not issued.
    pub(super) fn put_back_io(&mut self) {
        if let Some(left) = &mut self.ios_left {
            *left += 1;
        }
    }

    /// Counts bytes read back, which count against `io_size` as well.
    pub(super) fn count_read_back(&mut self, bytes: u64) {
        if self.repeats_for_size {
            self.counted_left = self.counted_left.saturating_sub(bytes);
        }
    }

    /// Ends a pass and returns what follows it.
    pub(super) fn end_pass(&mut self) -> AfterPass {
        let issued = self.pass_began_with.saturating_sub(self.left_of_pass()).max(0) as u64;
        let after = self.after_pass(issued);
        if after == AfterPass::End {
            (self.own_left, self.later) = (0, 0);
            (self.granted, self.grant) = (0, 0);
        } else {
            self.begin_pass();
        }
        after
    }

    fn after_pass(&mut self, issued: u64) -> AfterPass {
        if issued == 0 {
            return AfterPass::End;
        }
        self.counted_left = self.counted_left.saturating_sub(issued);
        if self.time_based {
            return if self.is_spent() { AfterPass::Repeat } else { AfterPass::Continue };
        }
        if self.left() == 0 {
            return AfterPass::End;
        }
        if self.passes_left > 0 {
            self.passes_left -= 1;
            return AfterPass::NextLoop;
        }
        // All loops together count against `io_size`, so further passes follow only after the last loop.
        if self.repeats_for_size && self.counted_left >= self.largest {
            return AfterPass::Repeat;
        }
        AfterPass::End
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(job_bytes: u64, loops: u64) -> Budget {
        Budget {
            own_left: (job_bytes * loops) as i64,
            granted: 0,
            grant: 0,
            later: 0,
            pass_limit: u64::MAX,
            pass_began_with: (job_bytes * loops) as i64,
            counted_left: job_bytes,
            ios_left: None,
            passes_left: loops - 1,
            time_based: false,
            repeats_for_size: true,
            largest: 4096,
        }
    }

    /// The number of 4 KiB blocks in each pass over files of `blocks` blocks. After each pass,
    /// `percent_read_back` of its blocks are read back.
    fn passes(mut budget: Budget, blocks: u64, percent_read_back: u64) -> Vec<u64> {
        let mut passes = Vec::new();
        loop {
            let mut issued = 0;
            while !budget.is_spent() && issued < blocks {
                budget.spend(4096);
                issued += 1;
            }
            passes.push(issued);
            budget.count_read_back(issued * 4096 * percent_read_back / 100);
            if budget.end_pass() == AfterPass::End {
                return passes;
            }
        }
    }

    #[test]
    fn loops_and_io_size() {
        assert_eq!(passes(budget(16384, 1), 4, 0), [4]);
        assert_eq!(passes(budget(16384, 3), 4, 0), [4, 4, 4]);
        assert_eq!(passes(budget(40960, 1), 4, 0), [4, 4, 2]);
        assert_eq!(passes(budget(24576, 2), 4, 0), [4, 4]);
        assert_eq!(passes(budget(10000, 1), 4, 0), [3]);
        // A loop that stops before the end of the files continues from that point.
        assert_eq!(passes(budget(8192, 2), 4, 0), [4]);
        assert_eq!(passes(budget(8192, 3), 4, 0), [4, 2]);
        // A sequence without an end makes a single pass.
        assert_eq!(passes(budget(24576, 2), u64::MAX, 0), [12]);
    }

    #[test]
    fn what_is_granted_is_of_the_pass() {
        let mut budget = budget(40960, 2);
        budget.spend(4096);
        for (bytes, ios, left) in [(8192, 2, 69632), (u64::MAX, 3, 57344), (0, 0, 57344), (u64::MAX, 14, 0)] {
            budget.grant(bytes);
            assert_eq!(budget.is_granted(), bytes > 0);
            (0..ios).for_each(|_| budget.spend(4096));
            assert_eq!(budget.is_granted(), bytes > 8192 && left > 0);
            assert_eq!((budget.left_of_pass(), budget.is_spent()), (left, left == 0));
            assert_eq!(budget.end_grant(), ios * 4096);
            assert_eq!(budget.left_of_pass(), left);
        }
        assert_eq!(budget.end_pass(), AfterPass::End);
    }

    #[test]
    fn the_last_io_of_a_grant_goes_beyond_the_pass() {
        let mut budget = budget(10000, 1);
        budget.grant(u64::MAX);
        let ios = std::iter::from_fn(|| budget.is_granted().then(|| budget.spend(4096))).count();
        assert_eq!((ios, budget.end_grant(), budget.left_of_pass()), (3, 12288, -2288));
    }

    #[test]
    fn what_is_read_back_counts_against_io_size() {
        assert_eq!(passes(budget(32768, 1), 4, 100), [4]);
        assert_eq!(passes(budget(38400, 1), 4, 100), [4, 4]);
        assert_eq!(passes(budget(51200, 1), 8, 37), [8, 5]);
    }
}
