//! The crew: all workers of a run, and what the supervisor asks of them.
//!
//! The supervisor decides who starts when, who has to stop, what is stuck and what the report says. A crew does the rest:
//! it starts workers, passes orders on, reports what has happened, and shows what the workers count. All that it gives is
//! plain, owned data, so it does not matter to the supervisor where the workers are. [`LocalCrew`] has them on this
//! machine, in processes that share memory with the caller; workers on other machines would be another crew.
//!
//! Three traits say what there is to ask: [`Crew`] is about the workers, [`LogKeeper`] about the logs that are written
//! beside them, and [`Machine`] about what they run on. Logs and devices are where the workers are, so a crew elsewhere
//! answers for its own.
//!
//! Everything that goes through these traits can be written down and read again.
//!
//! Workers are known by their index in the plan. What is asked for at every look costs little: [`Crew::state`] is a few
//! words. Histograms and everything else that a report needs is copied only when it is asked for.

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
use fathom_stats::live::LiveDisk;
use fathom_stats::mounts::MountReport;
use fathom_stats::report::{CpuReport, DiskReport, IdlenessReport};
use fathom_sys::Errno;
use fathom_sys::process::Ended;
use serde::{Deserialize, Serialize};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The workers of a run.
pub trait Crew: LogKeeper + Machine {
    /// Begins to look at and lay out the files of these workers, one after the other. The end is an
    /// [`Event::LayoutEnded`], also after workers were told to stop. Gives the number of the process that does it.
    fn lay_out(&mut self, workers: &[usize]) -> Result<u32, Refusal>;

    /// Ends that process at once.
    fn end_layout(&mut self);

    /// Starts these workers together. They set themselves up, report [`Stage::Ready`], and wait for [`Order::Go`].
    fn start(&mut self, workers: &[usize]) -> Vec<Start>;

    /// Tells a worker what to do. One that has not been started gets the order when it is.
    fn order(&mut self, worker: usize, order: Order);

    /// Ends the job of a worker with an error that is not one of its own, unless it has failed already. Workers that share files
    /// with it learn of that.
    fn fail(&mut self, worker: usize, errno: Errno, text: &str);

    /// The supervisor waits for a worker no longer, because it has ended, or never will. A process with nothing but stuck workers
    /// is killed.
    fn release(&mut self, worker: usize, is_stuck: bool);

    /// Descriptors that can be read when [`poll`](Crew::poll) has something to tell. Ends of processes on this machine also
    /// show as `SIGCHLD`.
    fn descriptors(&self) -> Vec<RawFd>;

    /// What has happened since the last call, in its order. Does not wait. What a worker has said is reported at the latest with
    /// its end. Every crew collects the children of this process that have ended, also those that it did not start.
    fn poll(&mut self) -> Vec<Event>;

    /// A worker now.
    fn state(&self, worker: usize) -> WorkerState;

    /// The latencies that a worker has recorded in one direction.
    fn latencies(&self, worker: usize, direction: Direction, kind: LatencyKind) -> Histogram;

    /// The I/Os that a worker waits for.
    fn in_flight(&self, worker: usize) -> Vec<InFlight>;

    /// Bytes that a worker waits for: those in flight, and in its final sync what it wrote that may still be in memory.
    fn awaited_bytes(&self, worker: usize) -> u64;

    /// What tells from outside whether a worker gets on.
    fn signs_of_life(&mut self, worker: usize) -> SignsOfLife;

    /// Everything that a worker has counted so far.
    fn figures(&self, worker: usize) -> Figures;
}

/// The logs of a run, written while it goes on.
pub trait LogKeeper {
    /// Opens all log files and begins to write them; does nothing in a run without logs. A named pipe without a reader is told
    /// to `keep_waiting`, which may say no.
    fn open_logs(&mut self, keep_waiting: &mut dyn FnMut(&Path) -> bool) -> Result<(), LogError>;

    /// Where writing stands.
    fn log_state(&self) -> LogState;

    /// No worker adds anything any more: the logs are to be completed.
    fn finish_logs(&mut self);

    /// Writes no more; returns how the process that did it ended.
    fn give_up_logs(&mut self) -> Ended;

    /// What is missing in the logs, and what they have cost.
    fn log_losses(&self) -> LogLosses;
}

