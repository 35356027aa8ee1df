//! The crew: all workers of a run, and what the supervisor asks of them.
//!
//! The supervisor decides which worker starts when, which has to stop, what is stuck and what the report
//! contains. A crew does the rest: it starts workers, passes orders on, reports what has happened, and shows
//! what the workers count. It returns plain, owned data, so the supervisor need not know where the workers
//! are. [`LocalCrew`] runs them on this machine, in processes that share memory with the caller; workers on
//! other machines need another implementation.
//!
//! There are four traits: [`Crew`] is about the workers, [`LogKeeper`] about the logs that are written with
//! them, [`LayerKeeper`] about where their time goes, and [`Machine`] about the machine they run on. Logs and devices are on the workers' host, so a remote
//! crew reports those of its host.
//!
//! All data that passes through these traits can be serialised.
//!
//! Workers are known by their index in the plan. Frequent polling is cheap: [`Crew::state`] copies a few words.
//! Histograms and other data for a report are copied only on request.

mod figures;
mod local;
mod stage;
mod state;

pub(crate) use figures::job_start_ms;
pub use figures::{CheckFigures, Figures, SurroundingFigures};
pub use local::LocalCrew;
pub(crate) use local::backing_file;
pub use stage::{Order, Stage};
pub use state::{DirectionState, InFlight, LatencyKind, SignsOfLife, WorkerState};

use crate::message::Envelope;
use fathom_stats::Direction;
use fathom_stats::Histogram;
use fathom_stats::facts::RunFacts;
use fathom_stats::host::HostReport;
use fathom_stats::layers::LayerRun;
use fathom_stats::live::LiveDisk;
use fathom_stats::mounts::MountReport;
use fathom_stats::report::{CpuReport, DiskReport, IdlenessReport};
use fathom_sys::Errno;
use fathom_sys::process::Ended;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The workers of a run.
pub trait Crew: LogKeeper + LayerKeeper + Machine {
    /// Starts the process that examines and lays out the files of these workers, one after the other.
    /// [`Event::LayoutEnded`] reports its end, even if workers were told to stop. Returns its process ID.
    fn lay_out(&mut self, workers: &[usize]) -> Result<u32, Refusal>;

    /// Kills the layout process.
    fn end_layout(&mut self);

    /// Starts these workers together. They set themselves up, report [`Stage::Ready`], and wait for
    /// [`Order::Go`].
    fn start(&mut self, workers: &[usize]) -> Vec<Start>;

    /// Gives an order to a worker. An order given before the worker starts takes effect when it starts.
    fn order(&mut self, worker: usize, order: Order);

    /// Ends a worker's job with an external error, unless it has failed already. Workers that share files with
    /// it are notified.
    fn fail(&mut self, worker: usize, errno: Errno, text: &str);

    /// Releases a worker that has ended or never will: the supervisor no longer waits for it. A process is
    /// killed once all of its workers are stuck.
    fn release(&mut self, worker: usize, is_stuck: bool);

    /// Descriptors to poll: they become readable when [`poll`](Crew::poll) has an event. Ends of processes on
    /// this machine also raise `SIGCHLD`.
    fn descriptors(&self) -> Vec<RawFd>;

    /// Events since the last call, in order; does not block. Messages of a worker are reported before its end.
    /// Every crew reaps all ended children of this process, including those that it did not start.
    fn poll(&mut self) -> Vec<Event>;

    /// The current state of a worker.
    fn state(&self, worker: usize) -> WorkerState;

    /// Latencies that a worker has recorded in one direction.
    fn latencies(&self, worker: usize, direction: Direction, kind: LatencyKind) -> Histogram;

    /// I/Os that a worker has in flight.
    fn in_flight(&self, worker: usize) -> Vec<InFlight>;

    /// Bytes that a worker is waiting for: those in flight and, during its final sync, written data that may
    /// still be in memory.
    fn awaited_bytes(&self, worker: usize) -> u64;

