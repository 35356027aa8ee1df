//! What can be seen of a worker while it runs: plain data, small enough to be asked for at every look.

use super::stage::Stage;
use crate::unit::Operation;
use fathom_stats::PerDirection;
use fathom_sys::task::Task;
use serde::{Deserialize, Serialize};

/// A worker at one moment. All times are those of the supervisor's monotonic clock, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerState {
    /// Where it is.
    pub stage: Stage,
    /// An error has ended its job.
    pub has_failed: bool,
    /// What ended it was a defect of fathom.
    #[serde(default)]
    pub is_broken: bool,
    /// When the job's clock started (before the ramp); 0 before.
    pub begin_ns: u64,
    /// When recording started (after delay and ramp); 0 before.
    pub start_ns: u64,
    /// When the last I/O of the run had ended; 0 before.
    pub end_ns: u64,
    /// When it will stop issuing; 0 for no limit.
    pub deadline_ns: u64,
    /// Bytes that the job wants to move in all; 0 when unknown.
    pub goal_bytes: u64,
    /// Files open.
    pub open_files: u32,
    /// Counts how often it began its figures anew, so that differences of two states notice.
    pub epoch: u64,
    /// Errors that the job went on after.
    pub tolerated_errors: u64,
    /// What it has done, by direction.
    pub directions: PerDirection<DirectionState>,
    /// Syncs that have ended.
    pub syncs: u64,
    /// The longest of them.
    pub longest_sync_ns: u64,
    /// Reads that were checked.
    pub checked_reads: u64,
    /// I/Os that were due and had not been started when it last looked, in an open loop.
    pub waiting: u64,
}

/// One direction of a worker at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionState {
    /// Bytes moved by I/Os that have ended.
    pub bytes: u64,
    /// I/Os that have ended.
    pub ios: u64,
    /// Completion latencies that were recorded.
    pub latencies: u64,
    /// Their sum.
    pub latency_sum_ns: u64,
    /// The longest of them.
    pub longest_latency_ns: u64,
}

impl WorkerState {
    /// Bytes moved by I/Os that have ended.
    pub fn bytes(&self) -> u64 {
        self.directions.values().map(|direction| direction.bytes).sum()
    }

    /// What has ended so far, of any kind: it changes for as long as the worker gets on.
    pub fn ended(&self) -> u64 {
        self.directions.values().map(|direction| direction.ios).sum::<u64>() + self.syncs + self.checked_reads
    }

    /// The longest that anything of the worker has taken so far.
    pub fn longest_latency_ns(&self) -> u64 {
        let latencies = self.directions.values().map(|direction| direction.longest_latency_ns);
        latencies.fold(self.longest_sync_ns, u64::max)
    }
}

/// Which latency of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatencyKind {
    /// From its issue to its completion.
    Completion,
    /// From its start to its completion.
    Total,
    /// From when it was due to its completion, in an open loop.
    Response,
}

/// An I/O that a worker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// What it does.
    pub operation: Operation,
    /// Index of its file among those of the worker.
    pub file: u32,
    /// First byte in the file.
    pub offset: u64,
    /// Bytes of the whole I/O.
    pub length: u32,
    /// How long ago it was started.
    pub age_ns: u64,
}

/// What tells from outside whether a worker gets on. Asking costs a few reads of `/proc` and `/sys` on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignsOfLife {
    /// Its thread; `None` when that is gone.
    pub task: Option<Task>,
    /// What the devices below its files have done since they are there.
    pub devices: u64,
    /// What the log writer has done.
    pub logs: u64,
    /// It has I/O in flight.
    pub in_flight: bool,
}