/// Why idleness is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdlenessError {
    /// A limit on processes or threads, and what to do about it.
    #[error("{}; {advice}", Errno(libc::EAGAIN))]
    NoProcesses {
        /// The limit.
        advice: String,
    },
    /// Another error of the system.
    #[error("{0}")]
    System(#[from] Errno),
}

/// What the workers run on.
pub trait Machine {
    /// Makes the control groups of all jobs; those that could not be made are returned.
    fn make_control_groups(&mut self) -> Vec<GroupFailure>;

    /// Removes the control groups that were made, unless somebody is in them; names those that stay.
    fn remove_control_groups(&mut self) -> Vec<String>;

    /// Begins to measure how idle the processors are. Takes a moment, which `interrupted` can end.
    fn measure_idleness(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<(), IdlenessError>;

    /// How idle the processors have been; nothing where that is not measured.
    fn idleness(&self, of_each_processor: bool) -> Option<IdlenessReport>;

    /// From now on counts what the block devices below a worker's files do, and what goes through file systems of servers and in
    /// user space. The worker is ready, so its files are known.
    fn watch_disks(&mut self, worker: usize);

    /// What the devices have done since they are watched.
    fn disks(&self) -> Vec<DiskReport>;

    /// What the devices that the stage used have done in it. The stage is over.
    fn end_stage_of_disks(&mut self) -> Vec<DiskReport>;

    /// What has gone through file systems of servers and in user space since they are watched.
    fn mounts(&self) -> Vec<MountReport>;

    /// What has gone through those that the stage used. The stage is over.
    fn end_stage_of_mounts(&mut self) -> Vec<MountReport>;

    /// What the devices have done since the last call, members after the device that they are part of.
    fn look_at_disks(&mut self) -> Vec<LiveDisk>;

    /// The machine, and the storage below the files of the run.
    fn host(&self) -> HostReport;

    /// From now on notes what surrounds the run.
    fn begin_facts(&mut self);

    /// Looks at what surrounds the run, about once a second. This look is late by so much.
    fn look_at_facts(&mut self, late_ns: u64);

    /// What surrounded the run; nothing where that was not noted.
    fn facts(&self) -> Option<RunFacts>;
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Somebody has something to say.
    Said(Envelope),
    /// A worker has ended.
    Ended {
        /// Which one.
        worker: usize,
        /// How its process ended, if that was before the worker was done.
        lost: Option<Lost>,
    },
    /// The process that lays files out has ended.
    LayoutEnded(Ended),
    /// The process that writes the logs has ended before it was done.
    LogsLost(Ended),
    /// A child of this process that has nothing to do with the crew has ended.
    OtherEnded {
        /// Its number.
        process: u32,
        /// How.
        ended: Ended,
    },
}

impl Event {
    /// True when somebody has something to say.
    pub fn is_said(&self) -> bool {
        matches!(self, Event::Said(_))
    }
}

/// The end of a worker that was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How its process ended.
    pub ended: Ended,
    /// Processor use as the kernel counted it.
    pub cpu: CpuReport,
    /// In words, if it ended because there was no memory.
    pub without_memory: Option<String>,
}

/// A worker was to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Which one.
    pub worker: usize,
    /// The number of the process that runs it.
    pub process: Result<u32, Refusal>,
}

/// The system gave no process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What it said.
    pub errno: Errno,
    /// The limits that may be behind it, in words.
    pub limits: String,
}

/// A control group that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFailure {
    /// Index of its job.
    pub job: usize,
    /// What the system said.
    pub errno: Errno,
    /// A line for the user.
    pub message: String,
}

/// Why logs cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogError {
    /// There is no process to write them.
    Process(Errno),
    /// A file could not be opened.
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        errno: Errno,
    },
}

/// Where the writing of logs stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogState {
    /// Everything has been written, or there are no logs.
    Done,
    /// They are being written.
    Writing {
        /// Grows for as long as that gets on.
        progress: u64,
    },
    /// The process that wrote them ended before it was done.
    Lost,
}

/// What a reader of the logs must know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLosses {
    /// Files that could not be written to their end.
    pub failed_files: u32,
    /// The workers that lost something or had to wait; one entry per log.
    pub of_workers: Vec<LogLoss>,
}

/// What one log of one worker has lost or cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLoss {
    /// The worker.
    pub worker: usize,
    /// How often it waited for the log to be written.
    pub waits: u64,
    /// How long, in all.
    pub waited_ns: u64,
    /// I/Os that are missing.
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

    /// A crew elsewhere sends what it gives.
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