    /// External signs of progress of a worker.
    fn signs_of_life(&mut self, worker: usize) -> SignsOfLife;

    /// All counters of a worker.
    fn figures(&self, worker: usize) -> Figures;
}

/// The logs of a run, written while it runs.
pub trait LogKeeper {
    /// Opens all log files and begins to write them; does nothing in a run without logs. For a named pipe
    /// without a reader, `keep_waiting` decides.
    fn open_logs(&mut self, keep_waiting: &mut dyn FnMut(&Path) -> bool) -> Result<(), LogError>;

    /// State of the log writer.
    fn log_state(&self) -> LogState;

    /// Completes the logs after the last worker has added its records.
    fn finish_logs(&mut self);

    /// Stops the log writer; returns how its process ended.
    fn give_up_logs(&mut self) -> Ended;

    /// Losses in the logs, and what logging cost the workers.
    fn log_losses(&self) -> LogLosses;
}

/// The layers of the I/Os of a run (`--layers`), recorded while it runs. The defaults are those of a run without.
pub trait LayerKeeper {
    /// Begins to record. An error says why that is impossible, and what to do.
    fn begin_layers(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Records the devices of all workers that are ready. Called before workers start.
    fn watch_layers(&mut self) {}

    /// Counts what is left after the last worker has ended.
    fn finish_layers(&mut self) {}

    /// Time in ns that a worker's I/Os have spent in each layer so far; `None` without recording.
    fn layer_sums(&self, _worker: usize) -> Option<[u64; 4]> {
        None
    }

    /// What recording cost and lost; `None` without recording. The layers themselves are among the figures.
    fn layers(&self) -> Option<LayerRun> {
        None
    }
}

/// Why idleness is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdlenessError {
    /// A limit on processes or threads was reached.
    #[error("{}; {advice}", Errno(libc::EAGAIN))]
    NoProcesses {
        /// The advice.
        advice: String,
    },
    /// Another error of the system.
    #[error("{0}")]
    System(#[from] Errno),
}

/// The machine of the workers.
pub trait Machine {
    /// Creates the control groups of all jobs; returns those that failed.
    fn make_control_groups(&mut self) -> Vec<GroupFailure>;

    /// Removes the created control groups; returns the names of those that are still in use.
    fn remove_control_groups(&mut self) -> Vec<String>;

    /// Begins to measure how idle the processors are. Blocks during calibration, until `interrupted` returns
    /// true.
    fn measure_idleness(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<(), IdlenessError>;

    /// Idleness of the processors; `None` if it is not measured.
    fn idleness(&self, of_each_processor: bool) -> Option<IdlenessReport>;

    /// Starts counting the I/O of the block devices below a worker's files, and the traffic of network and
    /// user-space file systems. Call it once the worker is ready, because its files are known only then.
    fn watch_disks(&mut self, worker: usize);

    /// Device counters since the start of the observation.
    fn disks(&self) -> Vec<DiskReport>;

    /// Counters of the finished stage, for the devices that it used.
    fn end_stage_of_disks(&mut self) -> Vec<DiskReport>;

    /// Traffic of network and user-space file systems since the start of the observation.
    fn mounts(&self) -> Vec<MountReport>;

    /// Traffic of these file systems during the finished stage.
    fn end_stage_of_mounts(&mut self) -> Vec<MountReport>;

    /// Change of each device's counters since the last call; members follow the array or volume that they
    /// belong to.
    fn look_at_disks(&mut self) -> Vec<LiveDisk>;

    /// Kernel names of the block devices that hold a worker's files.
    fn devices_of(&self, worker: usize) -> BTreeSet<String>;

    /// Description of the machine and of the storage below the files of the run.
    fn host(&self) -> HostReport;

    /// Begins to record facts about the machine.
    fn begin_facts(&mut self);

    /// Records facts about the machine, about once per second. `late_ns` is how late this call is.
    fn look_at_facts(&mut self, late_ns: u64);

    /// The recorded facts; `None` without recording.
    fn facts(&self) -> Option<RunFacts>;
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A message.
    Said(Envelope),
    /// A worker has ended.
    Ended {
        /// Its index.
        worker: usize,
        /// How the worker's process ended, if the worker was not done by then.
        lost: Option<Lost>,
    },
    /// The layout process has ended.
    LayoutEnded(Ended),
    /// The log writer ended before the logs were complete.
    LogsLost(Ended),
    /// Another child of this process has ended.
    OtherEnded {
        /// Its process ID.
        process: u32,
        /// How.
        ended: Ended,
    },
}

impl Event {
    /// True if the event is a message.
    pub fn is_said(&self) -> bool {
        matches!(self, Event::Said(_))
    }
}

/// Details of a worker that ended before its job was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How the worker's process ended.
    pub ended: Ended,
    /// Processor use as the kernel counted it.
    pub cpu: CpuReport,
    /// Description of the memory shortage that ended the worker, if one did.
    pub without_memory: Option<String>,
}

/// Result of starting a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Its index.
    pub worker: usize,
    /// The ID of its process.
    pub process: Result<u32, Refusal>,
}

