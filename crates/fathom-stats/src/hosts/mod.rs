//! Results of a multi-host run, host by host. Every host runs the same jobs under its own supervisor and uses
//! its own clock. The controller knows the offset of each clock within a bound, and converts all times to its
//! own clock, relative to the agreed start instant. [`Merged`] sums the hosts' reports, one at a time or in a
//! tree; [`rows()`] compares them.

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
    /// The hosts, in the order of the command line.
    pub hosts: Vec<HostRunReport>,
    /// The time in which all hosts were running, if there was any.
    pub overlap: Option<Overlap>,
    /// Ownership of the files of jobs that run on several hosts.
    #[serde(default)]
    pub files: Vec<HostFiles>,
}

/// One host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRunReport {
    /// Name of the host as the user wrote it.
    pub name: String,
    /// Groups of hosts to which the host belongs.
    pub groups: Vec<String>,
    /// The host's own host name; empty until it has answered.
    pub host_name: String,
    /// Transport to the host: `ssh`, `tls`, `mpi`, ...
    pub transport: String,
    /// Its outcome.
    pub end: HostEnd,
    /// The host's clock compared with the controller's.
    pub clock: ClockReport,
    /// Time at which the host's jobs started, in ns after the agreed instant; negative before it. `None` if no
    /// job started.
    pub start_skew_ns: Option<i64>,
    /// Time at which the host's first job ended, in ms after the agreed instant.
    pub first_done_ms: Option<u64>,
    /// Time at which the host's last job ended, in ms after the agreed instant.
    pub last_done_ms: Option<u64>,
    /// The host's result, or its last snapshot if it was lost. The `hosts` of this report is always empty.
    pub report: Option<Box<RunReport>>,
    /// The host's figures, if they were dropped from its report to save space ([`Merged::shorten`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Box<HostDigest>>,
}

/// The outcome of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostEnd {
    /// The host delivered its result.
    #[default]
    Whole,
    /// The host could not start, and ran no jobs.
    NeverBegan {
        /// The reason.
        reason: String,
    },
    /// The host was lost during the run; its figures are from its last snapshot.
    Lost {
        /// The reason.
        reason: String,
        /// Time at which the last snapshot was taken, in ms after the agreed instant; `None` if there is none.
        snapshot_ms: Option<u64>,
    },
}

/// A host's clock compared with the controller's, measured by round trips.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReport {
    /// Offset before the run; `None` if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<ClockOffset>,
    /// After it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ClockOffset>,
    /// Step of the host's wall clock relative to its monotonic clock during the run, in ns.
    pub wall_clock_jump_ns: i64,
}

/// An estimated clock offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Monotonic clock of the host minus that of the controller, in ns.
    pub offset_ns: i64,
    /// Maximum difference of the true offset from this one, in ns.
    pub bound_ns: u64,
}

/// The time in which all hosts with jobs were running.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Start of the last host, in ms after the agreed instant.
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
    /// Returns the offset of the start of the host's jobs from the agreed instant in ns; 0 if unknown.
    pub fn skew_ns(&self) -> i64 {
        self.start_skew_ns.unwrap_or(0)
    }
}

impl ClockReport {
    /// Returns the bound on the error of the clock offset in ns; `None` if it was not measured.
    pub fn bound_ns(&self) -> Option<u64> {
        [self.before, self.after].into_iter().flatten().map(|offset| offset.bound_ns).max()
    }
}
