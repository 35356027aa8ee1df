//! How often something decides on the next I/O: what lies between two questions goes the short way.
//!
//! A rule that can tell how many I/Os may go before it has to be asked again (a number of I/Os, a sync after every 32 writes, a rate that the
//! device does not reach) is asked only then. What it lets go is granted to the short path in bytes, and counted when the next question
//! comes. All I/Os of such a job have one length, so that bytes and I/Os say the same.

use super::Worker;
use super::feature::Choice;
use crate::invariant::holds;
use crate::plan::model::lengths::LengthRule;
use crate::plan::model::targets::TargetPlan;

/// What stands between the pass over the files and the next I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// Nothing.
    None,
    /// Rules that let I/Os of this length in bytes go until they are asked again.
    AtTimes(u64),
    /// Rules that are asked before each I/O.
    EachIo,
}

impl Rules {
    /// The rules of a job with these features; `counts_ios` for a limited number of I/Os.
    pub(super) fn of(plan: &TargetPlan, choice: Choice, counts_ios: bool) -> Rules {
        let one_length = match plan.lengths[plan.used_directions()[0]] {
            LengthRule::Fixed(length) if plan.has_one_length() => Some(length),
            _ => None,
        };
        match (choice, one_length) {
            (Choice::Never, _) if !counts_ios => Rules::None,
            (Choice::Never | Choice::AtTimes, Some(length)) => Rules::AtTimes(length),
            _ => Rules::EachIo,
        }
    }
}

impl Worker<'_> {
    /// Lets I/Os go until the next question. `now` is a recent tick.
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

    /// Tells the rules what went since the last question.
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
