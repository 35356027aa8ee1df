//! The state of a job's clones at one instant, with information that their counters do not contain.

use crate::live::RunState;
use serde::{Deserialize, Serialize};

/// The state of a running job, which can be summed over clones and hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobMoment {
    /// States of the clones.
    pub states: Vec<RunState>,
    /// I/Os in flight.
    pub in_flight: u64,
    /// Number of I/Os that may be in flight.
    pub asked_depth: u64,
    /// Number of I/Os in flight for longer than the patience.
    pub stuck: u64,
    /// Age of the oldest I/O in flight in ns; 0 if there is none.
    pub oldest_ns: u64,
    /// Number of I/Os that are due and have not been started; `None` unless the loop is open.
    pub waiting: Option<u64>,
    /// Number of errors, including those that ended a clone.
    pub errors: u64,
}

/// A time span on the wall clock of its machine, in ns since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallSpan {
    /// Start.
    pub begin_ns: u64,
    /// End, or the time of the last poll.
    pub end_ns: u64,
}

impl WallSpan {
    /// Extends the span to include another.
    pub fn merge(&mut self, other: &WallSpan) {
        self.begin_ns = self.begin_ns.min(other.begin_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
    }
}

impl JobMoment {
    /// Adds other clones.
    pub fn merge(&mut self, other: &JobMoment) {
        self.states.extend_from_slice(&other.states);
        self.in_flight += other.in_flight;
        self.asked_depth += other.asked_depth;
        self.stuck += other.stuck;
        self.oldest_ns = self.oldest_ns.max(other.oldest_ns);
        self.waiting = self.waiting.map(|own| own + other.waiting.unwrap_or(0)).or(other.waiting);
        self.errors += other.errors;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_add_up_and_the_oldest_io_is_that_of_all() {
        let mut sum = JobMoment {
            states: vec![RunState::Ramping],
            in_flight: 3,
            asked_depth: 4,
            stuck: 1,
            oldest_ns: 7,
            waiting: None,
            errors: 0,
        };
        let open_loop = JobMoment { waiting: Some(5), oldest_ns: 9, errors: 2, ..sum.clone() };
        sum.merge(&open_loop);
        let expected = JobMoment {
            states: vec![RunState::Ramping; 2],
            in_flight: 6,
            asked_depth: 8,
            stuck: 2,
            oldest_ns: 9,
            waiting: Some(5),
            errors: 2,
        };
        assert_eq!(sum, expected);
    }
}
