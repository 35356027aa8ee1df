//! How a job is reported.

use fathom_stats::PerDirection;
use fathom_stats::report::{LatencyGoal, ViewOptions};
use fathom_stats::steady_state::Criterion;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How one clone is reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportPlan {
    /// True if the clone has an entry in the report and counts in the group totals.
    pub is_shown: bool,
    /// True if the clone shares an entry with the other clones of its group.
    pub is_grouped: bool,
    /// The options of the job, by canonical name.
    pub options: Vec<(String, String)>,
    /// The user's description of the job.
    pub description: Option<String>,
    /// The target of `latency_target`; the depth in it is the requested one.
    pub latency_goal: LatencyGoal,
    /// True if the report counts errors, because the job tolerates them.
    pub counts_errors: bool,
    /// Display settings.
    pub view: ViewOptions,
    /// True if bandwidth and IOPS are sampled.
    pub is_sampled: bool,
    /// Length of a bandwidth sample, ms.
    pub bandwidth_window_ms: u32,
    /// Length of an IOPS sample, ms.
    pub iops_window_ms: u32,
    /// True if the counters of the underlying devices are recorded.
    pub watches_disks: bool,
    /// Requested rates, which the status line shows for comparison.
    pub rates: RatesShown,
}

/// The requested rates of a job; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RatesShown {
    /// Rate limit, bytes per second.
    pub bytes: PerDirection<u64>,
    /// Minimum rate, bytes per second.
    pub least_bytes: PerDirection<u64>,
    /// Rate limit, I/Os per second.
    pub ios: PerDirection<u64>,
    /// Minimum rate, I/Os per second.
    pub least_ios: PerDirection<u64>,
}

/// Steady-state criterion of a job (`steadystate`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyPlan {
    /// Criterion and limit.
    pub criterion: Criterion,
    /// Time before samples count, in ns.
    pub ramp_ns: u64,
    /// Time between two samples, in ns; never 0.
    pub interval_ns: u64,
    /// Length of the window to which the criterion applies.
    pub duration: Duration,
}
