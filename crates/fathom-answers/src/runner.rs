//! What commands need of the program: reading jobs and running them.

use fathom_command::Failure;
use fathom_spec::RunSpec;
use fathom_stats::live::LiveTick;
use fathom_stats::report::RunReport;
use fathom_sys::signal::{OF_USERS, SignalQueue};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Reads and runs jobs.
pub trait Runner {
    /// Reads jobs as the program's own command line would. The argument `-` means `job_file`, the text of one. What is
    /// wrong with them is the failure's message.
    fn parse(&self, words: &[String], job_file: &str) -> Result<RunSpec, Failure>;

    /// Runs jobs to their end. The report has the timeline of the run and the machine it ran on. Signals end it while it goes on;
    /// who has something to keep or to say after it holds `signals` around it.
    fn run(&mut self, spec: &RunSpec, watch: &mut dyn Watch) -> Result<Ended, Failure>;

    /// The jobs run on other machines: what is here says nothing of their files.
    fn runs_elsewhere(&self) -> bool {
        false
    }

    /// Machines that run the jobs.
    fn hosts(&self) -> u64 {
        1
    }

    /// What each clone of the jobs would work on; nothing is opened.
    fn targets(&self, spec: &RunSpec) -> Result<Vec<Target>, Failure>;

    /// How a device or a file is used by others, in words that follow "is in use: "; `None` if it can be written to.
    fn use_of(&self, path: &Path) -> Option<String>;
}

/// What a clone of a job works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name of its job.
    pub job: String,
    /// Name of its engine.
    pub engine: String,
    /// Its data lies in files and devices of this machine.
    pub is_local: bool,
    /// The files, as the plan names them.
    pub paths: Vec<PathBuf>,
    /// Bytes that they need in all; `None` if only the files themselves say that.
    pub bytes: Option<u64>,
    /// Where the I/O begins in each file; `None` for a share of it.
    pub offset: Option<u64>,
    /// They take what space there is (`fill_device`).
    pub fills_space: bool,
}

/// Takes the signals that come while no run does.
pub(crate) fn signals() -> Result<SignalQueue, Failure> {
    SignalQueue::new(&OF_USERS).map_err(|errno| Failure::new(format!("cannot wait for signals: {errno}")))
}

/// What a command learns of a run in progress.
pub trait Watch {
    /// Time between two ticks; `None` for no ticks.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// A moment of the run.
    fn tick(&mut self, _tick: &LiveTick) {}

    /// A line of a worker or of the supervisor: warnings and errors.
    fn message(&mut self, _text: &str) {}
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Everything that was counted.
    pub report: RunReport,
    /// Jobs that failed.
    pub failed_jobs: u32,
    /// The signal that ended the run early.
    pub signal: Option<i32>,
}
