//! Overdue workers: reports what the run is waiting for, and gives up workers without progress. The report
//! lists the stuck I/Os with their age, and the run continues without these workers.

use super::Supervisor;
use super::progress::Look;
use crate::cause::Cause;
use crate::crew::{InFlight, Stage};
use crate::message::Message;
use crate::unit::Operation;
use fathom_spec::engines::metadata::Metadata;
use fathom_stats::counted;
use fathom_sys::Errno;
use fathom_sys::clock::monotonic_ns;

/// Time before a deadline from which its worker is checked more often.
const NEAR_NS: u64 = 600_000_000;
/// How long a worker must be overdue before it is observed closely.
const CLOSELY_AFTER_NS: u64 = 100_000_000;
/// Maximum number of stuck I/Os that a message lists.
const NAMED: usize = 8;
/// Maximum number of jobs that a message lists as waited for.
const NAMED_JOBS: usize = 4;
/// How long the supervisor waits for an overdue worker before it prints a message; the second limit applies
/// after the user has asked to end.
const SILENCE_NS: u64 = 2_000_000_000;
const SILENCE_AFTER_SIGNAL_NS: u64 = 500_000_000;
/// Pauses between the messages about waiting.
const PAUSES_NS: [u64; 4] = [5_000_000_000, 10_000_000_000, 30_000_000_000, 60_000_000_000];
/// A second signal within this time counts as a repetition of the first: the program `timeout` signals the
/// process and then its group.
const SECOND_SIGNAL_NS: u64 = 250_000_000;

/// Timer of the messages about waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WaitingLines {
    /// Number of messages so far.
    said: usize,
    /// Monotonic time of the earliest next message, ns.
    next_ns: u64,
}