/// No process could be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The error.
    pub errno: Errno,
    /// Description of the limits that may have caused it.
    pub limits: String,
}

/// A control group that could not be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFailure {
    /// Index of its job.
    pub job: usize,
    /// The error.
    pub errno: Errno,
    /// A line for the user.
    pub message: String,
}

/// Why logs cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogError {
    /// The log writer's process could not be created.
    Process(Errno),
    /// A file could not be opened.
    Open {
        /// The file.
        path: PathBuf,
        /// The error.
        errno: Errno,
    },
}

/// State of the log writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogState {
    /// Everything has been written, or the run keeps no logs.
    Done,
    /// Logs are being written.
    Writing {
        /// A counter that grows while the writer makes progress.
        progress: u64,
    },
    /// The writer's process ended early.
    Lost,
}

/// Losses in the logs, for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLosses {
    /// Files that could not be written completely.
    pub failed_files: u32,
    /// Workers that lost records or had to wait; one entry per log.
    pub of_workers: Vec<LogLoss>,
}

/// Losses and delays in one log of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLoss {
    /// The worker.
    pub worker: usize,
    /// Number of times that the worker waited for space in the ring.
    pub waits: u64,
    /// Total duration of these waits, ns.
    pub waited_ns: u64,
    /// Records that were lost.
    pub dropped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use fathom_sys::task::{Task, TaskState};

    fn returns<T>(value: T)
    where
        T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let text = serde_json::to_string(&value).expect("can be written");
        assert_eq!(serde_json::from_str::<T>(&text).expect(&text), value);
    }

    /// A crew on another host sends this data, so all of it must be serialisable.
    #[test]
    fn what_a_crew_gives_can_be_sent() {
        let lost = Lost {
            ended: Ended::Killed(9),
            cpu: CpuReport::default(),
            without_memory: Some("no memory".to_owned()),
        };
        let laying_out = Message::LayingOut { job: "a".to_owned(), files: 2, bytes: 1 << 40 };
        for event in [
            Event::Said(Envelope { worker: Some(3), message: laying_out }),
            Event::Ended { worker: 1, lost: Some(lost) },
            Event::LayoutEnded(Ended::Exited(0)),
        ] {
            returns(event);
        }
        let refusal = Refusal { errno: Errno(libc::EAGAIN), limits: "pids.max".to_owned() };
        returns(Start { worker: 2, process: Err(refusal) });
        returns(LogState::Writing { progress: u64::MAX });
        returns(SignsOfLife {
            task: Some(Task { state: TaskState::Waiting, used_ticks: 7, turns: None }),
            devices: 1,
            logs: 2,
            in_flight: true,
        });
    }
}
