//! What happens to the supervisor: messages, signals, ended processes, time.

use super::{Observer, Standing, Supervisor, terminal};
use crate::cause::Cause;
use crate::exhausted;
use crate::message::Message;
use crate::region::Stage;
use fathom_sys::Errno;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::limits::{self, Limit, Resource};
use fathom_sys::process::{self, Ended};
use fathom_sys::signal;
use std::time::Duration;

/// Signals that the supervisor always takes.
const SIGNALS: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGCHLD, libc::SIGUSR1];

/// All signals that the supervisor takes.
pub(super) fn signals(has_live_view: bool) -> Vec<i32> {
    let of_terminal = if has_live_view { terminal::SIGNALS } else { &[] };
    SIGNALS.iter().chain(of_terminal).copied().collect()
}

/// Longest time between two looks at the workers.
const LONGEST_WAIT: Duration = Duration::from_millis(250);
/// The same while something is about to end, so that a hang is seen in time.
const SHORT_WAIT: Duration = Duration::from_millis(50);
/// How long the layout process may take to put its file back, unless `--patience` says otherwise, and then to go when it is
/// killed.
const LAYOUT_PATIENCE: Duration = Duration::from_secs(10);
const LAYOUT_END: Duration = Duration::from_millis(300);

impl<O: Observer> Supervisor<'_, O> {
    /// Sleeps until something happens or the next look is due.
    pub(super) fn wait_for_events(&mut self) {
        let now = monotonic_ns();
        let mut wait = LONGEST_WAIT;
        if self.stopping_since.is_some() || self.a_deadline_is_near(now) {
            wait = SHORT_WAIT;
        }
        for worker in self.tracked.iter().filter(|worker| worker.is_started()) {
            wait = wait.min(worker.series.time_to_next(now));
        }
        if self.options.tick.is_some() {
            wait = wait.min(self.live.time_to_next(now));
        }
        for group in &self.steady {
            wait = wait.min(group.time_to_next(now));
        }
        if let Some(intervals) = &self.intervals {
            wait = wait.min(intervals.time_to_next(now));
        }
        if let Some(timeline) = &self.timeline {
            wait = wait.min(timeline.time_to_next(now));
        }
        if let Some(left) = self.trigger.as_ref().and_then(|trigger| trigger.time_left(self.started_ns, now))
        {
            wait = wait.min(left);
        }
        self.wait_readable(wait);
    }

    /// Sleeps until something can be read, at most this long.
    fn wait_readable(&self, wait: Duration) {
        let mut descriptors = vec![self.receiver.descriptor(), self.signals.descriptor()];
        descriptors.extend(self.observer.input());
        signal::wait_readable(&descriptors, wait);
    }

    /// Handles everything that has happened.
    pub(super) fn handle_events(&mut self) {
        self.observer.advance();
        self.pass_messages_on();
        self.take_requests();
        while let Some(signal) = self.signals.next() {
            match signal {
                libc::SIGINT | libc::SIGTERM => self.end_by_signal(signal),
                libc::SIGUSR1 => {
                    let report = self.report(false);
                    self.observer.interim_report(&report);
                }
                _ => self.handle_terminal_signal(signal),
            }
        }
        while let Some((pid, ended, usage)) = process::reap_one() {
            self.note_log_writer_end(pid, ended);
            self.note_trigger_end(pid, ended);
            self.process_ended(pid, ended, usage);
        }
        self.collect_ended_threads();
        // Lines that a process wrote before it ended.
        self.pass_messages_on();
    }

    pub(super) fn pass_messages_on(&mut self) {
        for envelope in self.receiver.drain() {
            if envelope.message != Message::StageChanged {
                self.observer.message(&envelope.message);
            }
        }
    }

    pub(super) fn end_by_signal(&mut self, signal: i32) {
        self.end_trigger_command();
        if self.signal.is_some() {
            return self.stop_waiting();
        }
        self.signal = Some(signal);
        let text = format!("\nfio: terminating on signal {signal}");
        self.observer.message(&Message::Failure(text));
        self.stop_everything();
    }

    fn process_ended(&mut self, pid: u32, ended: Ended, usage: fathom_sys::usage::Usage) {
        let members: Vec<usize> = (0..self.tracked.len())
            .filter(|&index| self.tracked[index].process == pid && self.tracked[index].is_started())
            .collect();
        for index in members {
            if self.region.worker(index).stage() != Stage::Ended {
                self.lost_worker(index, pid, ended);
                self.tracked[index].usage = Some(usage);
            }
            self.mark_over(index);
        }
    }

    /// A worker's process ended before the worker had.
    fn lost_worker(&mut self, index: usize, pid: u32, ended: Ended) {
        self.tracked[index].killed = Some(ended);
        if self.tracked[index].stuck {
            return;
        }
        let job = self.plan.job_of(&self.plan.workers[index]);
        let how = match ended {
            Ended::Killed(signal) => {
                self.observer.message(&Message::Failure(format!("fio: pid={pid}, got signal={signal}")));
                let reason = self.memory_ran_out(signal);
                if let Some(reason) = &reason {
                    self.observer.message(&Message::Error(format!("fathom: job {}: {reason}", job.name)));
                }
                let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
                format!("was killed by signal {signal}{reason}")
            }
            Ended::Exited(status) => format!("ended with status {status}"),
        };
        self.notes
            .push(format!("job {} (pid {pid}) {how}; its figures are those up to that moment", job.name));
        let line = Cause::PROCESS.line(format_args!("worker {how}"));
        self.region.worker(index).fail_in_words(Errno(libc::EINTR), &line);
    }

    /// Why a signal means that there was no memory: a program that gets none aborts, and the kernel kills in a control group
    /// that has used up its own.
    fn memory_ran_out(&mut self, signal: i32) -> Option<String> {
        let kills = limits::group_memory_kills();
        let killed_by_group = kills > std::mem::replace(&mut self.memory_kills, kills);
        let is_limited = Limit::of(Resource::AddressSpace).soft.is_some();
        match signal {
            libc::SIGABRT if is_limited => Some(format!("it got no memory: {}", exhausted::memory())),
            libc::SIGKILL if killed_by_group => Some(format!("out of memory: {}", exhausted::memory())),
            _ => None,
        }
    }

    /// Threads share a process, so their end shows in their blocks only.
    fn collect_ended_threads(&mut self) {
        for index in self.indices_started() {
            let is_thread = self.plan.job_of(&self.plan.workers[index]).threads.thread;
            if is_thread && self.region.worker(index).stage() == Stage::Ended {
                self.mark_over(index);
            }
        }
    }

    /// Follows the layout process until it has ended, or a signal ends it.
    pub(super) fn wait_for_layout(&mut self, pid: u32) {
        let mut stopped_since = None;
        loop {
            let wait = if stopped_since.is_some() { SHORT_WAIT } else { LONGEST_WAIT };
            self.wait_readable(wait);
            self.pass_messages_on();
            self.take_requests();
            while let Some(signal) = self.signals.next() {
                match signal {
                    // A second one ends the wait.
                    libc::SIGINT | libc::SIGTERM if self.is_second_signal() => {
                        process::kill(pid, libc::SIGKILL)
                    }
                    libc::SIGINT | libc::SIGTERM => self.end_by_signal(signal),
                    _ => self.handle_terminal_signal(signal),
                }
            }
            if self.options.live_view {
                self.tick_if_due(monotonic_ns());
            }
            while let Some((ended_pid, ended, _)) = process::reap_one() {
                if ended_pid == pid {
                    self.pass_messages_on();
                    self.layout_ended(ended);
                    return;
                }
            }
            if self.signal.is_some()
                && self.layout_is_stuck(pid, *stopped_since.get_or_insert_with(monotonic_ns))
            {
                return;
            }
        }
    }

    /// The layout process was told to stop at `since`: it puts its file back, or it is killed; true when it does not
    /// even go then.
    fn layout_is_stuck(&mut self, pid: u32, since: u64) -> bool {
        let patience = self.options.patience.unwrap_or(LAYOUT_PATIENCE);
        let waited = Duration::from_nanos(monotonic_ns() - since);
        if waited > patience {
            process::kill(pid, libc::SIGKILL);
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
            Ended::Killed(signal) => self.layout_failed(&format!("was killed by signal {signal}")),
            Ended::Exited(status) => self.layout_failed(&format!("ended with status {status}")),
        }
    }

    /// Without its files no job can run.
    pub(super) fn layout_failed(&mut self, how: &str) {
        self.observer
            .message(&Message::Error(format!("fathom: laying out files {how}; no job that needs them runs")));
        for index in 0..self.tracked.len() {
            if self.tracked[index].standing == Standing::Waiting && !self.plan.workers[index].diskless {
                let line = Cause::LAYOUT.line(format_args!("laying out files {how}"));
                self.region.worker(index).fail_in_words(Errno(libc::EINTR), &line);
            }
        }
    }
}
