//! One host's figures, condensed.

use crate::Direction;
use crate::per_direction::PerDirection;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A host's figures over all its jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRow {
    /// Read, write, trim.
    pub directions: PerDirection<HostFigures>,
    /// Number of errors: tolerated ones, plus one per failed job entry.
    pub errors: u64,
    /// In what respect it is slower than the others.
    pub straggling: Vec<Straggling>,
}

/// One direction of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFigures {
    /// I/Os that ended.
    pub total_ios: u64,
    /// Bytes per second while it had jobs of this direction.
    pub bytes_per_second: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Completion latencies (total latencies if only these are recorded); `None` without a histogram.
    pub percentiles: Option<HostPercentiles>,
    /// The maximum, ns; `None` without values.
    pub max_ns: Option<u64>,
}

/// Percentiles of latencies, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPercentiles {
    /// Median.
    pub p50_ns: u64,
    /// 99 of 100 I/Os took no longer.
    pub p99_ns: u64,
    /// 999 of 1000 I/Os took no longer.
    pub p99_9_ns: u64,
}

/// How a host is slower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Straggling {
    /// Direction of the I/Os.
    pub direction: Direction,
    /// The worse figure.
    pub figure: StragglingFigure,
    /// The host's value: bytes per second, or ns.
    pub value: f64,
    /// The median of the hosts with the same jobs.
    pub median: f64,
}

/// The figure that makes a host a straggler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StragglingFigure {
    /// Bandwidth, or I/Os per second if no data is moved.
    Rate,
    /// 99th percentile of the latencies.
    P99,
}

impl StragglingFigure {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            StragglingFigure::Rate => "rate",
            StragglingFigure::P99 => "p99",
        }
    }
}

impl fmt::Display for Straggling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = self.direction.word();
        let share = self.value / self.median.max(f64::MIN_POSITIVE);
        match self.figure {
            StragglingFigure::Rate => {
                write!(formatter, "{direction} rate {:.0}% below the median", 100.0 * (1.0 - share))
            }
            StragglingFigure::P99 if share < 2.0 => {
                write!(formatter, "{direction} p99 {:.0}% above the median", 100.0 * (share - 1.0))
            }
            StragglingFigure::P99 => write!(formatter, "{direction} p99 {share:.1} times the median"),
        }
    }
}
