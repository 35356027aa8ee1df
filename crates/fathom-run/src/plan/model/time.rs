//! The start and end times of a worker, and the clocks that it uses.

use fathom_spec::options::time::ClockSource;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The times of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimePlan {
    /// Range from which the delay of the worker's start after its batch is drawn.
    pub start_delay: (Duration, Duration),
    /// Warm-up before I/Os are recorded.
    pub ramp: Option<RampPlan>,
    /// Run time after the ramp; zero for unlimited.
    pub runtime: Duration,
    /// True if the job repeats its passes until its time is up.
    pub time_based: bool,
    /// Clock that times the I/Os; `None` for the best available one.
    pub clock: Option<ClockSource>,
    /// Clock (`CLOCK_*`) of the job's start time in the report.
    pub start_clock: Option<u32>,
}

impl TimePlan {
    /// Total duration of a job that ends by time.
    pub fn expected(&self) -> Duration {
        let ramp = self.ramp.as_ref().map_or(Duration::ZERO, |ramp| ramp.time);
        self.runtime + ramp + self.start_delay.0
    }
}

/// Warm-up I/O that is not recorded. If it has both a time and an amount, it lasts until both are reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RampPlan {
    /// Its duration.
    pub time: Duration,
    /// Bytes to move before recording starts; 0 for none.
    pub bytes: u64,
    /// True if the amount is the sum over all jobs of the group.
    pub counts_group: bool,
}
