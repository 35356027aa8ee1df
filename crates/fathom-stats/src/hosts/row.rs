//! The figures of one host in a row.

use crate::Direction;
use crate::per_direction::PerDirection;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A host's figures, summed over all its jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRow {
    /// Figures by direction: read, write, trim.
    pub directions: PerDirection<HostFigures>,
    /// Number of errors: tolerated errors, plus one per failed job entry.
    pub errors: u64,
    /// Figures in which the host is slower than the others.
    pub straggling: Vec<Straggling>,
}

/// One direction of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFigures {
    /// I/Os that ended.
    pub total_ios: u64,
    /// Bytes per second while the host had jobs of this direction.
    pub bytes_per_second: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Percentiles of completion latencies (of total latencies if only these are recorded); `None` without a
    /// histogram.
    pub percentiles: Option<HostPercentiles>,
    /// Maximum in ns; `None` without values.
    pub max_ns: Option<u64>,
}

/// Percentiles of latencies in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPercentiles {
    /// Median.
    pub p50_ns: u64,
    /// 99 of 100 I/Os took at most this time.
    pub p99_ns: u64,
    /// 999 of 1000 I/Os took at most this time.
    pub p99_9_ns: u64,
}

/// A figure in which a host is slower than the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Straggling {
    /// Direction of the I/Os.
    pub direction: Direction,
    /// The figure that is worse.
    pub figure: StragglingFigure,
    /// The host's value, in bytes per second or ns.
    pub value: f64,
    /// Median of the hosts with the same jobs.
    pub median: f64,
}

/// The figure that makes a host a straggler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StragglingFigure {
    /// Bandwidth, or I/Os per second if no data is transferred.
    Rate,
    /// 99th percentile of the latencies.
    P99,
}

impl StragglingFigure {
    /// Returns the word in JSON.
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
