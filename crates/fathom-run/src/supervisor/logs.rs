//! Opens the logs of a run before any worker starts, and completes them after the last worker has ended.

use super::{StartError, Supervisor};
use crate::crew::{LogError, LogLosses, LogState};
use crate::message::Message;
use fathom_stats::counted;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::process::Ended;
use fathom_sys::signal;
use std::path::Path;
use std::time::Duration;

/// Time without progress after which the log writer counts as stuck on its disk: it has neither removed a
/// record nor completed a write; `--patience` overrides this.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

impl Supervisor<'_> {
    /// Opens all log files and starts writing them.
    pub(super) fn open_logs(&mut self) -> Result<(), StartError> {
        let mut is_said = false;
        let mut keep_waiting = |path: &Path| {
            if !std::mem::replace(&mut is_said, true) {
                let text =
                    format!("fathom: the log {} is a named pipe; waiting for its reader", path.display());
                self.observer.message(&Message::Error(text));
            }
            self.signal = self.signals.asked_to_end();
            self.signal.is_none()
        };
        let opened = self.crew.open_logs(&mut keep_waiting);
        if let Some(signal) = self.signal {
            return Err(StartError::Signal(signal));
        }
        opened.map_err(|error| match error {
            LogError::Process(errno) => StartError::System(errno),
            LogError::Open { path, errno } => StartError::Log { path, errno },
        })
    }

    pub(super) fn say_logs_lost(&mut self, ended: Ended) {
        let text = format!("fathom: the process that writes the logs {ended}; the logs are incomplete");
        self.observer.message(&Message::Error(text));
    }

    /// Waits until the logs have been written. A second signal ends the wait, even if the first one had already
    /// ended the run. The wait also ends if the log disk does not respond.
    pub(super) fn finish_logs(&mut self) {
        self.crew.finish_logs();
        let LogState::Writing { mut progress } = self.crew.log_state() else { return };
        let patience = self.options.patience.unwrap_or(PATIENCE).as_nanos();
        let mut since = monotonic_ns();
        let mut was_asked_to_end = self.signal.is_some();
        while let LogState::Writing { .. } = self.crew.log_state() {
            signal::wait_readable(&[self.crew.descriptors(), vec![self.signals.descriptor()]].concat(), LOOK);
            let events = self.take_lines();
            let mut interrupted = false;
            while let Some(signal) = self.signals.next() {
                let asks_to_end = matches!(signal, libc::SIGINT | libc::SIGTERM);
                interrupted |= asks_to_end && was_asked_to_end;
                if asks_to_end && !std::mem::replace(&mut was_asked_to_end, true) {
                    let text = "fathom: all jobs have ended and their logs are still being written; a second signal gives them up";
                    self.observer.message(&Message::Error(text.to_owned()));
                }
            }
            self.handle_lines_first(events);
            let LogState::Writing { progress: now_progress } = self.crew.log_state() else { return };
            if now_progress != progress {
                (progress, since) = (now_progress, monotonic_ns());
            }
            if interrupted || u128::from(monotonic_ns() - since) > patience {
                let ended = self.crew.give_up_logs();
                self.say_logs_lost(ended);
            }
        }
    }

    /// Adds notes on losses in the logs to the report.
    pub(super) fn note_log_losses(&mut self, losses: &LogLosses) {
        if self.crew.log_state() == LogState::Lost {
            self.notes
                .push("the process that writes the logs ended early; the logs are incomplete".to_owned());
        }
        if losses.failed_files > 0 {
            self.notes
                .push(format!("log files that could not be written completely: {}", losses.failed_files));
        }
        for loss in &losses.of_workers {
            let worker = &self.plan.workers[loss.worker];
            let name = &worker.name;
            let number = worker.thread_number;
            if loss.waits > 0 {
                self.notes.push(format!(
                    "job {name} (log {number}) was faster than its logs could be written: it waited {}, {} ms in all",
                    counted(loss.waits, "time"),
                    loss.waited_ns / 1_000_000
                ));
            }
            if loss.dropped > 0 {
                self.notes.push(format!(
                    "the logs of job {name} (number {number}) lack {}",
                    counted(loss.dropped, "I/O")
                ));
            }
        }
    }
}
