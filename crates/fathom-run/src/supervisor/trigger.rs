//! `--trigger-file`, `--trigger-timeout` and `--trigger`: when the file appears or the time has passed, the
//! jobs are told to end and save their verification states, then the command runs. Because the command may cut
//! the power, it runs only when the jobs have ended and their states are on disk, or, if a job does not end,
//! after a timeout. As with other requests by file, inotify reports new names in the directory, so a hung
//! directory cannot block the supervisor.

use super::Supervisor;
use crate::crew::Order;
use crate::message::Message;
use fathom_errors::plain;
use fathom_spec::Trigger;
use fathom_sys::directory_watch::DirectoryWatch;
use fathom_sys::process::{self, Ended};
use fathom_sys::shell;
use std::path::Path;
use std::time::Duration;

/// Interval between checks for the file.
const LOOK_NS: u64 = 1_000_000_000;
/// Maximum time that the command is delayed until the jobs have ended.
const LONGEST_END_NS: u64 = 5_000_000_000;

/// State of a trigger.
pub(super) struct TriggerWatch<'a> {
    plan: &'a Trigger,
    signal: TriggerSignal<'a>,
    stage: Stage,
}

/// Watches for the condition that ends the jobs.
pub struct TriggerSignal<'a> {
    plan: &'a Trigger,
    /// The directory of the file; `None` before the first poll, or if it cannot be watched.
    directory: Option<DirectoryWatch>,
    has_looked: bool,
    /// Monotonic ns of the last poll.
    looked_ns: u64,
}

/// Progress of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waiting.
    Armed,
    /// The jobs were told to end, at this monotonic time in ns.
    Fired(u64),
    /// The command runs as this process.
    Running(u32),
    /// The trigger is done.
    Over,
}

impl<'a> TriggerWatch<'a> {
    pub(super) fn new(plan: &'a Trigger) -> TriggerWatch<'a> {
        TriggerWatch { plan, signal: TriggerSignal::new(plan), stage: Stage::Armed }
    }

    /// Time left in the current step; `None` if the step has no limit.
    pub(super) fn time_left(&self, started_ns: u64, now: u64) -> Option<Duration> {
        (self.stage == Stage::Armed).then(|| self.signal.time_left(started_ns, now)).flatten()
    }
}

impl<'a> TriggerSignal<'a> {
    /// Creates a trigger that has not polled yet.
    pub fn new(plan: &'a Trigger) -> TriggerSignal<'a> {
        TriggerSignal { plan, directory: None, has_looked: false, looked_ns: 0 }
    }

    /// Time left until `--trigger-timeout`; `None` if only the file fires the trigger.
    pub fn time_left(&self, started_ns: u64, now: u64) -> Option<Duration> {
        let timeout = self.plan.timeout?;
        let left = (started_ns + timeout.as_nanos() as u64).saturating_sub(now);
        Some(Duration::from_nanos(left))
    }

    /// Why the trigger fires now, for a message.
    pub fn cause(&mut self, started_ns: u64, now: u64) -> Option<String> {
        if self.time_left(started_ns, now).is_some_and(|left| left.is_zero()) {
            return Some("--trigger-timeout is over".to_owned());
        }
        let file = self.plan.file.as_deref()?;
        if self.has_looked && now < self.looked_ns + LOOK_NS {
            return None;
        }
        self.looked_ns = now;
        self.has_appeared(file).then(|| format!("--trigger-file={} has appeared", file.display()))
    }

    fn has_appeared(&mut self, file: &Path) -> bool {
        let begins = !std::mem::replace(&mut self.has_looked, true);
        if begins {
            let directory = file.parent().filter(|directory| !directory.as_os_str().is_empty());
            self.directory = DirectoryWatch::new(directory.unwrap_or(Path::new("."))).ok();
        }
        // A file causes no event if it existed before the watch began or if its directory cannot be watched, so
        // it is detected by trying to remove it.
        let name = file.file_name().map(|name| name.to_string_lossy());
        let may_be_there = match (&self.directory, name) {
            (Some(watch), Some(name)) => begins || watch.has_seen(&name),
            _ => true,
        };
        may_be_there && std::fs::remove_file(file).is_ok()
    }
}

impl Supervisor<'_> {
    /// Fires the trigger when it is due, and runs the command when the jobs have ended.
    pub(super) fn watch_trigger(&mut self, now: u64) {
        let Some(trigger) = &mut self.trigger else { return };
        match trigger.stage {
            Stage::Armed => {
                let Some(cause) = trigger.signal.cause(self.started_ns, now) else { return };
                self.fire_trigger(&cause, now);
            }
            Stage::Fired(since) if now > since + LONGEST_END_NS => self.run_trigger_command(),
            Stage::Fired(_) | Stage::Running(_) | Stage::Over => {}
        }
    }

    /// Tells the jobs to end and save their verification states.
    pub(super) fn fire_trigger(&mut self, cause: &str, now: u64) {
        let Some(trigger) = self.trigger.as_mut().filter(|trigger| trigger.stage == Stage::Armed) else {
            return;
        };
        trigger.stage = Stage::Fired(now);
        self.notes.push(format!("{cause}: the jobs were told to end"));
        self.order_all(Order::StopAndSave);
    }

    /// True while the command has yet to start or end. Called after all jobs have ended.
    pub(super) fn has_trigger_left(&mut self) -> bool {
        if self.trigger.as_ref().is_some_and(|trigger| matches!(trigger.stage, Stage::Fired(_))) {
            self.run_trigger_command();
        }
        self.trigger.as_ref().is_some_and(|trigger| matches!(trigger.stage, Stage::Running(_)))
    }

    fn run_trigger_command(&mut self) {
        let Some(trigger) = &mut self.trigger else { return };
        trigger.stage = Stage::Over;
        let Some(command) = &trigger.plan.command else { return };
        match shell::start(command, self.options.report_alone) {
            Ok(pid) => trigger.stage = Stage::Running(pid),
            Err(error) => {
                let text =
                    format!("fathom: --trigger={command}: cannot be started: {error}", error = plain(&error));
                self.observer.message(&Message::Error(text));
            }
        }
    }

    /// Handles the end of a process, which may be the command.
    pub(super) fn note_trigger_end(&mut self, pid: u32, ended: Ended) {
        let Some(trigger) = self.trigger.as_mut().filter(|trigger| trigger.stage == Stage::Running(pid))
        else {
            return;
        };
        trigger.stage = Stage::Over;
        if ended == Ended::Exited(0) {
            return;
        }
        let command = trigger.plan.command.as_deref().unwrap_or_default();
        self.observer.message(&Message::Error(format!("fathom: --trigger={command} {ended}")));
    }

    /// Stops waiting for the command, because a signal to end arrived.
    pub(super) fn end_trigger_command(&mut self) {
        if let Some(Stage::Running(pid)) = self.trigger.as_ref().map(|trigger| trigger.stage) {
            process::kill_group(pid, libc::SIGTERM);
        }
    }
}
