//! What a worker replays.

use super::lengths::LengthRule;
use super::targets::DirectionPlan;
use fathom_stats::{Direction, PerDirection};
use fathom_trace::Rules;
use fathom_trace::scan::Scan;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a clone replays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayPlan {
    /// The log as the job names it, for messages.
    pub name: String,
    /// Where it can be read, as often as needed.
    pub source: LogSource,
    /// What is changed about it.
    pub rules: Rules,
    /// What it adds up to.
    pub scan: Scan,
    /// What is wrong with it, but no reason not to replay the rest.
    pub warnings: Vec<String>,
    /// Why it cannot be replayed.
    pub failure: Option<Failure>,
}

impl ReplayPlan {
    /// True when the log has I/Os of this direction.
    pub fn uses(&self, direction: Direction) -> bool {
        self.scan.directions[direction].ios > 0
    }

    /// The directions, as far as a plan of targets can tell them.
    pub(crate) fn directions(&self) -> DirectionPlan {
        match Direction::ALL.map(|direction| self.uses(direction)) {
            [false, true, false] => DirectionPlan::Write,
            [false, false, true] => DirectionPlan::Trim,
            [_, false, false] => DirectionPlan::Read,
            [false, true, true] => DirectionPlan::TrimThenWrite,
            [true, _, _] => DirectionPlan::Mix(50),
        }
    }

    /// Lengths per direction. Directions that do not occur get those of one that does.
    pub(crate) fn lengths(&self) -> PerDirection<LengthRule> {
        let used = self.scan.directions.values().filter(|direction| direction.ios > 0);
        let other = used.map(|direction| u64::from(direction.smallest)).min().unwrap_or(1);
        self.scan.directions.map(|direction| {
            match (u64::from(direction.smallest), u64::from(direction.largest)) {
                (0, _) => LengthRule::Fixed(other),
                (min, max) if min == max => LengthRule::Fixed(min),
                (min, max) => LengthRule::Range { min, max, unaligned: true },
            }
        })
    }

    /// Bytes of the largest I/O.
    pub(crate) fn largest(&self) -> u32 {
        self.scan.directions.values().map(|direction| direction.largest).max().unwrap_or(0)
    }
}

/// Where a log can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogSource {
    /// In a file.
    File(PathBuf),
    /// In a copy, if it can be read only once: its number among those that the planning process keeps.
    Copy(usize),
}

/// Why a log cannot be replayed, for the error of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// errno.
    pub errno: i32,
    /// The log cannot be read; otherwise there is nothing in it to replay.
    pub is_of_reading: bool,
    /// What a user should read.
    pub message: String,
}

impl Failure {
    pub(crate) fn invalid(message: String) -> Failure {
        Failure { errno: libc::EINVAL, is_of_reading: false, message }
    }
}
