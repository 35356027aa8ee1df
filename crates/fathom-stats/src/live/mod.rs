//! Data of the live status line: a snapshot of all workers, taken without stopping them.

mod merge;

use crate::{Histogram, PerDirection};
use serde::{Deserialize, Serialize};

/// State of a worker, shown as one letter of the status line (see [`RunState::letter`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// Its turn has not come yet.
    #[default]
    NotStarted,
    /// Created, waiting for the start gate.
    Created,
    /// Being set up, or laying out files.
    Initialising,
    /// Reading its files into the cache before the run.
    PreReading,
    /// Running, but not yet recording.
    Ramping,
    /// Reading; `sequential` selects the letter.
    Reading {
        /// Sequential rather than random.
        sequential: bool,
    },
    /// Running writes.
    Writing {
        /// Sequential rather than random.
        sequential: bool,
    },
    /// Reading and writing.
    Mixed {
        /// Sequential rather than random.
        sequential: bool,
    },
    /// Running trims.
    Trimming {
        /// Sequential rather than random.
        sequential: bool,
    },
    /// Verifying its writes.
    Verifying,
    /// In its final fsync.
    FinalSync,
    /// Closing files and delivering its result.
    Finishing,
    /// Ended, not yet reaped.
    Exited,
    /// Ended and reaped.
    Reaped,
    /// Ended with an error.
    Failed,
    /// Killed by a signal.
    Killed,
}

impl RunState {
    /// True for workers between start and end.
    pub fn is_under_way(self) -> bool {
        !matches!(
            self,
            RunState::NotStarted | RunState::Exited | RunState::Reaped | RunState::Failed | RunState::Killed
        )
    }

    /// The letter of the status line.
    pub fn letter(self) -> char {
        match self {
            RunState::NotStarted => 'P',
            RunState::Created => 'C',
            RunState::Initialising => 'I',
            RunState::PreReading => 'p',
            RunState::Ramping => '/',
            RunState::Reading { sequential: true } => 'R',
            RunState::Reading { sequential: false } => 'r',
            RunState::Writing { sequential: true } => 'W',
            RunState::Writing { sequential: false } => 'w',
            RunState::Mixed { sequential: true } => 'M',
            RunState::Mixed { sequential: false } => 'm',
            RunState::Trimming { sequential: true } => 'D',
            RunState::Trimming { sequential: false } => 'd',
            RunState::Verifying => 'V',
            RunState::FinalSync => 'F',
            RunState::Finishing => 'f',
            RunState::Exited => 'E',
            RunState::Reaped => '_',
            RunState::Failed => 'X',
            RunState::Killed => 'K',
        }
    }
}

/// One instant of a run, summed over all workers. Directions are indexed read, write, trim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveTick {
    /// Workers that are running (from created to finishing).
    pub running: u32,
    /// Number of their open files.
    pub open_files: u32,
    /// Sum of the rate limits of the running workers, bytes/s; 0 if none is set.
    pub rate_limit_bytes: u64,
    /// Sum of their `rate_min`, bytes/s.
    pub rate_min_bytes: u64,
    /// Sum of the `rate_iops` limits; 0 if none is set.
    pub rate_limit_iops: u64,
    /// Sum of their `rate_iops_min`.
    pub rate_min_iops: u64,
    /// The state of every worker of the run, in definition order.
    pub states: Vec<RunState>,
    /// Bytes per second since the previous tick.
    pub bytes_per_second: PerDirection<u64>,
    /// I/Os per second since the previous tick.
    pub iops: PerDirection<u64>,
    /// Percentage done; `None` while unknown.
    pub percent_done: Option<f64>,
    /// Remaining seconds; `None` while unknown.
    pub eta_seconds: Option<u64>,
    /// True once an estimate is known (the third second of a run).
    pub estimate_known: bool,
    /// kb_base of the run (1024 or 1000).
    pub kb_base: u32,
    /// 8 for bytes, 1 for bits.
    pub unit_base: u32,
}

