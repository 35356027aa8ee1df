//! The state of a run for the status line.

use super::{Standing, Supervisor};
use crate::crew::{Stage, WorkerState};
use crate::plan::model::targets::DirectionPlan;
use fathom_stats::PerDirection;
use fathom_stats::live::{LiveTick, RunState};
use std::time::Duration;

/// Age of the run at which the estimated remaining time is first shown.
const ESTIMATE_AFTER_NS: u64 = 2_000_000_000;

/// The state that was shown last.
#[derive(Default)]
pub(super) struct LiveView {
    interval_ns: u64,
    last_ns: u64,
    bytes: PerDirection<u64>,
    ios: PerDirection<u64>,
}

impl LiveView {
    pub(super) fn time_to_next(&self, now: u64) -> Duration {
        Duration::from_nanos((self.last_ns + self.interval_ns).saturating_sub(now))
    }
}

impl Supervisor<'_> {
    pub(super) fn tick_if_due(&mut self, now: u64) {
        let Some(interval) = self.options.tick else { return };
        if self.live.last_ns == 0 {
            self.live.interval_ns = interval.as_nanos() as u64;
            self.live.last_ns = now;
            return;
        }
        if now < self.live.last_ns + self.live.interval_ns {
            return;
        }
        let tick = self.live_tick(now);
        let details = self.live_details(now);
        self.observer.tick(&tick, details.as_ref());
    }

    fn live_tick(&mut self, now: u64) -> LiveTick {
        let mut tick = LiveTick { unit_base: 8, kb_base: 1024, ..LiveTick::default() };
        let (mut bytes, mut ios) = (PerDirection::default(), PerDirection::default());
        for index in 0..self.tracked.len() {
            let state = self.crew.state(index);
            tick.states.push(self.run_state(index, &state));
            for (direction, so_far) in state.directions.iter() {
                bytes[direction] += so_far.bytes;
                ios[direction] += so_far.ios;
            }
            if self.tracked[index].is_started() {
                tick.open_files += state.open_files;
                self.add_running(index, &mut tick);
            }
        }
        let span = (now - self.live.last_ns).max(1);
        let per_second = |now: u64, before: u64| {
            (u128::from(now.saturating_sub(before)) * 1_000_000_000 / u128::from(span)) as u64
        };
        tick.bytes_per_second = PerDirection::from_fn(|d| per_second(bytes[d], self.live.bytes[d]));
        tick.iops = PerDirection::from_fn(|d| per_second(ios[d], self.live.ios[d]));
        self.live.bytes = bytes;
        self.live.ios = ios;
        self.live.last_ns = now;
        let age = now - self.started_ns;
        tick.estimate_known = age >= ESTIMATE_AFTER_NS;
        tick.eta_seconds = self.seconds_to_go(now);
        tick.percent_done = tick.eta_seconds.map(|left| {
            let elapsed = age as f64 / 1e9;
            (100.0 * elapsed / (elapsed + left as f64).max(0.001)).min(100.0)
        });
        tick
    }

    fn add_running(&self, index: usize, tick: &mut LiveTick) {
        let worker = &self.plan.workers[index];
        let report = &worker.report;
        tick.running += 1;
        for &direction in worker.target_plan.used_directions() {
            tick.rate_limit_bytes += report.rates.bytes[direction];
            tick.rate_min_bytes += report.rates.least_bytes[direction];
            tick.rate_limit_iops += report.rates.ios[direction];
            tick.rate_min_iops += report.rates.least_ios[direction];
        }
        tick.kb_base = report.view.kb_base;
        tick.unit_base = report.view.unit_base;
    }

    /// State of the run as seen from the state of one worker.
    pub(super) fn run_state(&self, index: usize, state: &WorkerState) -> RunState {
        let tracked = &self.tracked[index];
        match tracked.standing {
            Standing::Waiting => return RunState::NotStarted,
            Standing::Over if tracked.killed.is_some() || tracked.stuck => return RunState::Killed,
            Standing::Over if state.has_failed => return RunState::Failed,
            Standing::Over => return RunState::Reaped,
            Standing::Started { .. } => {}
        }
        match state.stage {
            Stage::NotStarted | Stage::Created => RunState::Created,
            Stage::SettingUp | Stage::Ready => RunState::Initialising,
            Stage::PreReading => RunState::PreReading,
            Stage::Ramping => RunState::Ramping,
            Stage::Running | Stage::Draining => self.running_state(index),
            Stage::Verifying => RunState::Verifying,
            Stage::FinalSync => RunState::FinalSync,
            Stage::PostRun | Stage::Finishing => RunState::Finishing,
            Stage::Ended => RunState::Exited,
        }
    }

    fn running_state(&self, index: usize) -> RunState {
        let plan = &self.plan.workers[index].target_plan;
        let sequential = !plan.random;
        match plan.directions {
            DirectionPlan::Read | DirectionPlan::Mix(100) => RunState::Reading { sequential },
            DirectionPlan::Write | DirectionPlan::Mix(0) => RunState::Writing { sequential },
            DirectionPlan::Mix(_) => RunState::Mixed { sequential },
            DirectionPlan::Trim | DirectionPlan::TrimThenWrite => RunState::Trimming { sequential },
        }
    }

    /// The longest estimate over all workers of the current stage, plus the known run times of later stages.
    pub(super) fn seconds_to_go(&self, now: u64) -> Option<u64> {
        let mut by_stage = std::collections::BTreeMap::<u32, u64>::new();
        for index in 0..self.tracked.len() {
            let left = match self.tracked[index].standing {
                Standing::Over => 0,
                Standing::Waiting => self.plan.workers[index].time.expected().as_secs(),
                Standing::Started { .. } => self.worker_seconds_to_go(index, now)?,
            };
            let longest = by_stage.entry(self.plan.workers[index].stage).or_default();
            *longest = (*longest).max(left);
        }
        Some(by_stage.values().sum())
    }

    fn worker_seconds_to_go(&self, index: usize, now: u64) -> Option<u64> {
        let state = self.crew.state(index);
        let time = &self.plan.workers[index].time;
        let (start, deadline) = (state.start_ns, state.deadline_ns);
        let by_time = match (start, deadline) {
            (0, _) if !time.runtime.is_zero() => Some(time.expected().as_secs()),
            (_, 0) => None,
            (_, deadline) => Some(deadline.saturating_sub(now).div_ceil(1_000_000_000)),
        };
        let (goal, done) = (state.goal_bytes, state.bytes());
        let by_amount = (start != 0 && goal > 0 && done > 0).then(|| {
            let elapsed = (now - start) as f64 / 1e9;
            (elapsed * goal.saturating_sub(done) as f64 / done as f64) as u64
        });
        match (by_time, by_amount) {
            (Some(time), Some(amount)) => Some(time.min(amount)),
            (time, amount) => time.or(amount),
        }
    }
}
