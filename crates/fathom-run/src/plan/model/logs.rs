//! The logs of a worker.

use fathom_logs::LogRules;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The logs of one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogPlan {
    /// Kinds and format of the logs.
    pub rules: LogRules,
    /// One file per entry of `rules.kinds`.
    pub paths: Vec<PathBuf>,
    /// True if all clones append to the same files.
    pub shared_files: bool,
    /// Number of records by which the worker may be ahead of the log writer; `None` for a share of the default
    /// memory.
    pub ring_records: Option<usize>,
    /// Processors for the thread that writes these logs.
    pub cpus: Option<Vec<u32>>,
    /// Clock (`CLOCK_*`) whose reading at the start is added to all times.
    pub epoch_clock: Option<i32>,
    /// The kernel's `ioprio` value of the job's I/O.
    pub priority: u16,
}
