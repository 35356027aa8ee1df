//! When a job runs, and where its clones stand at one moment: what cannot be told from what they have counted.

use crate::live::RunState;
use serde::{Deserialize, Serialize};

/// A job while it runs. Those of several clones and hosts add up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobMoment {
    /// What its clones do.
    pub states: Vec<RunState>,
    /// I/Os in flight.
    pub in_flight: u64,
    /// I/Os that may be.
    pub asked_depth: u64,
    /// Those in flight that have been for longer than fathom waits without any progress.
    pub stuck: u64,
    /// Age of the oldest I/O in flight, ns; 0 when there is none.
    pub oldest_ns: u64,
    /// I/Os that are due and have not been started; `None` unless the loop is open.
    pub waiting: Option<u64>,
    /// Errors that its clones went on after, and those that ended one.
    pub errors: u64,
}

/// When something happened, by the wall clock of the machine it happened on: ns since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallSpan {
    /// Its begin.
    pub begin_ns: u64,
    /// Its end, or when it was last looked at.
    pub end_ns: u64,
}

impl WallSpan {
    /// The shortest span that has both in it.
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