impl Supervisor<'_> {
    /// Takes interval samples, updates the status line, and gives up stuck workers.
    pub(super) fn watch_workers(&mut self) {
        let now = monotonic_ns();
        let mut silent = Vec::new();
        for index in self.indices_started() {
            let state = self.crew.state(index);
            let overdue = self.overdue_since(index, &state, now);
            let closely =
                overdue.is_some() && self.tracked[index].progress.silent_ns(now) >= CLOSELY_AFTER_NS;
            let closer = closely.then(|| self.crew.signs_of_life(index));
            let tracked = &mut self.tracked[index];
            tracked.deadline_ns = state.deadline_ns;
            tracked.series.sample(&state, now);
            tracked.progress.see(Look { ended: state.ended(), stage: state.stage, closer }, now);
            let Some(since) = overdue.filter(|_| state.stage != Stage::Ended) else { continue };
            if self.tracked[index].progress.is_stuck(self.patience_ns(index, &state)) {
                let what = self.describe_stuck(index);
                self.give_up_on(index, &format!("is stuck: {what}"), Errno(libc::ETIMEDOUT), Cause::STUCK);
            } else {
                let alone = self.tracked[index].progress.silent_ns(now).min(now.saturating_sub(since));
                let patience = if self.signal.is_some() { SILENCE_AFTER_SIGNAL_NS } else { SILENCE_NS };
                silent.extend((alone >= patience).then_some(index));
            }
        }
        self.say_what_is_waited_for(&silent, now);
        self.watch_steady_states(now);
        self.watch_slices(now);
        self.watch_timeline(now);
        self.watch_facts(now);
        self.look_for_dump_requests(now);
        self.watch_trigger(now);
        self.tick_if_due(now);
        self.report_if_due(now);
        self.take_snapshot_if_due(now);
    }

    /// True if a worker is close to its deadline or past it.
    pub(super) fn a_deadline_is_near(&self, now: u64) -> bool {
        let is_near = |deadline: u64| deadline != 0 && now + NEAR_NS > deadline;
        self.tracked.iter().any(|worker| worker.is_started() && is_near(worker.deadline_ns))
    }

    /// True for a signal to end that does not repeat the first one.
    pub(super) fn is_second_signal(&self) -> bool {
        self.signal.is_some()
            && self
                .stopping_since
                .is_some_and(|since| monotonic_ns().saturating_sub(since) >= SECOND_SIGNAL_NS)
    }

    /// Handles the second signal to end: stops waiting.
    pub(super) fn stop_waiting(&mut self) {
        if !self.is_second_signal() {
            return;
        }
        for index in self.indices_started() {
            let what = self.describe_stuck(index);
            self.give_up_on(
                index,
                &format!("was ended by a second signal: {what}"),
                Errno(libc::EINTR),
                Cause::SECOND_SIGNAL,
            );
        }
    }

    /// Gives a worker up and continues the run without it.
    fn give_up_on(&mut self, index: usize, how: &str, errno: Errno, cause: Cause) {
        let job = &self.plan.workers[index];
        let pid = self.tracked[index].process;
        self.notes
            .push(format!("job {} (pid {pid}) {how}; its figures are those up to that moment", job.name));
        self.crew.fail(index, errno, &cause.line(errno));
        self.tracked[index].stuck = true;
        self.mark_over(index);
    }

    /// Reports periodically what the run is still waiting for.
    fn say_what_is_waited_for(&mut self, silent: &[usize], now: u64) {
        if silent.is_empty() {
            self.waiting_lines = WaitingLines::default();
            return;
        }
        if now < self.waiting_lines.next_ns {
            return;
        }
        let pause = PAUSES_NS[self.waiting_lines.said.min(PAUSES_NS.len() - 1)];
        self.waiting_lines = WaitingLines { said: self.waiting_lines.said + 1, next_ns: now + pause };
        let remedy =
            if self.signal.is_some() { "a second Ctrl-C ends the wait" } else { "Ctrl-C ends the wait" };
        for &index in silent.iter().take(NAMED_JOBS) {
            let name = &self.plan.workers[index].name;
            let pid = self.tracked[index].process;
            let line =
                format!("fathom: job {name} (pid {pid}): waiting for {}; {remedy}", self.awaited(index));
            self.observer.message(&Message::Error(line));
        }
        if silent.len() > NAMED_JOBS {
            let more = silent.len() - NAMED_JOBS;
            self.observer.message(&Message::Error(format!(
                "fathom: waiting for {}; {remedy}",
                counted(more, "more clone")
            )));
        }
    }

    /// Describes what an overdue worker is currently waiting for.
    fn awaited(&self, index: usize) -> String {
        if self.tracked[index].progress.is_stopped() {
            return "its process, which a signal has stopped (kill -CONT continues it)".to_owned();
        }
        let in_flight = self.crew.in_flight(index);
        let Some(oldest_ns) = in_flight.iter().map(|io| io.age_ns).max() else {
            return match self.crew.state(index).stage {
                Stage::SettingUp | Stage::Created => "its files to be opened",
                Stage::PreReading => "its files to be read into the cache",
                Stage::FinalSync => "its data to be synced",
                Stage::PostRun => "the program of exec_postrun or ioengine=exec",
                Stage::Finishing => "its files to be closed",
                _ => "it to end",
            }
            .to_owned();
        };
        let seconds = oldest_ns as f64 / 1e9;
        let metadata = self.plan.workers[index].metadata;
        let kinds = [Operation::Read, Operation::Write, Operation::Trim, Operation::Sync];
        let counted: Vec<String> = kinds
            .into_iter()
            .filter_map(|kind| {
                let is_kind =
                    |io: &&InFlight| io.operation == kind || (kind.is_sync() && io.operation.is_sync());
                let count = in_flight.iter().filter(is_kind).count();
                let plural = if count == 1 { "" } else { "s" };
                let word = metadata.map_or(kind.word(), Metadata::word);
                (count > 0).then(|| format!("{count} {word}{plural}"))
            })
            .collect();
        let several = counted.len() > 1 || !counted[0].starts_with("1 ");
        let age =
            if several { format!("the oldest {seconds:.1} s old") } else { format!("{seconds:.1} s old") };
        format!("{}, {age}", counted.join(" and "))
    }

    fn describe_stuck(&self, index: usize) -> String {
        let stuck = self.crew.in_flight(index);
        if stuck.is_empty() {
            return match self.crew.state(index).stage {
                Stage::SettingUp | Stage::Created => "its files cannot be opened",
                Stage::PreReading => "its files cannot be read into the cache",
                Stage::FinalSync => "its final sync does not return",
                Stage::PostRun => "its program had not ended (exec_postrun, ioengine=exec)",
                _ => "it does not answer",
            }
            .to_owned();
        }
        let names = self.file_names(index);
        let metadata = self.plan.workers[index].metadata;
        let listed: Vec<String> = stuck
            .iter()
            .take(NAMED)
            .map(|io| {
                let seconds = io.age_ns as f64 / 1e9;
                let file = names.get(io.file as usize).map_or("?", String::as_str);
                let word = match metadata {
                    Some(metadata) => return format!("{} {file} for {seconds:.1} s", metadata.word()),
                    None => io.operation.word(),
                };
                format!("{word} {file} offset={} length={} for {seconds:.1} s", io.offset, io.length)
            })
            .collect();
        let more = stuck.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        let plural = if stuck.len() == 1 { "I/O does" } else { "I/Os do" };
        format!("{} {plural} not return: {}{rest}", stuck.len(), listed.join(", "))
    }

    /// Names of a worker's files, from the plan alone: accessing a hung file system would hang the supervisor.
    fn file_names(&self, index: usize) -> Vec<String> {
        let worker = &self.plan.workers[index];
        crate::files::names::planned_paths(&worker.files.names)
            .into_iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    /// Prints a line for each stuck or lost worker before the report.
    pub(super) fn say_stuck(&mut self) {
        for (index, worker) in self.tracked.iter().enumerate() {
            if !worker.stuck {
                continue;
            }
            let error = self.crew.figures(index).error.unwrap_or_default();
            let line = format!("fio: pid={}, err={}/{}", worker.process, error.code, error.text);
            self.observer.message(&Message::Failure(line));
        }
    }
}