/// Data for a full-screen view, in addition to the [`LiveTick`] of the same instant. It is more expensive, so
/// it is collected only on request. Figures per second are since the previous tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveDetails {
    /// Nanoseconds since the run began.
    pub elapsed_ns: u64,
    /// Nanoseconds since the previous tick.
    pub interval_ns: u64,
    /// Completion latencies of all workers since the previous tick; `None` if there was no I/O or latencies are
    /// not recorded.
    pub latency: Option<LivePercentiles>,
    /// The same latencies as a histogram, for merging hosts.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub histogram: Histogram,
    /// The jobs, in definition order; the clones of a job are one entry.
    pub jobs: Vec<LiveJob>,
    /// The block devices under the files, each followed by its members.
    pub disks: Vec<LiveDisk>,
    /// The hosts of a multi-host run; everything above is their sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<LiveHost>,
}

fn is_empty(histogram: &Histogram) -> bool {
    histogram.count() == 0
}

impl LiveDetails {
    /// I/Os that are due and wait for a slot, over all open-loop jobs; `None` without such a job.
    pub fn waiting(&self) -> Option<u64> {
        self.jobs.iter().filter_map(|job| job.waiting).reduce(|all, waiting| all + waiting)
    }

    /// I/Os in flight, and the total queue depth of the jobs that are doing I/O.
    pub fn depth(&self) -> (u64, u64) {
        let add = |(now, asked): (u64, u64), job: &LiveJob| (now + job.in_flight, asked + job.asked_depth);
        self.jobs.iter().fold((0, 0), add)
    }
}

/// Percentiles of the completion latencies of an interval, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivePercentiles {
    /// Half of the I/Os took no longer.
    pub p50_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// 999 of 1000 took no longer.
    pub p99_9_ns: u64,
}

impl LivePercentiles {
    /// `None` for an empty histogram.
    pub fn of(histogram: &Histogram) -> Option<LivePercentiles> {
        match histogram.percentiles(&[50.0, 99.0, 99.9])[..] {
            [p50_ns, p99_ns, p99_9_ns] => Some(LivePercentiles { p50_ns, p99_ns, p99_9_ns }),
            _ => None,
        }
    }
}

/// One job in a [`LiveDetails`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveJob {
    /// Its name.
    pub name: String,
    /// The state of each clone.
    pub states: Vec<RunState>,
    /// Bytes per second: read, write, trim.
    pub bytes_per_second: PerDirection<u64>,
    /// I/Os per second: read, write, trim.
    pub iops: PerDirection<u64>,
    /// Completion latencies of its clones since the previous tick.
    pub latency: Option<LivePercentiles>,
    /// The same latencies as a histogram.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub histogram: Histogram,
    /// I/Os in flight.
    pub in_flight: u64,
    /// Requested queue depth of the clones that are doing I/O.
    pub asked_depth: u64,
    /// Number of errors so far: tolerated ones, plus one per failed clone.
    pub errors: u64,
    /// I/Os that are due and wait for a slot; `None` unless the loop is open. Latencies are then response
    /// times.
    #[serde(default)]
    pub waiting: Option<u64>,
}

/// One host in a [`LiveDetails`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveHost {
    /// As the user wrote it.
    pub name: String,
    /// Its state, in a word or two: `running`, `done`, `lost`.
    pub state: String,
    /// Bytes per second: read, write, trim.
    pub bytes_per_second: PerDirection<u64>,
    /// I/Os per second: read, write, trim.
    pub iops: PerDirection<u64>,
    /// Completion latencies of its workers since the previous tick.
    pub latency: Option<LivePercentiles>,
    /// I/Os in flight.
    pub in_flight: u64,
    /// Errors so far.
    pub errors: u64,
    /// Time since its last message, ms.
    pub silent_ms: u64,
}

/// One block device in a [`LiveDetails`], from the kernel's counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveDisk {
    /// Its name, for example `nvme0n1`.
    pub name: String,
    /// True if it is part of the device above it in the list.
    pub is_member: bool,
    /// Share of time with I/O in flight, percent.
    pub util_percent: f64,
    /// I/Os per second: read, write.
    pub iops: [u64; 2],
    /// Bytes per second: read, write.
    pub bytes_per_second: [u64; 2],
}
