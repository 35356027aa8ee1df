//! The log writer's process: started before any worker, ended after the last.

use super::{Observer, StartError, Supervisor};
use crate::logs::{OpenLogs, write_logs};
use crate::message::Message;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::process::{self, Ended, Fork};
use fathom_sys::signal;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A writer that neither takes a record nor ends a write for so long is stuck on its disk, unless `--patience` says otherwise.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// The process that writes the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogWriter {
    /// There are no logs.
    None,
    /// It runs.
    Running(u32),
    /// It has written everything.
    Done,
    /// It ended before that.
    Lost,
}

impl<O: Observer> Supervisor<'_, O> {
    /// Opens all log files and starts the process that writes them.
    pub(super) fn start_log_writer(&mut self) -> Result<(), StartError> {
        if self.region.logs().is_none() {
            return Ok(());
        }
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
        let opened = OpenLogs::open(self.plan, &mut keep_waiting);
        if let Some(signal) = self.signal {
            return Err(StartError::Signal(signal));
        }
        let open = opened.map_err(|(path, errno)| StartError::Log { path, errno })?;
        // SAFETY: the supervisor has a single thread.
        match unsafe { process::fork() }? {
            Fork::Child => {
                super::spawn::become_child();
                if let Some(logs) = self.region.logs() {
                    write_logs(self.plan, &self.region, logs, open, &self.sender);
                }
                process::exit_now(0);
            }
            Fork::Parent(pid) => self.log_writer = LogWriter::Running(pid),
        }
        Ok(())
    }

    /// A worker is over, and may not have been able to say so.
    pub(super) fn close_logs_of(&self, index: usize) {
        let Some(logs) = self.region.logs() else { return };
        let start = self.region.worker(index).start_ns.load(Relaxed);
        let end_ns = if start == 0 { 0 } else { monotonic_ns().saturating_sub(start) };
        logs.headers_of(index).for_each(|header| header.close(end_ns));
    }

    /// A process of the run has ended: was it the log writer?
    pub(super) fn note_log_writer_end(&mut self, pid: u32, ended: Ended) {
        if self.log_writer != LogWriter::Running(pid) {
            return;
        }
        self.log_writer = if ended == Ended::Exited(0) { LogWriter::Done } else { LogWriter::Lost };
        if self.log_writer == LogWriter::Lost {
            if let Some(logs) = self.region.logs() {
                logs.set_gone();
            }
            let how = match ended {
                Ended::Killed(signal) => format!("was killed by signal {signal}"),
                Ended::Exited(status) => format!("ended with status {status}"),
            };
            let text = format!("fathom: the process that writes the logs {how}; the logs are incomplete");
            self.observer.message(&Message::Error(text));
        }
    }

    /// Waits until the logs have been written. A second signal, be the first one that ended the run or one that came meanwhile, ends
    /// the wait, and so does a log disk that does not answer.
    pub(super) fn finish_logs(&mut self) {
        (0..self.tracked.len()).for_each(|index| self.close_logs_of(index));
        let Some(logs) = self.region.logs() else { return };
        logs.finish();
        let patience = self.options.patience.unwrap_or(PATIENCE).as_nanos();
        let (mut progress, mut since) = (logs.progress(), monotonic_ns());
        let mut was_asked_to_end = self.signal.is_some();
        while let LogWriter::Running(pid) = self.log_writer {
            signal::wait_readable(&[self.receiver.descriptor(), self.signals.descriptor()], LOOK);
            self.pass_messages_on();
            let mut interrupted = false;
            while let Some(signal) = self.signals.next() {
                let asks_to_end = matches!(signal, libc::SIGINT | libc::SIGTERM);
                interrupted |= asks_to_end && was_asked_to_end;
                if asks_to_end && !std::mem::replace(&mut was_asked_to_end, true) {
                    let text = "fathom: all jobs have ended and their logs are still being written; a second signal gives them up";
                    self.observer.message(&Message::Error(text.to_owned()));
                }
            }
            while let Some((ended_pid, ended, _)) = process::reap_one() {
                self.pass_messages_on();
                self.note_log_writer_end(ended_pid, ended);
            }
            let now_progress = self.region.logs().map_or(0, |logs| logs.progress());
            if now_progress != progress {
                (progress, since) = (now_progress, monotonic_ns());
            }
            if interrupted || u128::from(monotonic_ns() - since) > patience {
                process::kill(pid, libc::SIGKILL);
                self.note_log_writer_end(pid, Ended::Killed(libc::SIGKILL));
            }
        }
    }

    /// What a reader of the logs must know.
    pub(super) fn note_log_losses(&mut self) {
        let Some(logs) = self.region.logs() else { return };
        if self.log_writer == LogWriter::Lost {
            self.notes
                .push("the process that writes the logs ended early; the logs are incomplete".to_owned());
        }
        let failed = logs.failed_files();
        if failed > 0 {
            self.notes.push(format!("log files that could not be written to their end: {failed}"));
        }
        for (index, worker) in self.plan.workers.iter().enumerate() {
            let name = &self.plan.job_of(worker).name;
            let number = worker.thread_number;
            for header in logs.headers_of(index) {
                let (times, ns) = header.held_back();
                if times > 0 {
                    self.notes.push(format!(
                        "job {name} (log {number}) was faster than its logs could be written: it waited {times} times, {} ms in all",
                        ns / 1_000_000
                    ));
                }
                let dropped = header.dropped();
                if dropped > 0 {
                    self.notes.push(format!(
                        "{dropped} I/Os of job {name} are missing in its logs (number {number})"
                    ));
                }
            }
        }
    }

    /// True when some log is not whole.
    pub(super) fn lost_logs(&self) -> bool {
        let failed = self.region.logs().is_some_and(|logs| logs.failed_files() > 0);
        failed || self.log_writer == LogWriter::Lost
    }
}
