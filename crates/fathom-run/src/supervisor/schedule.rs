//! Which worker may start when: stages, `wait_for`, the common start gate, and `exitall`.

use super::{Observer, Standing, Supervisor};
use crate::cause::Cause;
use crate::exhausted;
use crate::message::Message;
use crate::plan::moves_no_data;
use crate::region::{Order, Stage};
use fathom_spec::options::threads::ExitWhat;
use fathom_stats::report::StageReport;
use fathom_sys::Errno;
use fathom_sys::clock::monotonic_ns;

impl<O: Observer> Supervisor<'_, O> {
    /// Starts every worker whose time has come, as one batch.
    pub(super) fn start_runnable(&mut self) {
        if self.stopping_since.is_some() {
            return;
        }
        loop {
            let runnable = self.runnable();
            if !runnable.is_empty() {
                return self.start_batch(&runnable);
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

    /// Notes what the devices did in the stage that is over.
    pub(super) fn end_stage(&mut self) {
        let disks = self.disks.end_stage();
        let workers = self.plan.workers.iter().filter(|worker| worker.stage == self.stage);
        let mut groups: Vec<u32> = workers.map(|worker| worker.group_id).collect();
        groups.dedup();
        if !disks.is_empty() {
            self.stages.push(StageReport { groups, disks });
        }
    }

    fn runnable(&mut self) -> Vec<usize> {
        let mut runnable = Vec::new();
        for index in 0..self.tracked.len() {
            let worker = &self.plan.workers[index];
            if self.tracked[index].standing != Standing::Waiting || worker.stage > self.stage {
                continue;
            }
            // Files that could not be prepared, a stop that came first, or nothing to do but prepare files.
            let block = self.region.worker(index);
            let job = self.plan.job_of(worker);
            let only_files = job.file.create_only;
            if block.error().is_some() || block.should_stop() || only_files {
                if only_files {
                    block.set_job_start(monotonic_ns(), job.time.job_start_clock_id);
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
        let is_thread = |index: &usize| self.plan.job_of(&self.plan.workers[*index]).threads.thread;
        let threads: Vec<usize> = indices.iter().copied().filter(is_thread).collect();
        for &index in indices {
            self.region.worker(index).set_stage(Stage::Created);
        }
        for &index in indices.iter().filter(|index| !is_thread(index)) {
            let started = self.start_process(index);
            self.track_start(&[index], started, batch);
        }
        if !threads.is_empty() {
            let started = self.start_threads(&threads);
            self.track_start(&threads, started, batch);
        }
        self.closed_batches.push(batch);
    }

    /// Notes a new process. Workers for which there is none have failed; the others run, and the report is whole.
    fn track_start(&mut self, indices: &[usize], started: Result<u32, Errno>, batch: u32) {
        for &index in indices {
            match started {
                Ok(pid) => {
                    self.tracked[index].process = pid;
                    self.tracked[index].standing = Standing::Started { batch };
                    self.region.worker(index).pid.store(pid, std::sync::atomic::Ordering::Relaxed);
                }
                Err(errno) => {
                    let name = &self.plan.job_of(&self.plan.workers[index]).name;
                    self.observer.message(&Message::Error(format!(
                        "fathom: no process for job {name}: {errno}; {}",
                        exhausted::processes()
                    )));
                    self.region.worker(index).fail(errno, Cause::FORK);
                    self.mark_over(index);
                }
            }
        }
    }

    /// Opens the gate of each batch whose workers are all ready (or over).
    pub(super) fn open_gates(&mut self) {
        for batch in std::mem::take(&mut self.closed_batches) {
            let members: Vec<usize> = (0..self.tracked.len())
                .filter(|&index| self.tracked[index].standing == Standing::Started { batch })
                .collect();
            let all_ready = members.iter().all(|&index| self.region.worker(index).stage() >= Stage::Ready);
            if !all_ready {
                self.closed_batches.push(batch);
                continue;
            }
            for &index in &members {
                self.disks.add(self.region.worker(index), self.plan.job_of(&self.plan.workers[index]));
            }
            for &index in &members {
                if !self.region.worker(index).should_stop() {
                    self.region.worker(index).send(Order::Go);
                }
            }
        }
    }

    /// `exit_on_io_done`: jobs that are mere company end when nobody is left to keep company.
    pub(super) fn dismiss_company(&mut self) {
        let is_company = |index: usize| moves_no_data(self.plan.job_of(&self.plan.workers[index]));
        let does_io = |index: usize| self.tracked[index].standing != Standing::Over && !is_company(index);
        if (0..self.tracked.len()).any(does_io) {
            return;
        }
        for index in 0..self.tracked.len() {
            let job = self.plan.job_of(&self.plan.workers[index]);
            if self.tracked[index].standing != Standing::Over && job.private.cpuio.exit_on_io_done {
                self.region.worker(index).send(Order::Stop);
            }
        }
    }

    /// `exitall` and `exitall_on_error`: one job's end is that of others.
    pub(super) fn apply_exitall(&mut self, index: usize, failed: bool) {
        let own = &self.plan.workers[index];
        let job = self.plan.job_of(own);
        let on_error = failed && job.error_handling.exitall_on_error;
        if !job.threads.exitall && !on_error {
            return;
        }
        for other in 0..self.tracked.len() {
            let worker = &self.plan.workers[other];
            let concerned = match job.threads.exit_what {
                _ if on_error => true,
                ExitWhat::All => true,
                ExitWhat::Group => worker.group_id == own.group_id,
                ExitWhat::Stonewall => worker.stage == own.stage,
            };
            if concerned && self.tracked[other].standing != Standing::Over {
                self.region.worker(other).send(Order::Stop);
            }
        }
    }
}
