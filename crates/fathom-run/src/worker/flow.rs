//! `flow`: jobs of one flow keep their numbers of I/Os in the proportion of their weights.

use super::WorkerContext;
use crate::plan::Plan;
use crate::region::{Region, Stage, WorkerBlock};
use fathom_stats::samples::bump;
use fathom_sys::clock::Clock;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A worker's place in its flow.
pub(super) struct Flow<'a> {
    region: &'a Region,
    own: &'a WorkerBlock,
    weight: u64,
    /// All members but this one: index, weight, and the stage from which on it counts.
    others: Vec<(usize, u64, Stage)>,
    sleep_ticks: u64,
}

impl<'a> Flow<'a> {
    /// The flow of a worker, if it is in one with others.
    pub(super) fn of(context: &WorkerContext<'a>, clock: Clock) -> Option<Flow<'a>> {
        let (id, weight) = membership(context.plan, context.index)?;
        let others: Vec<(usize, u64, Stage)> = (0..context.plan.workers.len())
            .filter(|&index| index != context.index)
            .filter_map(|index| {
                let (other_id, weight) = membership(context.plan, index)?;
                let job = context.plan.job_of(&context.plan.workers[index]);
                let first_stage =
                    if job.time.startdelay.1.is_zero() { Stage::Created } else { Stage::Ramping };
                (other_id == id).then_some((index, weight, first_stage))
            })
            .collect();
        let sleep = Duration::from_micros(u64::from(context.job().rate.flow_sleep));
        let flow = Flow {
            region: context.region,
            own: context.block(),
            weight,
            others,
            sleep_ticks: clock.ticks_of(sleep),
        };
        (!flow.others.is_empty()).then_some(flow)
    }

    /// The tick until which this worker waits because it is ahead of the others; `None` when it is not.
    ///
    /// It is ahead when it has done more of its weight than the flow as a whole. Members that do not run yet, or any more, do
    /// not count; one that is about to start with the others does.
    pub(super) fn is_ahead(&self, now: u64) -> Option<u64> {
        let own_ios = self.own.flow_ios.load(Relaxed);
        let (mut ios, mut weights) = (own_ios, self.weight);
        for &(index, weight, first_stage) in &self.others {
            let block = self.region.worker(index);
            if (first_stage..=Stage::Running).contains(&block.stage()) {
                ios += block.flow_ios.load(Relaxed);
                weights += weight;
            }
        }
        let ahead = u128::from(own_ios) * u128::from(weights) > u128::from(ios) * u128::from(self.weight);
        ahead.then_some(now + self.sleep_ticks)
    }

    /// Counts an I/O of this worker.
    pub(super) fn issued(&self) {
        bump(&self.own.flow_ios, 1);
    }
}

/// Flow and weight of a worker; `None` when it is in no flow.
fn membership(plan: &Plan, index: usize) -> Option<(u32, u64)> {
    let job = plan.job_of(&plan.workers[index]);
    let weight = u64::from(job.rate.flow);
    (weight > 0).then_some((job.rate.flow_id, weight))
}
