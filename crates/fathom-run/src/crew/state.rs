//! State of a running worker: plain data, small enough for frequent polling.

use super::stage::Stage;
use crate::unit::Operation;
use fathom_stats::PerDirection;
use fathom_sys::task::Task;
use serde::{Deserialize, Serialize};

/// A worker at one moment. All times are nanoseconds of the supervisor's monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerState {
    /// Stage.
    pub stage: Stage,
    /// True if an error has ended the worker's job.
    pub has_failed: bool,
    /// True if that error was a defect in fathom.
    #[serde(default)]
    pub is_broken: bool,
    /// The time at which the job's clock started (before the ramp); 0 until then.
    pub begin_ns: u64,
    /// The time at which recording started (after delay and ramp); 0 until then.
    pub start_ns: u64,
    /// The time at which the last I/O of the run completed; 0 until then.
    pub end_ns: u64,
    /// The time at which the worker stops issuing; 0 without a limit.
    pub deadline_ns: u64,
    /// Total bytes that the job wants to move; 0 if unknown.
    pub goal_bytes: u64,
    /// Number of open files.
    pub open_files: u32,
    /// Number of times that the figures were reset. The difference between two states is valid only if both
    /// have the same epoch.
    pub epoch: u64,
    /// Errors that did not end the job.
    pub tolerated_errors: u64,
    /// Progress by direction.
    pub directions: PerDirection<DirectionState>,
    /// Completed syncs.
    pub syncs: u64,
    /// The longest sync latency.
    pub longest_sync_ns: u64,
    /// Number of reads that were verified.
    pub checked_reads: u64,
    /// I/Os of an open loop that were overdue at the worker's last check.
    pub waiting: u64,
}

/// One direction of a worker at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionState {
    /// Bytes moved by completed I/Os.
    pub bytes: u64,
    /// Completed I/Os.
    pub ios: u64,
    /// Number of recorded completion latencies.
    pub latencies: u64,
    /// Sum of the recorded completion latencies.
    pub latency_sum_ns: u64,
    /// The longest recorded completion latency.
    pub longest_latency_ns: u64,
}

impl WorkerState {
    /// Bytes moved by completed I/Os.
    pub fn bytes(&self) -> u64 {
        self.directions.values().map(|direction| direction.bytes).sum()
    }

    /// Number of completions of any kind; it grows as long as the worker makes progress.
    pub fn ended(&self) -> u64 {
        self.directions.values().map(|direction| direction.ios).sum::<u64>() + self.syncs + self.checked_reads
    }

    /// The longest latency of any operation so far.
    pub fn longest_latency_ns(&self) -> u64 {
        let latencies = self.directions.values().map(|direction| direction.longest_latency_ns);
        latencies.fold(self.longest_sync_ns, u64::max)
    }
}

/// Kind of latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatencyKind {
    /// From submission to completion.
    Completion,
    /// From the start of the I/O to its completion.
    Total,
    /// From the scheduled time to completion, in an open loop.
    Response,
}

/// An I/O that a worker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// The operation.
    pub operation: Operation,
    /// Index of the file among the worker's files.
    pub file: u32,
    /// First byte in the file.
    pub offset: u64,
    /// Length of the whole I/O in bytes.
    pub length: u32,
    /// Time since the I/O was started.
    pub age_ns: u64,
}

/// External signs of progress. Reading them costs a few reads of `/proc` and `/sys` on the worker's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignsOfLife {
    /// The worker's thread; `None` if it no longer exists.
    pub task: Option<Task>,
    /// Counters of the devices below the worker's files.
    pub devices: u64,
    /// Progress of the log writer.
    pub logs: u64,
    /// True if the worker has I/O in flight.
    pub in_flight: bool,
}
