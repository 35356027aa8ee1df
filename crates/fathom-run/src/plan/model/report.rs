//! What the report says of a job beside its figures, and how it shows them.

use fathom_stats::PerDirection;
use fathom_stats::report::{LatencyGoal, ViewOptions};
use fathom_stats::steady_state::Criterion;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How one clone is reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportPlan {
    /// It has an entry in the report, and its part of the groups' totals.
    pub is_shown: bool,
    /// It shares its entry with the other clones of its group.
    pub is_grouped: bool,
    /// The options written for the job, by canonical name.
    pub options: Vec<(String, String)>,
    /// What the user says of the job.
    pub description: Option<String>,
    /// What `latency_target` asks for; its depth is the one that the job asks for.
    pub latency_goal: LatencyGoal,
    /// The job may go on after errors, so they are counted.
    pub counts_errors: bool,
    /// How figures are shown.
    pub view: ViewOptions,
    /// Samples of bandwidth and IOPS are taken.
    pub is_sampled: bool,
    /// Milliseconds of one sample of bandwidth.
    pub bandwidth_window_ms: u32,
    /// The same of IOPS.
    pub iops_window_ms: u32,
    /// The devices below its files are watched.
    pub watches_disks: bool,
    /// Rates that the status line sets figures against.
    pub rates: RatesShown,
}

/// The rates that a job asks for; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RatesShown {
    /// At most, bytes per second.
    pub bytes: PerDirection<u64>,
    /// At least, bytes per second.
    pub least_bytes: PerDirection<u64>,
    /// At most, I/Os per second.
    pub ios: PerDirection<u64>,
    /// At least, I/Os per second.
    pub least_ios: PerDirection<u64>,
}

/// When the figures of a job have settled (`steadystate`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyPlan {
    /// What has to settle, and how far.
    pub criterion: Criterion,
    /// What comes before anything counts, in ns.
    pub ramp_ns: u64,
    /// Time between two samples, in ns; never 0.
    pub interval_ns: u64,
    /// Over how long it is judged.
    pub duration: Duration,
}
