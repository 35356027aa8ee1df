//! A buffer of completed reads whose checksums are computed in one batch.

use super::threads::Task;
use crate::plan::model::verify::VerifyPlan;
use fathom_verify::check::Mismatch;
use fathom_verify::sums::{Sums, TOGETHER, gain_together};

/// Maximum age of a batch in ns: the first read that completes later than this flushes it. On slow devices,
/// hashing is not the bottleneck, so waiting for more reads has no benefit.
const LONGEST_WAIT_NS: u64 = 1_000_000;

/// Copies of read data, because the next I/O reuses the buffer of its slot.
#[derive(Default)]
pub(super) struct Held {
    reads: Vec<(Task, Vec<u8>)>,
    count: usize,
    since_ns: u64,
}

impl Held {
    /// `None` for jobs that must stop at the first wrong block, or whose checks do not benefit from batches.
    pub(super) fn of(plan: &VerifyPlan) -> Option<Held> {
        let may_wait = !plan.is_fatal && plan.threads == 0 && gain_together(&plan.rule, 0);
        may_wait.then(Held::default)
    }

    /// Number of reads that wait to be checked.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds a read; true when the batch is due.
    pub(super) fn take(&mut self, task: Task, data: &[u8], now_ns: u64) -> bool {
        if self.count == 0 {
            self.since_ns = now_ns;
        }
        if self.reads.len() == self.count {
            self.reads.push((task, Vec::new()));
        }
        let (place, copy) = &mut self.reads[self.count];
        *place = task;
        copy.clear();
        copy.extend_from_slice(data);
        self.count += 1;
        self.count == TOGETHER || now_ns.saturating_sub(self.since_ns) > LONGEST_WAIT_NS
    }

    /// Checks the batch in the order in which its reads completed.
    pub(super) fn check(&mut self, plan: &VerifyPlan, mut found: impl FnMut(&Task, &mut [u8], &[Mismatch])) {
        let reads = &mut self.reads[..std::mem::take(&mut self.count)];
        let data: Vec<(&[u8], usize)> =
            reads.iter().map(|(task, data)| (data.as_slice(), task.write_length(data.len()))).collect();
        let sums = Sums::of_reads(&plan.rule, &data);
        for ((task, data), sums) in reads.iter_mut().zip(&sums) {
            let mismatches = task.check(plan, data, Some(sums));
            found(task, data, &mismatches);
        }
    }
}
