//! The features that the run loop supports.

use super::feature::{Feature, Needs};
use super::followers::block_errors::BlockErrors;
use super::followers::command_priority::CommandPriority;
use super::followers::issue_log::IssueLog;
use super::followers::latency_target::LatencySearch;
use super::followers::layers::LayerMarks;
use super::followers::logging::Recorder;
use super::gates::admission::Admission;
use super::gates::flow::Flow;
use super::gates::pace::Pace;
use super::gates::zones::ZonedWork;
use super::sources::ranges::Ranges;
use super::sources::syncs::SyncRules;
use super::sources::timed::Timed;
use super::sources::verifier::Verifier;

/// The features of one job.
pub(super) struct Features<'a> {
    /// Rates and think times.
    pub(super) pace: Option<Box<Pace>>,
    pub(super) syncs: Option<Box<SyncRules>>,
    /// Trims of several ranges.
    pub(super) ranges: Option<Box<Ranges>>,
    /// Recording of issued I/Os, for a replay.
    pub(super) issue_log: Option<Box<IssueLog<'a>>>,
    /// I/Os with scheduled times, from a log or a schedule.
    pub(super) timed: Option<Box<Timed<'a>>>,
    /// Verification.
    pub(super) verifier: Option<Box<Verifier<'a>>>,
    pub(super) log: Option<Box<Recorder<'a>>>,
    /// `--layers`.
    pub(super) layers: Option<Box<LayerMarks<'a>>>,
    pub(super) flow: Option<Box<Flow<'a>>>,
    pub(super) command_priority: Option<Box<CommandPriority<'a>>>,
    /// `block_error_percentiles`.
    pub(super) block_errors: Option<Box<BlockErrors<'a>>>,
    /// Conditions that an I/O may have to wait for.
    pub(super) admission: Option<Box<Admission<'a>>>,
    /// `zonemode=zbd`.
    pub(super) zones: Option<Box<ZonedWork<'a>>>,
    /// The search for a queue depth that meets `latency_target`.
    pub(super) latency_search: Option<Box<LatencySearch>>,
}

impl Features<'_> {
    /// The combined demands of all features.
    pub(super) fn needs(&self) -> Needs {
        // The fields are listed one by one, so that the compiler reports a forgotten one.
        let Features {
            pace,
            syncs,
            ranges,
            issue_log,
            timed,
            verifier,
            log,
            layers,
            flow,
            command_priority,
            block_errors,
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
            | layers.needs()
            | flow.needs()
            | command_priority.needs()
            | block_errors.needs()
            | admission.needs()
            | zones.needs()
            | latency_search.needs()
    }
}
