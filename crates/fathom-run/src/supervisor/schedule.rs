//! Decides which worker may start: stages, `wait_for`, the common start gate, and `exitall`.

use super::{Gate, Standing, Supervisor};
use crate::cause::Cause;
use crate::crew::{Order, Stage, Start, job_start_ms};
use crate::message::Message;
use fathom_spec::options::threads::ExitWhat;
use fathom_stats::report::StageReport;
use fathom_sys::clock::{monotonic_ns, sleep_until};
use std::time::Duration;

/// Time before a start from which the supervisor sleeps with higher precision, because its poll interval would
/// delay the start.
pub(super) const NEAR: Duration = Duration::from_millis(20);

impl Supervisor<'_> {
    /// Starts every worker that may start now, as one batch.
    pub(super) fn start_runnable(&mut self) {
        if self.stopping_since.is_some() {
            return;
        }
        loop {
            let runnable = self.runnable();
            if let Some(stage) = runnable.iter().map(|&index| self.plan.workers[index].stage).max() {
                if self.observer.may_set_up(stage) {
                    self.start_batch(&runnable);
                }
                return;
            }
            let stage_is_over = (0..self.tracked.len())
                .filter(|&index| self.plan.workers[index].stage <= self.stage)
                .all(|index| self.tracked[index].standing == Standing::Over);
            let last_stage = self.plan.workers.last().map_or(0, |worker| worker.stage);
            if !stage_is_over || self.stage >= last_stage {
                return;
            }
            self.end_stage();
            self.stage += 1;
        }
    }

    /// Records the activity of devices and mounts in the finished stage.
    pub(super) fn end_stage(&mut self) {
        let (disks, mounts) = (self.crew.end_stage_of_disks(), self.crew.end_stage_of_mounts());
        let workers = self.plan.workers.iter().filter(|worker| worker.stage == self.stage);
        let mut groups: Vec<u32> = workers.map(|worker| worker.group_id).collect();
        groups.dedup();
        if !disks.is_empty() || !mounts.is_empty() {
            self.stages.push(StageReport { groups, disks, mounts });
        }
    }

    fn runnable(&mut self) -> Vec<usize> {
        let mut runnable = Vec::new();
        for index in 0..self.tracked.len() {
            let worker = &self.plan.workers[index];
            if self.tracked[index].standing != Standing::Waiting || worker.stage > self.stage {
                continue;
            }
            // This worker does not start: preparing its files failed, the run was stopped, or the job only
            // prepares files.
            let only_files = worker.files.layout.is_all;
            if self.has_failed(index) || self.tracked[index].is_told_to_stop || only_files {
                if only_files {
                    let clock_id = worker.time.start_clock;
                    self.tracked[index].job_start_ms = job_start_ms(monotonic_ns(), clock_id);
                }
                self.mark_over(index);
                continue;
            }
            let waits = worker.waits_for.is_some_and(|job| {
                (0..self.tracked.len()).any(|other| {
                    self.plan.workers[other].job == job && self.tracked[other].standing != Standing::Over
                })
            });
            if !waits {
                runnable.push(index);
            }
        }
        runnable
    }

    fn start_batch(&mut self, indices: &[usize]) {
        let batch = self.batch;
        self.batch += 1;
        for start in self.crew.start(indices) {
            self.track_start(start, batch);
        }
        self.closed_batches.push(batch);
    }

    /// Records a new process. A worker whose process could not be created has failed; the others run, and the
    /// report covers all workers.
    fn track_start(&mut self, start: Start, batch: u32) {
        let index = start.worker;
        match start.process {
            Ok(pid) => {
                self.tracked[index].process = pid;
                self.tracked[index].standing = Standing::Started { batch };
            }
            Err(refusal) => {
                let name = &self.plan.workers[index].name;
                self.observer.message(&Message::Error(format!(
                    "fathom: no process for job {name}: {}; {}",
                    refusal.errno, refusal.limits
                )));
                self.crew.fail(index, refusal.errno, &Cause::FORK.line(refusal.errno));
                self.mark_over(index);
            }
        }
    }

    /// Opens the gate of each batch whose workers have all become ready or ended, if the observer permits.
    pub(super) fn open_gates(&mut self) {
        self.gate_opens_ns = None;
        for batch in std::mem::take(&mut self.closed_batches) {
            let members: Vec<usize> = (0..self.tracked.len())
                .filter(|&index| self.tracked[index].standing == Standing::Started { batch })
                .collect();
            let all_ready = members.iter().all(|&index| self.crew.state(index).stage >= Stage::Ready);
            let gate = if all_ready { self.gate_of(&members) } else { Gate::Closed };
            if gate == Gate::Closed {
                self.closed_batches.push(batch);
                continue;
            }
            // Slow preparations are done now, before the agreed start time.
            self.crew.watch_layers();
            for &index in &members {
                if self.plan.workers[index].report.watches_disks {
                    self.crew.watch_disks(index);
                }
            }
            if let Gate::At(instant) = gate {
                sleep_until(instant);
            }
            for &index in &members {
                if !self.tracked[index].is_told_to_stop {
                    self.tell(index, Order::Go);
                }
            }
            if matches!(gate, Gate::At(_)) && self.stage == 0 && self.timeline.is_some() {
                // The timeline begins now, because these workers have waited for the agreed start.
                self.timeline = Some(self.begin_timeline(monotonic_ns()));
            }
        }
    }

    /// When the ready workers may start: now, at an instant soon, or not yet.
    fn gate_of(&mut self, members: &[usize]) -> Gate {
        // No gate is needed for workers that have all ended or were told to stop.
        let Some(&first) = members.first().filter(|_| self.stopping_since.is_none()) else {
            return Gate::Open;
        };
        let gate = self.observer.gate(self.plan.workers[first].stage);
        if let Gate::At(instant) = gate
            && instant > monotonic_ns() + NEAR.as_nanos() as u64
        {
            let earlier = self.gate_opens_ns.unwrap_or(u64::MAX);
            self.gate_opens_ns = Some(instant.min(earlier));
            return Gate::Closed;
        }
        gate
    }

    /// Applies `exit_on_io_done`: background load ends when the last job with I/O has ended.
    pub(super) fn stop_background_load(&mut self) {
        let is_background = |index: usize| self.plan.workers[index].background.is_some();
        let does_io = |index: usize| self.tracked[index].standing != Standing::Over && !is_background(index);
        if (0..self.tracked.len()).any(does_io) {
            return;
        }
        for index in 0..self.tracked.len() {
            let load = self.plan.workers[index].background.as_ref();
            if self.tracked[index].standing != Standing::Over && load.is_some_and(|load| load.follows_io) {
                self.tell(index, Order::Stop);
            }
        }
    }

    /// Applies `exitall` and `exitall_on_error`, by which the end of one job ends others.
    pub(super) fn apply_exitall(&mut self, index: usize, failed: bool) {
        let own = &self.plan.workers[index];
        let on_error = failed && own.exit.ends_all_by_failing;
        let what = if on_error { Some(ExitWhat::All) } else { own.exit.ends };
        let Some(what) = what else { return };
        for other in 0..self.tracked.len() {
            let worker = &self.plan.workers[other];
            let concerned = match what {
                ExitWhat::All => true,
                ExitWhat::Group => worker.group_id == own.group_id,
                ExitWhat::Stonewall => worker.stage == own.stage,
            };
            if concerned && self.tracked[other].standing != Standing::Over {
                self.tell(other, Order::Stop);
            }
        }
    }
}
