//! Report settings of a job, apart from its figures.

use fathom_stats::PerDirection;
use fathom_stats::report::{LatencyGoal, ViewOptions};
use fathom_stats::steady_state::Criterion;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How one clone is reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportPlan {
    /// It has an entry in the report, and counts in the group totals.
    pub is_shown: bool,
    /// It shares an entry with the other clones of its group.
    pub is_grouped: bool,
    /// The options of the job, by canonical name.
    pub options: Vec<(String, String)>,
    /// The user's description of the job.
    pub description: Option<String>,
    /// The target of `latency_target`; its depth is the requested one.
    pub latency_goal: LatencyGoal,
    /// The job tolerates errors, so the report counts them.
    pub counts_errors: bool,
    /// Display settings.
    pub view: ViewOptions,
    /// Bandwidth and IOPS are sampled.
    pub is_sampled: bool,
    /// Interval of a bandwidth sample, ms.
    pub bandwidth_window_ms: u32,
    /// Interval of an IOPS sample, ms.
    pub iops_window_ms: u32,
    /// Counters of the underlying devices are recorded.
    pub watches_disks: bool,
    /// Requested rates, which the status line shows for comparison.
    pub rates: RatesShown,
}

/// The requested rates of a job; 0 for none.
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

/// Steady-state criterion of a job (`steadystate`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyPlan {
    /// Criterion and limit.
    pub criterion: Criterion,
    /// Time before samples count, in ns.
    pub ramp_ns: u64,
    /// Time between two samples, in ns; never 0.
    pub interval_ns: u64,
    /// Window of the criterion.
    pub duration: Duration,
}
