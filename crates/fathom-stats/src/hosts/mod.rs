//! What a run over several hosts came to, host by host.
//!
//! Every host runs the same jobs under a supervisor of its own and counts by its own clock. The controller knows how far each
//! clock is from its own, within a bound, and gives all times on its own clock, counted from the instant that all hosts were told
//! to start at.
//!
//! [`Merged`] adds up the hosts' reports, one at a time or in a tree; [`rows()`] sets them side by side.

mod files;
mod join;
mod merged;
mod overlap;
mod parts;
mod row;
mod rows;
pub mod stragglers;
mod sums;
#[cfg(test)]
mod tests;
mod timeline;

pub use files::{HostFiles, Ownership};
pub use merged::{Merged, merge};
pub use overlap::{OverlapWindow, overlap};
pub use row::{HostFigures, HostPercentiles, HostRow, Straggling, StragglingFigure};
pub use rows::{HostDigest, StartSkew, rows, start_skew};

use crate::per_direction::PerDirection;
use crate::report::RunReport;
use serde::{Deserialize, Serialize};

/// The hosts of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostsReport {
    /// In the order of the command line.
    pub hosts: Vec<HostRunReport>,
    /// The time in which all hosts were running, if there was any.
    pub overlap: Option<Overlap>,
    /// Whose the files of the jobs are, where several hosts run them.
    #[serde(default)]
    pub files: Vec<HostFiles>,
}

/// One host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRunReport {
    /// As the user wrote it.
    pub name: String,
    /// Groups of hosts that it belongs to.
    pub groups: Vec<String>,
    /// What it calls itself; empty as long as it has not answered.
    pub host_name: String,
    /// The way to it: `ssh`, `tls`, `mpi`, ...
    pub transport: String,
    /// How it ended.
    pub end: HostEnd,
    /// Its clock beside the controller's.
    pub clock: ClockReport,
    /// When its jobs started, ns after the agreed instant; negative before it. `None` when none did.
    pub start_skew_ns: Option<i64>,
    /// When the first of its jobs was done, ms after the agreed instant.
    pub first_done_ms: Option<u64>,
    /// When the last one was.
    pub last_done_ms: Option<u64>,
    /// All that it counted: its result, or its last snapshot if it was lost. Its `hosts` is always empty.
    pub report: Option<Box<RunReport>>,
    /// Its figures, where they were taken out of its report because those of all hosts would be too long
    /// ([`Merged::shorten`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Box<HostDigest>>,
}

/// How a host ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostEnd {
    /// Its result is whole.
    #[default]
    Whole,
    /// It could not begin. Nothing was run on it.
    NeverBegan {
        /// Why, in words.
        reason: String,
    },
    /// It was lost in the middle; its figures are those of its last snapshot.
    Lost {
        /// Why, in words.
        reason: String,
        /// When the last snapshot was taken, ms after the agreed instant; `None` when there is none.
        snapshot_ms: Option<u64>,
    },
}

/// The clock of a host beside the controller's, from round trips.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReport {
    /// Before the run; `None` when it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<ClockOffset>,
    /// After it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ClockOffset>,
    /// How far its wall clock was moved against its monotonic clock during the run, ns.
    pub wall_clock_jump_ns: i64,
}

/// An estimate of how far a clock is ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Monotonic clock of the host minus that of the controller, ns.
    pub offset_ns: i64,
    /// The true value is no further from it than this, ns.
    pub bound_ns: u64,
}

/// The time in which all hosts that ran were running.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// When the last host had started, ms after the agreed instant.
    pub begin_ms: u64,
    /// When the first job of any host was done.
    pub end_ms: u64,
    /// What all hosts did in it: read, write, trim.
    pub directions: PerDirection<OverlapFigures>,
}

/// One direction of an [`Overlap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverlapFigures {
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// I/Os per second.
    pub iops: f64,
}

impl HostRunReport {
    /// How far its jobs started from the agreed instant, ns; 0 if that is not known.
    pub fn skew_ns(&self) -> i64 {
        self.start_skew_ns.unwrap_or(0)
    }
}

impl ClockReport {
    /// How far the clock may be from what is taken for it, ns; `None` if it was not measured.
    pub fn bound_ns(&self) -> Option<u64> {
        [self.before, self.after].into_iter().flatten().map(|offset| offset.bound_ns).max()
    }
}
