//! How often rules decide about the next I/O. I/Os between two decisions take the fast path. Some rules know
//! how many I/Os may be issued before their next decision: a limited number of I/Os, a sync after every 32
//! writes, a rate that the device does not reach. Such a rule is not consulted in between. It grants these I/Os
//! to the fast path as a number of bytes, and counts them at its next decision. If lengths vary, the grant is
//! computed with the shortest length, so that its I/Os certainly fit.

use super::Worker;
use super::feature::Choice;
use crate::invariant::holds;
use crate::plan::model::targets::TargetPlan;
use fathom_stats::PerDirection;

/// How often rules decide about the next I/O of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// Never, because the job has no rules.
    None,
    /// Now and then; in between, I/Os of these lengths are granted.
    AtTimes(Granted),
    /// Before each I/O.
    EachIo,
}

/// Lengths of the I/Os in a grant, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Granted {
    shortest: u64,
    longest: u64,
}

/// I/Os that were issued under a grant.
#[derive(Clone, Copy, Debug)]
pub(super) struct LetGo {
    pub(super) ios: PerDirection<u64>,
    pub(super) bytes: u64,
}

impl LetGo {
    /// Number of I/Os in all directions.
    pub(super) fn all_ios(&self) -> u64 {
        self.ios.values().sum()
    }
}

impl Rules {
    /// The rules of a job with these features; `counts_ios` is true for a limited number of I/Os.
    pub(super) fn of(plan: &TargetPlan, choice: Choice, counts_ios: bool) -> Rules {
        match choice {
            Choice::Never if !counts_ios => Rules::None,
            Choice::Never | Choice::AtTimes => {
                // If blocks may overlap, the remainder of a block may be as short as the alignment of offsets.
                let used = plan.used_directions();
                let steps = used.iter().map(|&direction| plan.alignment[direction]);
                let shortest = steps.fold(plan.smallest_length(), u64::min).max(1);
                Rules::AtTimes(Granted { shortest, longest: plan.longest_length() })
            }
            Choice::EachIo => Rules::EachIo,
        }
    }
}

impl Worker<'_> {
    /// Grants I/Os until the next decision. `now` is a recent tick.
    pub(super) fn grant(&mut self, now: u64) {
        let bytes = match self.rules {
            Rules::None => u64::MAX,
            Rules::EachIo => 0,
            Rules::AtTimes(Granted { shortest, .. }) => {
                let by_count = self.budget.ios_left().unwrap_or(u64::MAX);
                let by_sync = self.features.syncs.as_ref().map_or(u64::MAX, |syncs| syncs.foresees());
                let in_flight = self.slots.taken() as u64;
                let pace = self.features.pace.as_mut();
                let by_pace = pace.map_or(u64::MAX, |pace| pace.foresees(now, in_flight, shortest));
                self.given = self.targets.given();
                by_count.min(by_sync).saturating_mul(shortest).min(by_pace)
            }
        };
        self.budget.grant(bytes);
    }

    /// Ends the grant and passes its I/Os to the rules for counting.
    pub(super) fn end_grant(&mut self) {
        let bytes = self.budget.end_grant();
        let Rules::AtTimes(lengths) = self.rules else { return };
        if bytes == 0 {
            return;
        }
        let let_go = LetGo { ios: self.ios_of_grant(bytes, lengths), bytes };
        let ios = let_go.all_ios();
        let Granted { shortest, longest } = lengths;
        let could_be = ios.saturating_mul(shortest)..=ios.saturating_mul(longest);
        holds!(
            could_be.contains(&bytes),
            Granted,
            "{bytes} bytes went without a question in {ios} I/Os of {shortest} to {longest}"
        );
        self.budget.count_ios(ios);
        if let Some(syncs) = &mut self.features.syncs {
            syncs.let_go(&let_go);
        }
        if let Some(pace) = &mut self.features.pace {
            pace.let_go(&let_go);
        }
    }

    /// The number of I/Os issued under a grant: computed from their bytes, or as counted by the targets.
    fn ios_of_grant(&self, bytes: u64, lengths: Granted) -> PerDirection<u64> {
        let mut ios = PerDirection::default();
        match self.plan.target_plan.directions.only() {
            Some(direction) if lengths.shortest == lengths.longest => {
                ios[direction] = bytes / lengths.shortest
            }
            _ => {
                let given = self.targets.given();
                for (direction, ios) in ios.iter_mut() {
                    *ios = given[direction] - self.given[direction];
                }
            }
        }
        ios
    }
}
