//! Rates, minimum rates and think times.

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// Everything that may delay the next I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PacePlan {
    /// Rate limits per direction.
    pub rates: PerDirection<Option<RateRule>>,
    /// True for mixed reads and writes, in which one direction may get ahead of the other.
    pub is_mix: bool,
    /// Pauses.
    pub think: Option<ThinkTimePlan>,
    /// Processor cycles to burn after each I/O.
    pub think_cycles: u64,
    /// True if pauses shift the schedule of the rate limit.
    pub shifts_for_think: bool,
    /// Minimum rates that the job must reach.
    pub minimum: Option<MinimumRates>,
}

/// A rate limit of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateRule {
    /// Bytes or I/Os per second.
    pub units_per_second: f64,
    /// True if the rate counts I/Os instead of bytes.
    pub per_io: bool,
    /// True for random arrivals, as in a Poisson process, instead of evenly spaced ones.
    pub is_poisson: bool,
}

/// Pauses between I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkTimePlan {
    /// Length of a pause, ns.
    pub pause_ns: u64,
    /// Duration of busy-waiting at the start of a pause, ns.
    pub spin_ns: u64,
    /// I/Os between two pauses; 0 for no pauses.
    pub blocks: u64,
    /// True if I/Os are counted at issue instead of at completion.
    pub counts_issues: bool,
    /// Duration of I/O between two pauses, ns; 0 for no pauses.
    pub io_time_ns: u64,
}

/// Rates that the job must reach in each cycle; otherwise it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinimumRates {
    /// Bytes per second, by direction; 0 for no minimum.
    pub bytes: PerDirection<u64>,
    /// I/Os per second, by direction; 0 for no minimum.
    pub ios: PerDirection<u64>,
    /// Interval of the checks, ns.
    pub cycle_ns: u64,
}
