//! The ramp: I/O runs, but does not count yet (`ramp_time`, `ramp_size`).

use super::WorkerContext;
use fathom_spec::JobSpec;
use std::sync::atomic::Ordering::Relaxed;

/// While a ramp waits for an amount, it is looked at this often.
const LOOK_NS: u64 = 1_000_000;

/// A ramp in progress. With both a time and an amount, it lasts until both are reached.
pub(super) struct Ramp {
    /// Monotonic ns at which the time is over.
    end_ns: u64,
    /// Bytes to move first.
    bytes: u64,
}

impl Ramp {
    /// The ramp of a job that begins now, if it has one.
    pub(super) fn of(job: &JobSpec, now_ns: u64) -> Option<Ramp> {
        let time = job.time.ramp_time.unwrap_or_default();
        let bytes = job.time.ramp_size.unwrap_or(0);
        if time.is_zero() && bytes == 0 {
            return None;
        }
        Some(Ramp { end_ns: now_ns + time.as_nanos() as u64, bytes })
    }

    /// True when the worker may begin to record. With `group_reporting` the amount is that of all jobs of the group.
    pub(super) fn is_over(&self, now_ns: u64, context: &WorkerContext<'_>) -> bool {
        now_ns >= self.end_ns && (self.bytes == 0 || self.moved(context) >= self.bytes)
    }

    /// Monotonic ns at which to look again.
    pub(super) fn next_look_ns(&self, now_ns: u64) -> u64 {
        if self.bytes > 0 { now_ns + LOOK_NS } else { self.end_ns }
    }

    fn moved(&self, context: &WorkerContext<'_>) -> u64 {
        let own_group = context.worker_plan().group_id;
        let together = context.job().measurement.group_reporting;
        (0..context.plan.workers.len())
            .filter(|&index| {
                index == context.index || (together && context.plan.workers[index].group_id == own_group)
            })
            .map(|index| {
                let block = context.region.worker(index);
                // A worker that records has done its share, and its counters began anew.
                let done = if block.start_ns.load(Relaxed) != 0 { self.bytes } else { 0 };
                let moved: u64 = block.samples.directions.iter().map(|d| d.bytes.load(Relaxed)).sum();
                done.saturating_add(moved)
            })
            .fold(0, u64::saturating_add)
    }
}
