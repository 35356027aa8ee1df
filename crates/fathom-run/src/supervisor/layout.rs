//! Lays files out before the first worker starts, while signals are handled and the screen is updated.

use super::events::{LONGEST_WAIT, SHORT_WAIT};
use super::{Standing, Supervisor};
use crate::cause::Cause;
use crate::crew::Event;
use crate::message::Message;
use fathom_sys::Errno;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::process::Ended;
use std::time::Duration;

/// Maximum time that the layout process may take to truncate its file (unless `--patience` is given), and, once
/// killed, to exit.
const LAYOUT_PATIENCE: Duration = Duration::from_secs(10);
const LAYOUT_END: Duration = Duration::from_millis(300);

impl Supervisor<'_> {
    /// Has the files of all jobs examined and laid out. Returns when this is done, or when a signal ends the run.
    pub(super) fn prepare_files(&mut self) {
        let wants_files: Vec<usize> = (0..self.plan.workers.len())
            .filter(|&index| {
                let worker = &self.plan.workers[index];
                // A job without files has nothing to lay out, but one without a size is examined as well, so
                // that the missing size is reported here.
                let is_looked_at = worker.may_make_targets()
                    || !worker.has_storage()
                        && (worker.amounts.size.is_none() && worker.files.part.lengths.is_none());
                is_looked_at && (!worker.files.layout.by_worker || worker.files.layout.is_all)
            })
            .collect();
        if wants_files.is_empty() {
            return;
        }
        match self.crew.lay_out(&wants_files) {
            Ok(pid) => self.wait_for_layout(pid),
            Err(refusal) => {
                self.layout_failed(&format!("needs a process: {}; {}", refusal.errno, refusal.limits));
            }
        }
    }

    /// Watches the layout process until it has ended, or a signal ends it.
    fn wait_for_layout(&mut self, pid: u32) {
        let mut stopped_since = None;
        loop {
            let wait = if stopped_since.is_some() { SHORT_WAIT } else { LONGEST_WAIT };
            self.wait_readable(wait);
            let events = self.take_lines();
            self.take_requests();
            while let Some(signal) = self.signals.next() {
                match signal {
                    // A second signal ends the wait.
                    libc::SIGINT | libc::SIGTERM if self.is_second_signal() => self.crew.end_layout(),
                    libc::SIGINT | libc::SIGTERM => self.end_by_signal(signal),
                    _ => self.handle_terminal_signal(signal),
                }
            }
            if self.options.live_view {
                self.tick_if_due(monotonic_ns());
            }
            let layout_ended = events.iter().find_map(|event| match event {
                Event::LayoutEnded(ended) => Some(*ended),
                _ => None,
            });
            self.handle_lines_first(events);
            if let Some(ended) = layout_ended {
                return self.layout_ended(ended);
            }
            if self.signal.is_some()
                && self.layout_is_stuck(pid, *stopped_since.get_or_insert_with(monotonic_ns))
            {
                return;
            }
        }
    }

    /// Handles a layout process that was told to stop at `since`: it may truncate its file, and is killed if
    /// that takes too long. Returns true if it does not exit even then.
    fn layout_is_stuck(&mut self, pid: u32, since: u64) -> bool {
        let patience = self.options.patience.unwrap_or(LAYOUT_PATIENCE);
        let waited = Duration::from_nanos(monotonic_ns() - since);
        if waited > patience {
            self.crew.end_layout();
        }
        if waited <= patience + LAYOUT_END {
            return false;
        }
        self.notes
            .push(format!("laying out files (pid {pid}) is stuck in the kernel and could not be ended"));
        self.layout_failed("is stuck in the kernel");
        true
    }

    fn layout_ended(&mut self, ended: Ended) {
        match ended {
            Ended::Exited(0) => {}
            _ if self.signal.is_some() => {}
            _ => self.layout_failed(&ended.to_string()),
        }
    }

    /// Fails the jobs, which cannot run without their files.
    fn layout_failed(&mut self, how: &str) {
        self.observer
            .message(&Message::Error(format!("fathom: laying out files {how}; no job that needs them runs")));
        for index in 0..self.tracked.len() {
            if self.tracked[index].standing == Standing::Waiting
                && self.plan.workers[index].may_make_targets()
            {
                let line = Cause::LAYOUT.line(format_args!("laying out files {how}"));
                self.crew.fail(index, Errno(libc::EINTR), &line);
            }
        }
    }
}
