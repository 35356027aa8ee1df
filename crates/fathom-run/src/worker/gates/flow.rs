//! `flow`: jobs in one flow keep their I/O counts in proportion to their weights.

use crate::region::{Region, Stage, WorkerBlock};
use crate::worker::WorkerContext;
use crate::worker::feature::{Choice, Feature, Needs};
use fathom_stats::samples::bump;
use fathom_sys::clock::Clock;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A worker's membership in its flow.
pub(in crate::worker) struct Flow<'a> {
    region: &'a Region,
    own: &'a WorkerBlock,
    weight: u64,
    /// All other members: index, weight, and the stage from which each one counts.
    others: Vec<(usize, u64, Stage)>,
    sleep_ticks: u64,
}

impl Feature for Flow<'_> {
    /// Decides whether the next I/O is delayed.
    fn needs(&self) -> Needs {
        Needs { choice: Choice::EachIo, ..Needs::default() }
    }
}

impl<'a> Flow<'a> {
    /// The flow of a worker, if it shares one with others.
    pub(in crate::worker) fn of(context: &WorkerContext<'a>, clock: Clock) -> Option<Flow<'a>> {
        let plan = context.worker_plan().flow?;
        let others: Vec<(usize, u64, Stage)> = context
            .plan
            .workers
            .iter()
            .enumerate()
            .filter(|&(index, _)| index != context.index)
            .filter_map(|(index, worker)| {
                let other = worker.flow.filter(|other| other.id == plan.id)?;
                let starts_at_once = worker.time.start_delay.1.is_zero();
                Some((index, other.weight, if starts_at_once { Stage::Created } else { Stage::Ramping }))
            })
            .collect();
        let flow = Flow {
            region: context.region,
            own: context.block(),
            weight: plan.weight,
            others,
            sleep_ticks: clock.ticks_of(Duration::from_micros(plan.pause_us)),
        };
        (!flow.others.is_empty()).then_some(flow)
    }

    /// The tick until which this worker waits because it is ahead of the flow; `None` if it is not. It is ahead
    /// if it has done more I/Os per weight than the flow as a whole. Only running members count, and those that
    /// are about to start together with the others.
    pub(in crate::worker) fn is_ahead(&self, now: u64) -> Option<u64> {
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
    pub(in crate::worker) fn issued(&self) {
        bump(&self.own.flow_ios, 1);
    }
}
