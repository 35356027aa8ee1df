//! Starts each run as a separate process.

use crate::child;
use crate::error::RunError;
use crate::plan::Plan;
use crate::running::{Outcome, Running};
use crate::wire::{ARGUMENT, Order};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs plans. A runner may be shared by threads and may execute several plans at the same time.
#[derive(Clone, Debug)]
pub struct Runner {
    progress_every: Option<Duration>,
}

impl Runner {
    /// Becomes the process of a run if this process was started as one; in that case it does not return. Call
    /// it first in `main`, before any other thread exists.
    #[must_use]
    pub fn begin() -> Runner {
        let mut words = std::env::args_os().skip(1);
        if words.next().is_some_and(|word| word == ARGUMENT) && words.next().is_none() {
            child::perform();
            std::process::exit(0);
        }
        Runner { progress_every: None }
    }

    /// Makes runs report their progress at this interval, as [`Event::Progress`](crate::Event::Progress).
    #[must_use]
    pub fn with_progress(self, every: Duration) -> Runner {
        Runner { progress_every: Some(every) }
    }

    /// Starts a run.
    pub fn start(&self, plan: &Plan) -> Result<Running, RunError> {
        let order = Order { plan: plan.plan.clone(), progress_every: self.progress_every };
        let mut line = serde_json::to_vec(&order).map_err(|error| RunError::Process(error.into()))?;
        line.push(b'\n');
        // This path is the executable of this process, even if another file has its name now.
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = std::env::args_os().next() {
            command.arg0(name);
        }
        command.arg(ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped());
        let process = command.spawn().map_err(RunError::Process)?;
        let mut running = Running::of(process)?;
        running.send(&line)?;
        Ok(running)
    }

    /// Runs a plan to completion.
    pub fn run(&self, plan: &Plan) -> Result<Outcome, RunError> {
        self.start(plan)?.finish()
    }
}
