//! How often a rule decides on the next I/O. I/Os between two decisions take the short path.
//!
//! A rule that knows how many I/Os may be issued before its next decision (a number of I/Os, a sync after every 32 writes, a rate above what
//! the device reaches) is not asked in between. It grants that many to the short path, in bytes, and counts them at its next decision. All I/Os
//! of such a job have one length, so bytes give the number of I/Os.

use super::Worker;
use super::feature::Choice;
use crate::invariant::holds;
use crate::plan::model::targets::TargetPlan;

/// How often rules decide on the next I/O of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// Never: there are none.
    None,
    /// At times; in between, I/Os of this length in bytes are granted.
    AtTimes(u64),
    /// Before each I/O.
    EachIo,
}

impl Rules {
    /// The rules of a job with these features; `counts_ios` for a limited number of I/Os.
    pub(super) fn of(plan: &TargetPlan, choice: Choice, counts_ios: bool) -> Rules {
        match (choice, plan.one_length()) {
            (Choice::Never, _) if !counts_ios => Rules::None,
            (Choice::Never | Choice::AtTimes, Some(length)) => Rules::AtTimes(length),
            _ => Rules::EachIo,
        }
    }
}

impl Worker<'_> {
    /// Grants I/Os until the next decision. `now` is a recent tick.
    pub(super) fn grant(&mut self, now: u64) {
        let bytes = match self.rules {
            Rules::None => u64::MAX,
            Rules::EachIo => 0,
            Rules::AtTimes(length) => {
                let by_count = self.budget.ios_left().unwrap_or(u64::MAX);
                let by_sync = self.features.syncs.as_ref().map_or(u64::MAX, |syncs| syncs.foresees());
                let by_pace = self.features.pace.as_ref().map_or(u64::MAX, |pace| pace.foresees(now, length));
                by_count.min(by_sync).min(by_pace).saturating_mul(length)
            }
        };
        self.budget.grant(bytes);
    }

    /// Ends the grant, and counts its I/Os with the rules.
    pub(super) fn end_grant(&mut self) {
        let bytes = self.budget.end_grant();
        let Rules::AtTimes(length) = self.rules else { return };
        if bytes == 0 {
            return;
        }
        let ios = bytes / length;
        holds!(bytes == ios * length, Granted, "{bytes} bytes went without a question, in I/Os of {length}");
        self.budget.count_ios(ios);
        if let Some(syncs) = &mut self.features.syncs {
            syncs.let_go(ios);
        }
        if let Some(pace) = &mut self.features.pace {
            pace.let_go(ios, length);
        }
    }
}
