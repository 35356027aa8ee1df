//! The ramp: I/O that runs before recording starts (`ramp_time`, `ramp_size`).

use super::WorkerContext;
use crate::plan::model::time::RampPlan;
use std::sync::atomic::Ordering::Relaxed;

/// Poll interval while a ramp waits for an amount.
const LOOK_NS: u64 = 1_000_000;

/// A ramp in progress. With both a time and an amount, it lasts until both are reached.
pub(super) struct Ramp<'a> {
    plan: &'a RampPlan,
    /// Monotonic time at which the ramp's duration is over, ns.
    end_ns: u64,
}

impl<'a> Ramp<'a> {
    /// Starts a ramp.
    pub(super) fn new(plan: &'a RampPlan, now_ns: u64) -> Ramp<'a> {
        Ramp { plan, end_ns: now_ns + plan.time.as_nanos() as u64 }
    }

    /// True when the worker may begin to record. The amount to move may be a sum over all jobs of the group.
    pub(super) fn is_over(&self, now_ns: u64, context: &WorkerContext<'_>) -> bool {
        now_ns >= self.end_ns && (self.plan.bytes == 0 || self.moved(context) >= self.plan.bytes)
    }

    /// Monotonic time of the next check, ns.
    pub(super) fn next_look_ns(&self, now_ns: u64) -> u64 {
        if self.plan.bytes > 0 { now_ns + LOOK_NS } else { self.end_ns }
    }

    fn moved(&self, context: &WorkerContext<'_>) -> u64 {
        let own_group = context.worker_plan().group_id;
        let together = self.plan.counts_group;
        (0..context.plan.workers.len())
            .filter(|&index| {
                index == context.index || (together && context.plan.workers[index].group_id == own_group)
            })
            .map(|index| {
                let block = context.region.worker(index);
                // A worker that already records has moved its share, and its counters have been reset.
                let done = if block.start_ns.load(Relaxed) != 0 { self.plan.bytes } else { 0 };
                let moved: u64 = block.samples.directions.values().map(|d| d.bytes.load(Relaxed)).sum();
                done.saturating_add(moved)
            })
            .fold(0, u64::saturating_add)
    }
}
