//! The protocol between a program and the process of its run: one line of JSON per message. The program sends
//! the plan and keeps the pipe open; closing it asks the run to end early.

use fathom_run::plan::Plan;
use fathom_stats::live::LiveTick;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The argument that makes this program the process of a run.
pub(crate) const ARGUMENT: &str = "--become-the-run-of-a-fathom-library";

/// The single line sent to the run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) plan: Plan,
    /// Interval between progress reports.
    pub(crate) progress_every: Option<Duration>,
}

/// Lines sent by the run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    Message(String),
    Progress(Progress),
    /// The last line of a run; `document` is its result as JSON.
    Ended {
        document: String,
        failed_jobs: u32,
        is_stopped: bool,
    },
    /// The last line of a run that could not start.
    NotStarted(String),
    /// The last line after a bug.
    Defect(String),
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// Time since the start of the run.
    pub elapsed: Duration,
    /// Completed share in percent; `None` while unknown.
    pub percent: Option<f64>,
    /// Remaining time in whole seconds; `None` while unknown.
    pub remaining: Option<Duration>,
    /// Number of running job clones.
    pub running: u32,
    /// Reads since the previous report.
    pub read: Rates,
    /// Writes.
    pub write: Rates,
    /// Trims.
    pub trim: Rates,
}

/// Rates of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Rates {
    /// I/Os per second.
    pub iops: u64,
    /// Bytes per second.
    pub bytes_per_second: u64,
}

impl Progress {
    pub(crate) fn of(tick: &LiveTick, elapsed: Duration) -> Progress {
        let [read, write, trim] = tick.iops.into_array().map(|iops| Rates { iops, bytes_per_second: 0 });
        let [read_bytes, write_bytes, trim_bytes] = tick.bytes_per_second.into_array();
        Progress {
            elapsed,
            percent: tick.percent_done,
            remaining: tick.eta_seconds.map(Duration::from_secs),
            running: tick.running,
            read: Rates { bytes_per_second: read_bytes, ..read },
            write: Rates { bytes_per_second: write_bytes, ..write },
            trim: Rates { bytes_per_second: trim_bytes, ..trim },
        }
    }
}
