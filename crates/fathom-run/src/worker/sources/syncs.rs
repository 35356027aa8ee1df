//! Syncs between writes: `fsync`, `fdatasync` and `sync_file_range` every N writes.

use crate::plan::model::syncs::SyncPlan;
use crate::targets::Target;
use crate::unit::Operation;
use crate::worker::feature::{Choice, Feature, Needs};
use crate::worker::rules::LetGo;
use fathom_stats::Direction;

/// The sync rules of a job, and the number of writes since each kind of sync.
#[derive(Clone, Debug)]
pub(in crate::worker) struct SyncRules {
    rules: Vec<Rule>,
    last_file: u32,
    /// Range written since the last range sync.
    range: Option<(u64, u64)>,
    /// True if only the number of writes matters, as with one file and no range sync.
    counts_any_write: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    operation: Operation,
    every: u64,
    writes: u64,
}

impl Feature for SyncRules {
    /// Determines when the next sync is due.
    fn needs(&self) -> Needs {
        let choice = if self.counts_any_write { Choice::AtTimes } else { Choice::EachIo };
        Needs { choice, ..Needs::default() }
    }
}

impl SyncRules {
    /// The rules of a worker, if it has any.
    pub(in crate::worker) fn of(plan: &SyncPlan, files: usize) -> Option<SyncRules> {
        let rules: Vec<Rule> = [
            (Operation::Sync, plan.sync_every),
            (Operation::DataSync, plan.data_sync_every),
            (Operation::RangeSync, plan.range_sync_every),
        ]
        .into_iter()
        .filter(|(_, every)| *every > 0)
        .map(|(operation, every)| Rule { operation, every, writes: 0 })
        .collect();
        let counts_any_write = files == 1 && plan.range_sync_every == 0;
        (!rules.is_empty()).then_some(SyncRules { rules, last_file: 0, range: None, counts_any_write })
    }

    /// Number of I/Os that may be issued before the next sync, if all of them are writes.
    pub(in crate::worker) fn foresees(&self) -> u64 {
        self.rules.iter().map(|rule| rule.every.saturating_sub(rule.writes)).min().unwrap_or(u64::MAX)
    }

    /// Counts I/Os issued under a grant.
    pub(in crate::worker) fn let_go(&mut self, let_go: &LetGo) {
        self.rules.iter_mut().for_each(|rule| rule.writes += let_go.ios[Direction::Write]);
    }

    /// The sync that must precede the next I/O, and its file. If several kinds are due, the strongest one
    /// replaces the others.
    pub(in crate::worker) fn due(&mut self) -> Option<(Operation, u32)> {
        let mut due = self.rules.iter_mut().filter(|rule| rule.writes >= rule.every);
        let strongest = due.next()?;
        strongest.writes = 0;
        due.for_each(|rule| rule.writes = 0);
        Some((strongest.operation, self.last_file))
    }

    /// Counts an I/O.
    pub(in crate::worker) fn issued(&mut self, target: &Target) {
        if target.direction != Direction::Write {
            return;
        }
        for rule in &mut self.rules {
            rule.writes += 1;
        }
        self.last_file = target.file;
        let end = target.offset + u64::from(target.length);
        let (start, furthest) = self.range.unwrap_or((target.offset, end));
        self.range = Some((start.min(target.offset), furthest.max(end)));
    }

    /// Offset and length of a sync; only range syncs have any.
    pub(in crate::worker) fn take_range(&mut self, operation: Operation) -> (u64, u32) {
        if operation != Operation::RangeSync {
            return (0, 0);
        }
        let (start, end) = self.range.take().unwrap_or((0, 0));
        (start, u32::try_from(end - start).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(operation: Operation, every: u64) -> Rule {
        Rule { operation, every, writes: 0 }
    }

    #[test]
    fn where_syncs_fall_together_the_strongest_is_made() {
        let rules = vec![rule(Operation::Sync, 3), rule(Operation::DataSync, 4)];
        let mut syncs = SyncRules { rules, last_file: 0, range: None, counts_any_write: true };
        let mut made = Vec::new();
        for write in 1..=24 {
            syncs.rules.iter_mut().for_each(|rule| rule.writes += 1);
            while let Some((operation, _)) = syncs.due() {
                made.push((write, operation));
            }
        }
        let count = |wanted| made.iter().filter(|(_, operation)| *operation == wanted).count();
        assert_eq!((count(Operation::Sync), count(Operation::DataSync)), (8, 4));
        assert!(made.contains(&(12, Operation::Sync)) && !made.contains(&(12, Operation::DataSync)));
    }
}
