//! Results of a multi-host run, host by host. Every host runs the same jobs under its own supervisor and uses its own clock.
//! The controller knows the offset of each clock within a bound, and gives all times on its own clock, counted from the
//! agreed start instant. [`Merged`] sums the hosts' reports, one at a time or in a tree; [`rows()`] compares them.

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
    /// Which host's files the jobs use, if several hosts run them.
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
    /// Its own host name; empty until it has answered.
    pub host_name: String,
    /// Transport to it: `ssh`, `tls`, `mpi`, ...
    pub transport: String,
    /// Its outcome.
    pub end: HostEnd,
    /// Its clock compared with the controller's.
    pub clock: ClockReport,
    /// The time at which its jobs started, ns after the agreed instant; negative before it. `None` when none did.
    pub start_skew_ns: Option<i64>,
    /// The time at which its first job ended, ms after the agreed instant.
    pub first_done_ms: Option<u64>,
    /// The time at which its last job ended.
    pub last_done_ms: Option<u64>,
    /// Its result, or its last snapshot if it was lost. Its `hosts` is always empty.
    pub report: Option<Box<RunReport>>,
    /// Its figures, if they were dropped from its report to save space ([`Merged::shorten`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Box<HostDigest>>,
}

/// How a host ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostEnd {
    /// It delivered its result.
    #[default]
    Whole,
    /// It could not start, and ran nothing.
    NeverBegan {
        /// The reason.
        reason: String,
    },
    /// It was lost during the run; its figures are those of its last snapshot.
    Lost {
        /// The reason.
        reason: String,
        /// The time at which the last snapshot was taken, ms after the agreed instant; `None` if there is none.
        snapshot_ms: Option<u64>,
    },
}

/// A host's clock compared with the controller's, from round trips.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReport {
    /// Before the run; `None` if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<ClockOffset>,
    /// After it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ClockOffset>,
    /// Step of its wall clock against its monotonic clock during the run, ns.
    pub wall_clock_jump_ns: i64,
}

/// An estimated clock offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Monotonic clock of the host minus that of the controller, ns.
    pub offset_ns: i64,
    /// The true offset differs from it by at most this, ns.
    pub bound_ns: u64,
}

/// The time in which all hosts that ran were running.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Start of the last host, ms after the agreed instant.
    pub begin_ms: u64,
    /// End of the first job of any host.
    pub end_ms: u64,
    /// The figures of all hosts in this window: read, write, trim.
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
    /// How far from the agreed instant its jobs started, ns; 0 if unknown.
    pub fn skew_ns(&self) -> i64 {
        self.start_skew_ns.unwrap_or(0)
    }
}

impl ClockReport {
    /// Bound on the error of the clock offset, ns; `None` if it was not measured.
    pub fn bound_ns(&self) -> Option<u64> {
        [self.before, self.after].into_iter().flatten().map(|offset| offset.bound_ns).max()
    }
}
