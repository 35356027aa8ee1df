//! The replay of a worker.

use super::lengths::LengthRule;
use super::targets::DirectionPlan;
use fathom_stats::{Direction, PerDirection};
use fathom_trace::Rules;
use fathom_trace::scan::Scan;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The replay of a clone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayPlan {
    /// Name of the log as the job gives it, for messages.
    pub name: String,
    /// Source of the log, which can be read repeatedly.
    pub source: LogSource,
    /// Changes to the log's entries.
    pub rules: Rules,
    /// Its summary.
    pub scan: Scan,
    /// Problems that do not prevent a replay.
    pub warnings: Vec<String>,
    /// Why the log cannot be replayed.
    pub failure: Option<Failure>,
}

impl ReplayPlan {
    /// True when the log has I/Os of this direction.
    pub fn uses(&self, direction: Direction) -> bool {
        self.scan.directions[direction].ios > 0
    }

    /// Directions of the log, as far as a target plan can express them.
    pub(crate) fn directions(&self) -> DirectionPlan {
        match Direction::ALL.map(|direction| self.uses(direction)) {
            [false, true, false] => DirectionPlan::Write,
            [false, false, true] => DirectionPlan::Trim,
            [_, false, false] => DirectionPlan::Read,
            [false, true, true] => DirectionPlan::TrimThenWrite,
            [true, _, _] => DirectionPlan::Mix(50),
        }
    }

    /// Lengths by direction. Unused directions get the lengths of a used one.
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

    /// Length of the largest I/O in bytes.
    pub(crate) fn largest(&self) -> u32 {
        self.scan.directions.values().map(|direction| direction.largest).max().unwrap_or(0)
    }
}

/// Where a log is read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogSource {
    /// A file.
    File(PathBuf),
    /// A copy of a source that can be read only once: its index among the copies of the planning process.
    Copy(usize),
}

/// Why a log cannot be replayed; this becomes the job's error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The error.
    pub errno: i32,
    /// True if the log cannot be read; false if it has no entries to replay.
    pub is_of_reading: bool,
    /// Message for the user.
    pub message: String,
}

impl Failure {
    pub(crate) fn invalid(message: String) -> Failure {
        Failure { errno: libc::EINVAL, is_of_reading: false, message }
    }
}
