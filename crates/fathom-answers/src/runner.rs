//! What commands need of the program: reading jobs and running them.

use fathom_command::Failure;
use fathom_spec::RunSpec;
use fathom_stats::live::LiveTick;
use fathom_stats::report::RunReport;
use fathom_sys::signal::{OF_USERS, SignalQueue};
use std::time::Duration;

/// Reads and runs jobs.
pub trait Runner {
    /// Reads jobs as the program's own command line would. The argument `-` means `job_file`, the text of one. What is
    /// wrong with them is the failure's message.
    fn parse(&self, words: &[String], job_file: &str) -> Result<RunSpec, Failure>;

    /// Runs jobs to their end. The report has the timeline of the run and the machine it ran on. Signals end it while it goes on;
    /// who has something to keep or to say after it holds [`signals`] around it.
    fn run(&mut self, spec: &RunSpec, watch: &mut dyn Watch) -> Result<Ended, Failure>;
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
