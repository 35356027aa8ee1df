//! Events that the supervisor handles: messages, signals, ended processes, time.

use super::gather::Occasion;
use super::schedule::NEAR;
use super::{Supervisor, terminal};
use crate::cause::Cause;
use crate::crew::{Event, Lost};
use crate::message::{Envelope, Message};
use fathom_sys::Errno;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::process::Ended;
use fathom_sys::signal;
use std::time::Duration;

/// Signals that the supervisor handles in every run.
const SIGNALS: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGCHLD, libc::SIGUSR1];

/// All signals that the supervisor handles.
pub(super) fn signals(has_live_view: bool) -> Vec<i32> {
    let of_terminal = if has_live_view { terminal::SIGNALS } else { &[] };
    SIGNALS.iter().chain(of_terminal).copied().collect()
}

/// Longest interval between two checks of the workers.
pub(super) const LONGEST_WAIT: Duration = Duration::from_millis(250);
/// Interval between checks while a worker's end is near, so that a hang is noticed in time.
pub(super) const SHORT_WAIT: Duration = Duration::from_millis(50);

impl Supervisor<'_> {
    /// Sleeps until something happens or the next check is due.
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
        if let Some(facts) = &self.facts {
            wait = wait.min(facts.time_to_next(now));
        }
        if let Some(left) = self.snapshots.left(now) {
            wait = wait.min(left);
        }
        if let Some(opens_ns) = self.gate_opens_ns {
            // The sleep ends shortly before the start; the rest is slept with higher precision afterwards.
            wait = wait.min(Duration::from_nanos(opens_ns.saturating_sub(now)).saturating_sub(NEAR / 2));
        }
        if let Some(left) = self.trigger.as_ref().and_then(|trigger| trigger.time_left(self.started_ns, now))
        {
            wait = wait.min(left);
        }
        self.wait_readable(wait);
    }

    /// Sleeps until a descriptor is readable, at most this long.
    pub(super) fn wait_readable(&self, wait: Duration) {
        let mut descriptors = self.crew.descriptors();
        descriptors.push(self.signals.descriptor());
        descriptors.extend(self.observer.input());
        signal::wait_readable(&descriptors, wait);
    }

    /// Handles all pending events.
    pub(super) fn handle_events(&mut self) {
        self.observer.advance();
        let events = self.take_lines();
        self.take_requests();
        while let Some(signal) = self.signals.next() {
            match signal {
                libc::SIGINT | libc::SIGTERM => self.end_by_signal(signal),
                libc::SIGUSR1 => {
                    let report = self.report(Occasion::Interval);
                    self.observer.interim_report(&report);
                }
                _ => self.handle_terminal_signal(signal),
            }
        }
        events.into_iter().for_each(|event| self.handle(event));
    }

    /// Polls the crew. Messages at the front are printed immediately, so that they precede the effect of a
    /// later signal. The remaining events are returned.
    pub(super) fn take_lines(&mut self) -> Vec<Event> {
        let mut events = self.crew.poll().into_iter().peekable();
        while let Some(said) = events.next_if(Event::is_said) {
            self.handle(said);
        }
        events.collect()
    }

    /// Handles events. Messages of a process are printed before its end is handled.
    pub(super) fn handle_lines_first(&mut self, events: Vec<Event>) {
        let (said, others): (Vec<Event>, Vec<Event>) = events.into_iter().partition(Event::is_said);
        said.into_iter().chain(others).for_each(|event| self.handle(event));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Said(envelope) if envelope.message == Message::StageChanged => {}
            Event::Said(Envelope { worker, message: Message::Figures(piece) }) => {
                if let Some(tracked) = worker.and_then(|index| self.tracked.get_mut(index)) {
                    tracked.engine_figures.push_str(&piece);
                }
            }
            Event::Said(envelope) => self.observer.message(&envelope.message),
            // The end of a worker that was already given up needs no handling.
            Event::Ended { worker, .. } if !self.tracked[worker].is_started() => {}
            Event::Ended { worker, lost } => {
                if let Some(lost) = lost {
                    self.lost_worker(worker, lost);
                }
                self.mark_over(worker);
            }
            Event::LogsLost(ended) => self.say_logs_lost(ended),
            Event::OtherEnded { process, ended } => self.note_trigger_end(process, ended),
            // Normally the waiting layout code takes this event; here it has stopped waiting.
            Event::LayoutEnded(_) => {}
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

    /// Handles a worker whose process ended before the worker was done.
    fn lost_worker(&mut self, index: usize, lost: Lost) {
        self.tracked[index].killed = Some(lost.ended);
        self.tracked[index].cpu = Some(lost.cpu);
        let pid = self.tracked[index].process;
        let job = &self.plan.workers[index];
        if let Ended::Killed(signal) = lost.ended {
            self.observer.message(&Message::Failure(format!("fio: pid={pid}, got signal={signal}")));
        }
        let mut how = lost.ended.to_string();
        if let Some(reason) = lost.without_memory {
            self.observer.message(&Message::Error(format!("fathom: job {}: {reason}", job.name)));
            how = format!("{how} ({reason})");
        }
        self.notes
            .push(format!("job {} (pid {pid}) {how}; its figures are those up to that moment", job.name));
        let line = Cause::PROCESS.line(format_args!("worker {how}"));
        self.crew.fail(index, Errno(libc::EINTR), &line);
    }
}
