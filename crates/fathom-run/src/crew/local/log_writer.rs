//! The log writer's process: it starts before the first worker and ends after the last.

use super::LocalCrew;
use super::spawn::become_child;
use crate::crew::{Event, LogError, LogKeeper, LogLoss, LogLosses, LogState};
use crate::logs::{OpenLogs, write_logs};
use fathom_sys::clock::monotonic_ns;
use fathom_sys::process::{self, Ended, Fork};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// The process that writes the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogWriter {
    /// The run keeps no logs.
    None,
    /// It runs.
    Running(u32),
    /// The writer has written everything.
    Done,
    /// The writer ended early.
    Lost,
}

impl LogKeeper for LocalCrew<'_> {
    fn open_logs(&mut self, mut keep_waiting: &mut dyn FnMut(&Path) -> bool) -> Result<(), LogError> {
        let Some(logs) = self.region.logs() else { return Ok(()) };
        let open = OpenLogs::open(self.plan, &mut keep_waiting)
            .map_err(|(path, errno)| LogError::Open { path, errno })?;
        // SAFETY: the owner of a crew promises to have a single thread.
        match unsafe { process::fork() }.map_err(LogError::Process)? {
            Fork::Child => {
                become_child(&self.blocked_signals);
                write_logs(self.plan, &self.region, logs, open, &self.sender);
                process::exit_now(0);
            }
            Fork::Parent(pid) => self.log_writer = LogWriter::Running(pid),
        }
        Ok(())
    }

    fn log_state(&self) -> LogState {
        match self.log_writer {
            LogWriter::None | LogWriter::Done => LogState::Done,
            LogWriter::Running(_) => {
                LogState::Writing { progress: self.region.logs().map_or(0, |logs| logs.progress()) }
            }
            LogWriter::Lost => LogState::Lost,
        }
    }

    fn finish_logs(&mut self) {
        (0..self.members.len()).for_each(|index| self.close_logs_of(index));
        if let Some(logs) = self.region.logs() {
            logs.finish();
        }
    }

    fn give_up_logs(&mut self) -> Ended {
        let ended = Ended::Killed(libc::SIGKILL);
        if let LogWriter::Running(pid) = self.log_writer {
            process::kill(pid, libc::SIGKILL);
            self.log_writer_ended(ended);
        }
        ended
    }

    fn log_losses(&self) -> LogLosses {
        let Some(logs) = self.region.logs() else { return LogLosses::default() };
        let mut of_workers = Vec::new();
        for worker in 0..self.members.len() {
            for header in logs.headers_of(worker) {
                let (waits, waited_ns) = header.held_back();
                let dropped = header.dropped();
                if waits > 0 || dropped > 0 {
                    of_workers.push(LogLoss { worker, waits, waited_ns, dropped });
                }
            }
        }
        LogLosses { failed_files: logs.failed_files(), of_workers }
    }
}

impl LocalCrew<'_> {
    /// Closes the rings of a worker that has ended, because it may not have closed them itself.
    pub(super) fn close_logs_of(&self, index: usize) {
        let Some(logs) = self.region.logs() else { return };
        let start = self.region.worker(index).start_ns.load(Relaxed);
        let end_ns = if start == 0 { 0 } else { monotonic_ns().saturating_sub(start) };
        logs.headers_of(index).for_each(|header| header.close(end_ns));
    }

    /// The log writer has ended. If it ended early, workers are told not to wait for it, and the loss is
    /// returned as an event.
    pub(super) fn log_writer_ended(&mut self, ended: Ended) -> Option<Event> {
        if ended == Ended::Exited(0) {
            self.log_writer = LogWriter::Done;
            return None;
        }
        self.log_writer = LogWriter::Lost;
        if let Some(logs) = self.region.logs() {
            logs.set_gone();
        }
        Some(Event::LogsLost(ended))
    }
}
