//! The features of a job that the run loop knows of, and what each needs of it.
//!
//! The short path of the loop is for jobs without features. A feature says which parts of it an I/O of the job cannot take, and the
//! flags of the loop follow from the sum: nobody keeps lists of features by hand.

use super::followers::command_priority::CommandPriority;
use super::followers::issue_log::IssueLog;
use super::followers::latency_target::LatencySearch;
use super::followers::logging::Recorder;
use super::gates::admission::Admission;
use super::gates::flow::Flow;
use super::gates::pace::Pace;
use super::gates::zones::ZonedWork;
use super::sources::ranges::Ranges;
use super::sources::syncs::SyncRules;
use super::sources::timed::Timed;
use super::sources::verifier::Verifier;
use std::ops::BitOr;

/// What a feature needs of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// It has a say in what comes next, and when.
    pub(super) choice: bool,
    /// It does something with an I/O before the engine gets it.
    pub(super) preparation: bool,
    /// It hears of each I/O when it has been handed over.
    pub(super) handing_over: bool,
    /// It hears of the end of each I/O.
    pub(super) ends: bool,
}

impl BitOr for Needs {
    type Output = Needs;

    fn bitor(self, other: Needs) -> Needs {
        Needs {
            choice: self.choice | other.choice,
            preparation: self.preparation | other.preparation,
            handing_over: self.handing_over | other.handing_over,
            ends: self.ends | other.ends,
        }
    }
}

/// A part of a job that takes part in its I/O.
pub(super) trait Feature {
    /// What it needs.
    fn needs(&self) -> Needs;
}

impl<F: Feature> Feature for Option<Box<F>> {
    /// What a job does not have needs nothing.
    fn needs(&self) -> Needs {
        self.as_ref().map_or(Needs::default(), |feature| feature.needs())
    }
}

/// The features of one job.
pub(super) struct Features<'a> {
    /// Rates and think times.
    pub(super) pace: Option<Box<Pace>>,
    pub(super) syncs: Option<Box<SyncRules>>,
    /// Trims of several ranges.
    pub(super) ranges: Option<Box<Ranges>>,
    /// What is issued, for others to replay.
    pub(super) issue_log: Option<Box<IssueLog<'a>>>,
    /// I/Os that are due at a time, by a log or a schedule.
    pub(super) timed: Option<Box<Timed<'a>>>,
    /// Data that is stamped, remembered and checked.
    pub(super) verifier: Option<Box<Verifier<'a>>>,
    pub(super) log: Option<Box<Recorder<'a>>>,
    pub(super) flow: Option<Box<Flow<'a>>>,
    pub(super) command_priority: Option<Box<CommandPriority<'a>>>,
    /// What an I/O may have to wait for.
    pub(super) admission: Option<Box<Admission<'a>>>,
    /// `zonemode=zbd`.
    pub(super) zones: Option<Box<ZonedWork<'a>>>,
    /// The search for a depth that `latency_target` asks for.
    pub(super) latency_search: Option<Box<LatencySearch>>,
}

impl Features<'_> {
    /// What all of them need together.
    pub(super) fn needs(&self) -> Needs {
        // Named one by one, so that none can be forgotten.
        let Features {
            pace,
            syncs,
            ranges,
            issue_log,
            timed,
            verifier,
            log,
            flow,
            command_priority,
            admission,
            zones,
            latency_search,
        } = self;
        pace.needs()
            | syncs.needs()
            | ranges.needs()
            | issue_log.needs()
            | timed.needs()
            | verifier.needs()
            | log.needs()
            | flow.needs()
            | command_priority.needs()
            | admission.needs()
            | zones.needs()
            | latency_search.needs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Holding;

    impl Feature for Holding {
        fn needs(&self) -> Needs {
            Needs { choice: true, ..Needs::default() }
        }
    }

    #[test]
    fn needs_add_up() {
        let (none, ends) = (Needs::default(), Needs { ends: true, ..Needs::default() });
        assert_eq!(None::<Box<Holding>>.needs(), none);
        let both = Some(Box::new(Holding)).needs() | ends;
        assert_eq!(both, Needs { choice: true, ends: true, ..none });
        assert_eq!(both | none, both);
    }
}
