//! Which logs a job keeps, and how.

use crate::entry::Columns;
use serde::{Deserialize, Serialize};

/// What a log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogKind {
    /// KiB/s.
    Bandwidth,
    /// I/Os per second.
    Iops,
    /// Submission latency in ns.
    SubmissionLatency,
    /// Completion latency in ns.
    CompletionLatency,
    /// Total latency in ns.
    Latency,
    /// Response time in ns, of I/Os that were due by a schedule.
    Response,
    /// Histograms of completion latency.
    Histogram,
}

impl LogKind {
    /// The word in a log's file name.
    pub fn word(self) -> &'static str {
        match self {
            LogKind::Bandwidth => "bw",
            LogKind::Iops => "iops",
            LogKind::SubmissionLatency => "slat",
            LogKind::CompletionLatency => "clat",
            LogKind::Latency => "lat",
            LogKind::Response => "resp",
            LogKind::Histogram => "clat_hist",
        }
    }
}

/// What the line of an averaged window says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowValue {
    /// The mean.
    #[default]
    Mean,
    /// The largest value.
    Maximum,
    /// Mean, then largest.
    Both,
}

/// How the logs of one job are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRules {
    /// The logs.
    pub kinds: Vec<LogKind>,
    /// Width of an averaging window in ns; 0 logs every I/O.
    pub window_ns: u64,
    /// What a window's line says.
    pub window_value: WindowValue,
    /// Width of a histogram's window in ns; 0 makes one histogram of the whole run.
    pub histogram_window_ns: u64,
    /// How often the number of histogram bins is halved.
    pub coarseness: u32,
    /// More columns.
    pub columns: Columns,
    /// Directions that the job moves data in: read, write, trim. Windows without I/O appear for these.
    pub directions: [bool; 3],
    /// Run time in ns that the job was given; 0 for none.
    pub runtime_ns: u64,
    /// Bytes of records per compressed chunk; `None` writes text.
    pub compressed_chunk: Option<usize>,
}
