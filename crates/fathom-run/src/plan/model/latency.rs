//! Recorded latencies, and latency limits.

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// The latencies to measure, and the limits on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyPlan {
    /// Submission latency.
    pub slat: Measured,
    /// Completion latency.
    pub clat: Measured,
    /// Total latency.
    pub lat: Measured,
    /// True if the report shows the distribution of latencies.
    pub has_distribution: bool,
    /// Latency above which an I/O ends the job, in ns per direction; `u64::MAX` for no limit.
    pub limits_ns: PerDirection<u64>,
    /// The search for the largest depth that meets `latency_target`.
    pub search: Option<LatencyTarget>,
}

/// Level of detail of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// True if the latency is measured.
    pub at_all: bool,
    /// True if a histogram is kept, for percentiles.
    pub bins: bool,
}

/// Search for the largest queue depth at which I/Os still meet a latency target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyTarget {
    /// The latency target, ns.
    pub target_ns: u64,
    /// Share of I/Os that must meet the target, percent.
    pub percentile: f64,
    /// Duration of the measurement at each depth, ns.
    pub window_ns: u64,
    /// True if the search is repeated after a depth is found.
    pub keeps_running: bool,
}
