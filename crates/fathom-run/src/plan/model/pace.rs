//! Rates, minimum rates and think times: what holds I/O back.

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// Everything that may come between two I/Os.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PacePlan {
    /// Limits per direction.
    pub rates: PerDirection<Option<RateRule>>,
    /// Reads and writes by chance: one may go before the other.
    pub is_mix: bool,
    /// Pauses.
    pub think: Option<ThinkTimePlan>,
    /// Cycles of the processor spent after each I/O.
    pub think_cycles: u64,
    /// What a rate allows moves on by the pauses.
    pub shifts_for_think: bool,
    /// What the job must reach.
    pub minimum: Option<MinimumRates>,
}

/// A rate limit of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateRule {
    /// Bytes or I/Os in a second.
    pub units_per_second: f64,
    /// The rate counts I/Os, whatever their length.
    pub per_io: bool,
    /// Arrivals at random, as in a Poisson process, instead of evenly.
    pub is_poisson: bool,
}

/// Pauses between I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkTimePlan {
    /// Length of a pause, ns.
    pub pause_ns: u64,
    /// Its first part that is spent awake, ns.
    pub spin_ns: u64,
    /// Pause after so many I/Os; 0: never.
    pub blocks: u64,
    /// They are counted when they are issued rather than when they end.
    pub counts_issues: bool,
    /// Pause after so much time of I/O, ns; 0: never.
    pub io_time_ns: u64,
}

/// What the job must reach in each cycle, or it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinimumRates {
    /// Bytes in a second, per direction; 0: any.
    pub bytes: PerDirection<u64>,
    /// I/Os in a second, per direction; 0: any.
    pub ios: PerDirection<u64>,
    /// Time between two looks, ns.
    pub cycle_ns: u64,
}
