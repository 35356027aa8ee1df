//! A job's log settings.

use crate::entry::Columns;
use serde::{Deserialize, Serialize};

/// Content of a log.
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
    /// Response time in ns, of scheduled I/Os.
    Response,
    /// Histograms of completion latency.
    Histogram,
}

impl LogKind {
    /// Word in the file name of a log.
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

/// Value of an averaged window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowValue {
    /// The mean.
    #[default]
    Mean,
    /// The maximum.
    Maximum,
    /// The mean, then the maximum.
    Both,
}

/// Log settings of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRules {
    /// The logs.
    pub kinds: Vec<LogKind>,
    /// Width of an averaging window in ns; 0 to log every I/O.
    pub window_ns: u64,
    /// Value of a window's line.
    pub window_value: WindowValue,
    /// Width of a histogram's window in ns; 0 for one histogram of the whole run.
    pub histogram_window_ns: u64,
    /// Number of times that the number of histogram bins is halved.
    pub coarseness: u32,
    /// Optional columns.
    pub columns: Columns,
    /// The job's data directions: read, write, trim. Windows without I/O are logged for these.
    pub directions: [bool; 3],
    /// Configured run time in ns; 0 for none.
    pub runtime_ns: u64,
    /// Bytes of records per compressed chunk; `None` writes text.
    pub compressed_chunk: Option<usize>,
}
