//! When a worker begins and ends, and by which clock.

use fathom_spec::options::time::ClockSource;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The times of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimePlan {
    /// It begins so long after its batch: a time drawn from between these two.
    pub start_delay: (Duration, Duration),
    /// What comes before anything counts.
    pub ramp: Option<RampPlan>,
    /// It ends so long after the ramp; zero for no such end.
    pub runtime: Duration,
    /// It goes round and round until then.
    pub time_based: bool,
    /// Where it takes its times from; `None` for the best there is.
    pub clock: Option<ClockSource>,
    /// Clock (`CLOCK_*`) by which the report says when it began.
    pub start_clock: Option<u32>,
}

impl TimePlan {
    /// From its start to its end, if a time ends it.
    pub fn expected(&self) -> Duration {
        let ramp = self.ramp.as_ref().map_or(Duration::ZERO, |ramp| ramp.time);
        self.runtime + ramp + self.start_delay.0
    }
}

/// I/O that runs but does not count yet. With both a time and an amount, it lasts until both are reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RampPlan {
    /// How long it lasts.
    pub time: Duration,
    /// Bytes to move first; 0 for none.
    pub bytes: u64,
    /// The amount is that of all jobs of the group.
    pub counts_group: bool,
}
