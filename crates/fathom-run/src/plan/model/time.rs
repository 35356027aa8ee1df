//! When a worker begins and ends, and which clock it uses.

use fathom_spec::options::time::ClockSource;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The times of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimePlan {
    /// Delay of its start after its batch, drawn from this range.
    pub start_delay: (Duration, Duration),
    /// Warm-up before figures count.
    pub ramp: Option<RampPlan>,
    /// Run time after the ramp; zero for no limit.
    pub runtime: Duration,
    /// It repeats its passes until its time is up.
    pub time_based: bool,
    /// Clock for its times; `None` for the best available one.
    pub clock: Option<ClockSource>,
    /// Clock (`CLOCK_*`) for its start time in the report.
    pub start_clock: Option<u32>,
}

impl TimePlan {
    /// Total time, if it ends by time.
    pub fn expected(&self) -> Duration {
        let ramp = self.ramp.as_ref().map_or(Duration::ZERO, |ramp| ramp.time);
        self.runtime + ramp + self.start_delay.0
    }
}

/// Warm-up I/O that does not count. With both a time and an amount, it lasts until both are reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RampPlan {
    /// Its duration.
    pub time: Duration,
    /// Bytes to move first; 0 for none.
    pub bytes: u64,
    /// The amount is the sum over all jobs of the group.
    pub counts_group: bool,
}
