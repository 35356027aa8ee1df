//! How long the supervisor waits for an overdue worker.

use super::Supervisor;
use crate::crew::{Stage, WorkerState};

/// Maximum time that I/O may make no progress after the end of its job.
const PATIENCE_NS: u64 = 30_000_000_000;
/// Maximum time without progress after the user has asked to stop.
const PATIENCE_AFTER_SIGNAL_NS: u64 = 10_000_000_000;
/// Patience is at least this multiple of the device's longest latency, because a device that was slow before
/// may be equally slow again.
const LATENCY_FACTOR: u64 = 4;
/// Upper limit of the patience derived from the longest latency.
const LONGEST_FOR_LATENCY_NS: u64 = 300_000_000_000;
/// Assumed minimum throughput, in bytes per second: that of slow memory cards and links. Patience is at least
/// the time that the queued bytes take at this rate.
const SLOWEST_RATE: u64 = 1 << 20;
/// Upper limit of the patience derived from queued bytes.
const LONGEST_FOR_QUEUE_NS: u64 = 3_600_000_000_000;

impl Supervisor<'_> {
    /// The time at which a worker became overdue, monotonic ns: its run time was over, or it was told to stop.
    pub(super) fn overdue_since(&mut self, index: usize, state: &WorkerState, now: u64) -> Option<u64> {
        let deadline = state.deadline_ns;
        let by_time = (deadline != 0 && now > deadline && state.stage >= Stage::Ready).then_some(deadline);
        let tracked = &mut self.tracked[index];
        if tracked.is_told_to_stop {
            tracked.told_to_stop_ns.get_or_insert(now);
        }
        [by_time, tracked.told_to_stop_ns].into_iter().flatten().min()
    }

    /// The worker's patience: maximum time without progress.
    pub(super) fn patience_ns(&self, index: usize, state: &WorkerState) -> u64 {
        let usual = if self.signal.is_some() { PATIENCE_AFTER_SIGNAL_NS } else { PATIENCE_NS };
        let own =
            self.options.patience.map_or(usual, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let for_latency =
            state.longest_latency_ns().saturating_mul(LATENCY_FACTOR).min(LONGEST_FOR_LATENCY_NS);
        let queued = u128::from(self.crew.awaited_bytes(index));
        let for_queue =
            (queued * 1_000_000_000 / u128::from(SLOWEST_RATE)).min(u128::from(LONGEST_FOR_QUEUE_NS)) as u64;
        own.max(for_latency).max(for_queue)
    }
}
