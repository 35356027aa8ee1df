//! `verify_backlog`: what was written is read back in batches while the job goes on.

use crate::verify::VerifyPlan;

/// When to read.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    /// Writes not yet read back at which a batch begins; 0 for none.
    size: u64,
    batch: u64,
    /// Reads that the batch under way still has. Where nothing is left to read, they wait for the next write.
    left: u64,
}

impl Backlog {
    pub(super) fn new(plan: &VerifyPlan) -> Backlog {
        Backlog { size: plan.backlog, batch: plan.backlog_batch, left: 0 }
    }

    /// Whether one of so many writes is to be read back now.
    pub(super) fn is_due(&mut self, unread: u64) -> bool {
        if self.left == 0 && self.size > 0 && unread >= self.size {
            self.left = self.batch;
        }
        self.left > 0
    }

    pub(super) fn has_read(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

/// The backlog of a job that is only gone over.
#[derive(Clone, Debug)]
pub(super) struct BacklogGoneOver {
    backlog: Backlog,
    unread: u64,
}

impl BacklogGoneOver {
    pub(super) fn new(plan: &VerifyPlan) -> BacklogGoneOver {
        BacklogGoneOver { backlog: Backlog::new(plan), unread: 0 }
    }

    /// Reads that follow another write.
    pub(super) fn written(&mut self) -> u64 {
        self.unread += 1;
        let unread = self.unread;
        while self.unread > 0 && self.backlog.is_due(self.unread) {
            self.backlog.has_read();
            self.unread -= 1;
        }
        unread - self.unread
    }

    /// All the rest is read at the end of a pass.
    pub(super) fn end_pass(&mut self) {
        self.unread = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(size: u64, batch: u64, writes: usize) -> Vec<u64> {
        let mut gone_over = BacklogGoneOver { backlog: Backlog { size, batch, left: 0 }, unread: 0 };
        (0..writes).map(|_| gone_over.written()).collect()
    }

    /// As fio 3.41 reads them.
    #[test]
    fn batches_follow_writes() {
        assert_eq!(reads(0, 1, 4), [0, 0, 0, 0]);
        assert_eq!(reads(4, 4, 9), [0, 0, 0, 4, 0, 0, 0, 4, 0]);
        assert_eq!(reads(3, 2, 8), [0, 0, 2, 0, 2, 0, 2, 0]);
        assert_eq!(reads(4, 6, 12), [0, 0, 0, 4, 1, 1, 0, 0, 0, 4, 1, 1]);
    }
}
