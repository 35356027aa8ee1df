//! Recorded latencies, and latency limits.

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// What is measured of each I/O, and its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyPlan {
    /// Submission latency.
    pub slat: Measured,
    /// Completion latency.
    pub clat: Measured,
    /// Total latency.
    pub lat: Measured,
    /// The report shows the distribution of latencies.
    pub has_distribution: bool,
    /// An I/O above this limit ends the job: ns, per direction; `u64::MAX` for no limit.
    pub limits_ns: PerDirection<u64>,
    /// The search for the largest depth that meets `latency_target`.
    pub search: Option<LatencyTarget>,
}

/// Level of detail of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// The latency is measured.
    pub at_all: bool,
    /// With a histogram, for percentiles.
    pub bins: bool,
}

/// Search for the largest queue depth at which I/Os still meet a latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyTarget {
    /// The latency, ns.
    pub target_ns: u64,
    /// Share of I/Os that must meet it, percent.
    pub percentile: f64,
    /// Time that each depth is measured, ns.
    pub window_ns: u64,
    /// Repeat the search after the depth is found.
    pub keeps_running: bool,
}
