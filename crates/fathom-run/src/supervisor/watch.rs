//! Deadlines and hangs. A worker that neither ends nor completes any I/O after it should have stopped is stuck: the
//! supervisor says which I/Os, for how long, reports what was counted, and goes on without it.

use super::{Observer, Supervisor, does_io};
use crate::message::Message;
use crate::region::Stage;
use crate::unit::Unit;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::process;
use std::sync::atomic::Ordering::Relaxed;

/// Without any completion for this long after its end, a worker is stuck. The report must come within a second.
const GRACE_NS: u64 = 600_000_000;
/// A device that has been slow before is not stuck for being slow again: it has this many times its longest latency.
const GRACE_FACTOR: u64 = 4;
/// But no device has longer than this.
const LONGEST_GRACE_NS: u64 = 300_000_000_000;
/// Stuck I/Os that are named one by one.
const NAMED: usize = 8;

/// When a worker last got somewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    completed: u64,
    stage: u32,
    /// Monotonic ns of the last change.
    changed_ns: u64,
}

impl<O: Observer> Supervisor<'_, O> {
    /// Takes interval samples, feeds the status line, and gives up on what is stuck.
    pub(super) fn watch_workers(&mut self) {
        let now = monotonic_ns();
        for index in self.indices_started() {
            let block = self.region.worker(index);
            self.tracked[index].series.sample(block, now);
            self.note_progress(index, now);
            if self.is_stuck(index, now) {
                self.give_up_on(index);
            }
        }
        self.watch_steady_states(now);
        self.watch_slices(now);
        self.watch_timeline(now);
        self.look_for_dump_requests(now);
        self.tick_if_due(now);
        self.report_if_due(now);
    }

    /// True when some worker is within reach of its deadline or past it.
    pub(super) fn a_deadline_is_near(&self, now: u64) -> bool {
        self.tracked.iter().enumerate().any(|(index, worker)| {
            let deadline = self.region.worker(index).deadline_ns.load(Relaxed);
            worker.is_started() && deadline != 0 && now + GRACE_NS > deadline
        })
    }

    fn note_progress(&mut self, index: usize, now: u64) {
        let block = self.region.worker(index);
        let stage = block.stage() as u32;
        let completed: u64 =
            block.samples.directions.iter().map(|direction| direction.completed.load(Relaxed)).sum::<u64>()
                + block.samples.sync.count();
        let progress = &mut self.tracked[index].watch;
        if progress.changed_ns == 0 || progress.completed != completed || progress.stage != stage {
            *progress = Progress { completed, stage, changed_ns: now };
        }
    }

    fn is_stuck(&self, index: usize, now: u64) -> bool {
        let block = self.region.worker(index);
        let longest =
            block.samples.directions.iter().map(|direction| direction.clat.max_ns()).max().unwrap_or(0);
        let grace = longest.saturating_mul(GRACE_FACTOR).clamp(GRACE_NS, LONGEST_GRACE_NS);
        let idle = now.saturating_sub(self.tracked[index].watch.changed_ns) > grace;
        let past = |end: u64| now.saturating_sub(end) > GRACE_NS;
        let deadline = block.deadline_ns.load(Relaxed);
        let past_deadline = deadline != 0 && past(deadline) && does_io(block.stage());
        let past_stop = self.stopping_since.is_some_and(past) && block.stage() != Stage::Ended;
        idle && (past_deadline || past_stop)
    }

    fn give_up_on(&mut self, index: usize) {
        let worker = &self.plan.workers[index];
        let job = self.plan.job_of(worker);
        let pid = self.tracked[index].process;
        let what = self.describe_stuck(index);
        let note =
            format!("job {} (pid {pid}) is stuck: {what}; its figures are those up to that moment", job.name);
        self.notes.push(note);
        let text = format!("file:worker, func=stuck I/O, error={}", fathom_sys::Errno(libc::ETIMEDOUT));
        self.region.worker(index).fail(libc::ETIMEDOUT, &text);
        self.tracked[index].stuck = true;
        self.mark_over(index);
    }

    /// Ends a process with a stuck worker, once no other worker (a thread of the same process) needs it any more.
    pub(super) fn end_stuck_process(&self, pid: u32) {
        let members = || self.tracked.iter().filter(|worker| worker.process == pid);
        if members().any(|worker| worker.stuck) && !members().any(|worker| worker.is_started()) {
            process::kill(pid, libc::SIGKILL);
        }
    }

    fn describe_stuck(&self, index: usize) -> String {
        let stuck: Vec<&Unit> = self.region.units(index).iter().filter(|unit| unit.is_in_flight()).collect();
        if stuck.is_empty() {
            return match self.region.worker(index).stage() {
                Stage::SettingUp | Stage::Created => "it does not get its files open".to_owned(),
                Stage::PreReading => "it does not get its files read into the cache".to_owned(),
                Stage::FinalSync => "its final fsync does not return".to_owned(),
                _ => "it does not answer".to_owned(),
            };
        }
        let names = self.file_names(index);
        let now = self.clock.ticks();
        let listed: Vec<String> = stuck
            .iter()
            .take(NAMED)
            .map(|unit| {
                let seconds = self.clock.span_ns(now.saturating_sub(unit.start())) as f64 / 1e9;
                let file = names.get(unit.file() as usize).map_or("?", String::as_str);
                let word = unit.operation().word();
                format!("{word} {file} offset={} length={} for {seconds:.1} s", unit.offset(), unit.length())
            })
            .collect();
        let more = stuck.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        let plural = if stuck.len() == 1 { "I/O does" } else { "I/Os do" };
        format!("{} {plural} not return: {}{rest}", stuck.len(), listed.join(", "))
    }

    /// Names of a worker's files by the plan alone: looking at a hung file system would hang the supervisor.
    fn file_names(&self, index: usize) -> Vec<String> {
        let worker = &self.plan.workers[index];
        crate::files::names::planned_paths(worker, self.plan.job_of(worker))
            .into_iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    /// Prints a line per stuck or lost worker before the report.
    pub(super) fn say_stuck(&mut self) {
        for (index, worker) in self.tracked.iter().enumerate() {
            if !worker.stuck {
                continue;
            }
            let (errno, text) = self.region.worker(index).error().unwrap_or_default();
            let line = format!("fio: pid={}, err={errno}/{text}", worker.process);
            self.observer.message(&Message::Output(line));
        }
    }
}
