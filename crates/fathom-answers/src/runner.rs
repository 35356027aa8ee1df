//! The interface through which commands use the program: parsing jobs and running them.

use fathom_command::Failure;
use fathom_spec::RunSpec;
use fathom_stats::live::LiveTick;
use fathom_stats::report::RunReport;
use fathom_sys::signal::{OF_USERS, SignalQueue};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Parses and runs jobs.
pub trait Runner {
    /// Parses jobs as the program's own command line would. The argument `-` stands for `job_file`, the text of
    /// a job file. Errors are in the failure's message.
    fn parse(&self, words: &[String], job_file: &str) -> Result<RunSpec, Failure>;

    /// Runs jobs to completion. The report includes the timeline of the run and the machine it ran on. Signals
    /// end the run; a caller with work to do afterwards holds `signals` around the call.
    fn run(&mut self, spec: &RunSpec, watch: &mut dyn Watch) -> Result<Ended, Failure>;

    /// True if the jobs run on other machines, so that this machine cannot examine their files.
    fn runs_elsewhere(&self) -> bool {
        false
    }

    /// Number of machines that run the jobs.
    fn hosts(&self) -> u64 {
        1
    }

    /// The targets of each clone of the jobs; nothing is opened.
    fn targets(&self, spec: &RunSpec) -> Result<Vec<Target>, Failure>;

    /// How other programs use a device or file, as a phrase that follows "is in use: "; `None` if it can be
    /// written to.
    fn use_of(&self, path: &Path) -> Option<String>;
}

/// Target of one clone of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name of the clone's job.
    pub job: String,
    /// Name of the job's engine.
    pub engine: String,
    /// True if the job's data is in files and devices of this machine.
    pub is_local: bool,
    /// The files of the clone, named as in the plan.
    pub paths: Vec<PathBuf>,
    /// Total number of bytes needed; `None` if that depends on the files themselves.
    pub bytes: Option<u64>,
    /// Offset of the first I/O in each file; `None` if it is a share of the file.
    pub offset: Option<u64>,
    /// True if the clone fills the free space (`fill_device`).
    pub fills_space: bool,
}

/// Catches the signals that arrive between runs.
pub(crate) fn signals() -> Result<SignalQueue, Failure> {
    SignalQueue::new(&OF_USERS).map_err(|errno| Failure::new(format!("cannot wait for signals: {errno}")))
}

/// Receives the events of a run in progress.
pub trait Watch {
    /// Time between two ticks; `None` for no ticks.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// A tick of the run.
    fn tick(&mut self, _tick: &LiveTick) {}

    /// A message of a worker or of the supervisor: a warning or an error.
    fn message(&mut self, _text: &str) {}
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The complete report.
    pub report: RunReport,
    /// Number of jobs that failed.
    pub failed_jobs: u32,
    /// The signal that ended the run early, if one did.
    pub signal: Option<i32>,
}
