//! Data of the live status line: a snapshot of all workers, taken without stopping them.

mod merge;

use crate::{Histogram, PerDirection};
use serde::{Deserialize, Serialize};

/// State of a worker, shown as one letter of the status line (see [`RunState::letter`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// The worker has not been started yet.
    #[default]
    NotStarted,
    /// The worker has been created and waits for the start gate.
    Created,
    /// The worker is being set up, or lays out files.
    Initialising,
    /// The worker reads its files into the cache before the run.
    PreReading,
    /// The worker runs, but does not record yet.
    Ramping,
    /// The worker reads; `sequential` selects the letter.
    Reading {
        /// True if offsets are sequential rather than random.
        sequential: bool,
    },
    /// Running writes.
    Writing {
        /// True if offsets are sequential rather than random.
        sequential: bool,
    },
    /// The worker reads and writes.
    Mixed {
        /// True if offsets are sequential rather than random.
        sequential: bool,
    },
    /// Running trims.
    Trimming {
        /// True if offsets are sequential rather than random.
        sequential: bool,
    },
    /// The worker verifies its writes.
    Verifying,
    /// The worker is in its final fsync.
    FinalSync,
    /// The worker closes files and delivers its result.
    Finishing,
    /// The worker has ended but has not been reaped.
    Exited,
    /// The worker has ended and has been reaped.
    Reaped,
    /// The worker has ended with an error.
    Failed,
    /// A signal killed the worker.
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

    /// Returns the letter of the status line.
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

/// An instant of a run, summed over all workers. Arrays over directions have the order read, write, trim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveTick {
    /// Number of workers that are running (from created to finishing).
    pub running: u32,
    /// Number of open files of these workers.
    pub open_files: u32,
    /// Sum of the rate limits of the running workers in bytes/s; 0 if none is set.
    pub rate_limit_bytes: u64,
    /// Sum of their `rate_min` in bytes/s.
    pub rate_min_bytes: u64,
    /// Sum of their `rate_iops` limits; 0 if none is set.
    pub rate_limit_iops: u64,
    /// Sum of their `rate_iops_min`.
    pub rate_min_iops: u64,
    /// State of every worker of the run, in the order of definition.
    pub states: Vec<RunState>,
    /// Bytes per second since the previous tick.
    pub bytes_per_second: PerDirection<u64>,
    /// I/Os per second since the previous tick.
    pub iops: PerDirection<u64>,
    /// Percentage done; `None` if unknown.
    pub percent_done: Option<f64>,
    /// Remaining seconds; `None` if unknown.
    pub eta_seconds: Option<u64>,
    /// True once an estimate is known, from the third second of a run on.
    pub estimate_known: bool,
    /// kb_base of the run: 1024 or 1000.
    pub kb_base: u32,
    /// Unit of rates: 8 for bytes, 1 for bits.
    pub unit_base: u32,
}

/// Data for a full-screen view, in addition to the [`LiveTick`] of the same instant. It takes more time to
/// collect, so it is collected only on request. Figures per second refer to the time since the previous tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveDetails {
    /// Nanoseconds since the run began.
    pub elapsed_ns: u64,
    /// Nanoseconds since the previous tick.
    pub interval_ns: u64,
    /// Completion latencies of all workers since the previous tick; `None` if no I/O completed or latencies are
    /// not recorded.
    pub latency: Option<LivePercentiles>,
    /// The same latencies as a histogram, for merging hosts.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub histogram: Histogram,
    /// The jobs in the order of definition, with one entry for all clones of a job.
    pub jobs: Vec<LiveJob>,
    /// The block devices under the files; the members of a device follow it.
    pub disks: Vec<LiveDisk>,
    /// The hosts of a multi-host run; the fields above are their sums.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<LiveHost>,
}

fn is_empty(histogram: &Histogram) -> bool {
    histogram.count() == 0
}

impl LiveDetails {
    /// Returns the number of I/Os that are due and wait for a slot, over all open-loop jobs; `None` without
    /// such a job.
    pub fn waiting(&self) -> Option<u64> {
        self.jobs.iter().filter_map(|job| job.waiting).reduce(|all, waiting| all + waiting)
    }

    /// Returns the number of I/Os in flight, and the total queue depth of the jobs that are doing I/O.
    pub fn depth(&self) -> (u64, u64) {
        let add = |(now, asked): (u64, u64), job: &LiveJob| (now + job.in_flight, asked + job.asked_depth);
        self.jobs.iter().fold((0, 0), add)
    }
}

/// Percentiles of the completion latencies of an interval, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivePercentiles {
    /// Half of the I/Os took at most this time.
    pub p50_ns: u64,
    /// 99 of 100 I/Os took at most this time.
    pub p99_ns: u64,
    /// 999 of 1000 I/Os took at most this time.
    pub p99_9_ns: u64,
}

impl LivePercentiles {
    /// Computes the percentiles of a histogram; `None` if it is empty.
    pub fn of(histogram: &Histogram) -> Option<LivePercentiles> {
        match histogram.percentiles(&[50.0, 99.0, 99.9])[..] {
            [p50_ns, p99_ns, p99_9_ns] => Some(LivePercentiles { p50_ns, p99_ns, p99_9_ns }),
            _ => None,
        }
    }
}

/// A job in a [`LiveDetails`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveJob {
    /// Its name.
    pub name: String,
    /// The state of each clone.
    pub states: Vec<RunState>,
    /// Bytes per second for reads, writes and trims.
    pub bytes_per_second: PerDirection<u64>,
    /// I/Os per second for reads, writes and trims.
    pub iops: PerDirection<u64>,
    /// Completion latencies of all clones since the previous tick.
    pub latency: Option<LivePercentiles>,
    /// The same latencies as a histogram.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub histogram: Histogram,
    /// I/Os in flight.
    pub in_flight: u64,
    /// Requested queue depth of the clones that are doing I/O.
    pub asked_depth: u64,
    /// Number of errors so far: tolerated errors, plus one per failed clone.
    pub errors: u64,
    /// Number of I/Os that are due and wait for a slot; `None` unless the loop is open, in which case latencies
    /// are response times.
    #[serde(default)]
    pub waiting: Option<u64>,
    /// Time in ns that the I/Os of the last interval spent in each layer, in the order of
    /// [`Layer::ALL`](crate::layers::Layer::ALL), with `--layers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<[u64; 4]>,
}

/// A host in a [`LiveDetails`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveHost {
    /// Name of the host as the user wrote it.
    pub name: String,
    /// State of the host in a word or two: `running`, `done`, `lost`.
    pub state: String,
    /// Bytes per second for reads, writes and trims.
    pub bytes_per_second: PerDirection<u64>,
    /// I/Os per second for reads, writes and trims.
    pub iops: PerDirection<u64>,
    /// Completion latencies of the host's workers since the previous tick.
    pub latency: Option<LivePercentiles>,
    /// I/Os in flight.
    pub in_flight: u64,
    /// Number of errors so far.
    pub errors: u64,
    /// Time in ms since the host's last message.
    pub silent_ms: u64,
}

/// A block device in a [`LiveDetails`], from the kernel's counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveDisk {
    /// Name of the device, for example `nvme0n1`.
    pub name: String,
    /// True if the device is a member of a device above it in the list.
    pub is_member: bool,
    /// Share of the time with I/O in flight, in percent.
    pub util_percent: f64,
    /// I/Os per second for reads and writes.
    pub iops: [u64; 2],
    /// Bytes per second for reads and writes.
    pub bytes_per_second: [u64; 2],
}
