//! State of a running worker: plain data, small enough for frequent polling.

use super::stage::Stage;
use crate::unit::Operation;
use fathom_stats::PerDirection;
use fathom_sys::task::Task;
use serde::{Deserialize, Serialize};

/// A worker at one moment. All times are in ns by the supervisor's monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerState {
    /// Stage.
    pub stage: Stage,
    /// An error has ended its job.
    pub has_failed: bool,
    /// The error was a defect in fathom.
    #[serde(default)]
    pub is_broken: bool,
    /// The time at which the job's clock started (before the ramp); 0 before.
    pub begin_ns: u64,
    /// The time at which recording started (after delay and ramp); 0 before.
    pub start_ns: u64,
    /// The time at which the last I/O of the run completed; 0 before.
    pub end_ns: u64,
    /// The time at which it stops issuing; 0 for no limit.
    pub deadline_ns: u64,
    /// Total bytes that the job wants to move; 0 if unknown.
    pub goal_bytes: u64,
    /// Files open.
    pub open_files: u32,
    /// Number of times its figures were restarted: the difference between two states is only valid within one
    /// epoch.
    pub epoch: u64,
    /// Errors that did not end the job.
    pub tolerated_errors: u64,
    /// Progress by direction.
    pub directions: PerDirection<DirectionState>,
    /// Completed syncs.
    pub syncs: u64,
    /// The highest of these latencies.
    pub longest_sync_ns: u64,
    /// Reads that were checked.
    pub checked_reads: u64,
    /// I/Os of an open loop that were due but not started at its last check.
    pub waiting: u64,
}

/// One direction of a worker at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionState {
    /// Bytes moved by completed I/Os.
    pub bytes: u64,
    /// Completed I/Os.
    pub ios: u64,
    /// Recorded completion latencies.
    pub latencies: u64,
    /// Their sum.
    pub latency_sum_ns: u64,
    /// The longest of them.
    pub longest_latency_ns: u64,
}

impl WorkerState {
    /// Bytes moved by completed I/Os.
    pub fn bytes(&self) -> u64 {
        self.directions.values().map(|direction| direction.bytes).sum()
    }

    /// Number of completions of any kind; it changes as long as the worker makes progress.
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
    /// From its due time to its completion, in an open loop.
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
    /// Bytes of the whole I/O.
    pub length: u32,
    /// Time since it was started.
    pub age_ns: u64,
}

/// External signs of progress. Reading them costs a few reads of `/proc` and `/sys` on the worker's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignsOfLife {
    /// Its thread; `None` if the thread no longer exists.
    pub task: Option<Task>,
    /// Counters of the devices below its files.
    pub devices: u64,
    /// Progress of the log writer.
    pub logs: u64,
    /// True if I/O is in flight.
    pub in_flight: bool,
}
