//! Which latencies are recorded, and which are asked for.

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// What is measured of each I/O, and what it may not exceed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyPlan {
    /// Submission latency.
    pub slat: Measured,
    /// Completion latency.
    pub clat: Measured,
    /// Latency from start to end.
    pub lat: Measured,
    /// The report shows how the latencies are distributed.
    pub has_distribution: bool,
    /// An I/O that takes longer ends the job: ns, per direction; `u64::MAX` for no limit.
    pub limits_ns: PerDirection<u64>,
    /// The search for a depth.
    pub search: Option<LatencyTarget>,
}

/// How much of a latency is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Anything.
    pub at_all: bool,
    /// A histogram, for percentiles.
    pub bins: bool,
}

/// The largest queue depth is looked for at which I/Os still meet a latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyTarget {
    /// The latency, ns.
    pub target_ns: u64,
    /// Share of I/Os that must meet it, percent.
    pub percentile: f64,
    /// How long a depth is judged, ns.
    pub window_ns: u64,
    /// The search goes on after the depth is found.
    pub keeps_running: bool,
}
