//! I/Os that are due by a schedule of their own (`open_loop`): how long each took from when it was due.

use crate::latency::LatencyStats;
use crate::samples::{LatencySamples, bump};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The arrivals of one direction, as the worker counts them. All zeros is a valid value; [`reset`](ArrivalSamples::reset) must run
/// before the first record.
#[repr(C, align(64))]
pub struct ArrivalSamples {
    /// Monotonic ns since which they are counted, and until which; 0 for not yet.
    pub since_ns: AtomicU64,
    /// See `since_ns`.
    pub until_ns: AtomicU64,
    /// Those that were due and have not been started.
    pub waiting: AtomicU64,
    /// Most of them at a time.
    pub highest_backlog: AtomicU64,
    /// Time that arrivals have waited for their start, all together, ns.
    pub waited_ns: AtomicU64,
    /// End − due.
    pub response: LatencySamples,
    /// End − start.
    pub service: LatencySamples,
    /// Start − due.
    pub start_delay: LatencySamples,
    /// What is left of it without waiting for a slot, or for the call that hands over the I/O before.
    pub own_delay: LatencySamples,
}

impl ArrivalSamples {
    /// Counts from this monotonic time on.
    pub fn reset(&self, now_ns: u64) {
        for counter in [&self.until_ns, &self.waiting, &self.highest_backlog, &self.waited_ns] {
            counter.store(0, Relaxed);
        }
        for samples in [&self.response, &self.service, &self.start_delay, &self.own_delay] {
            samples.reset();
        }
        self.since_ns.store(now_ns, Relaxed);
    }

    /// So many arrivals are waiting now.
    pub fn set_backlog(&self, waiting: u64) {
        self.waiting.store(waiting, Relaxed);
        if waiting > self.highest_backlog.load(Relaxed) {
            self.highest_backlog.store(waiting, Relaxed);
        }
    }

    /// An arrival has waited for its start.
    pub fn add_wait(&self, ns: u64) {
        bump(&self.waited_ns, ns);
    }

    /// So many arrivals still wait at the end, for this long by now, and for this much of it since they are counted.
    pub fn count_waiting(&self, count: u64, since_due_ns: u64, waited_ns: u64) {
        self.response.record_many(since_due_ns, count);
        self.add_wait(waited_ns.saturating_mul(count));
    }

    /// What has been counted up to this monotonic time; `None` before the first arrival is awaited.
    pub fn snapshot(&self, now_ns: u64) -> Option<ArrivalsReport> {
        let since = self.since_ns.load(Relaxed);
        let until = match self.until_ns.load(Relaxed) {
            0 => now_ns,
            until => until,
        };
        (since > 0).then(|| ArrivalsReport {
            span_ns: until.saturating_sub(since),
            waiting: self.waiting.load(Relaxed),
            highest_backlog: self.highest_backlog.load(Relaxed),
            waited_ns: self.waited_ns.load(Relaxed),
            response: self.response.snapshot(),
            service: self.service.snapshot(),
            start_delay: self.start_delay.snapshot(),
            own_delay: self.own_delay.snapshot(),
        })
    }
}

/// The arrivals of one direction. Merges by addition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsReport {
    /// Time over which they were counted, ns: from the start to the last moment at which one could be started.
    pub span_ns: u64,
    /// Those that were due by then and had not been started.
    pub waiting: u64,
    /// Most that waited at a time, of any clone.
    pub highest_backlog: u64,
    /// Time that all arrivals together waited for their start, ns.
    pub waited_ns: u64,
    /// End − due. Those that still wait at the end of the run have the time that they have waited so far, which is a lower bound.
    pub response: LatencyStats,
    /// End − start.
    pub service: LatencyStats,
    /// Start − due.
    pub start_delay: LatencyStats,
    /// The tester's own part of it: without waiting for a slot, or for the call that hands over the I/O before.
    pub own_delay: LatencyStats,
}

impl ArrivalsReport {
    /// Adds those of another clone.
    pub fn merge(&mut self, other: &ArrivalsReport) {
        self.span_ns = self.span_ns.max(other.span_ns);
        self.waiting += other.waiting;
        self.highest_backlog = self.highest_backlog.max(other.highest_backlog);
        self.waited_ns += other.waited_ns;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.start_delay.merge(&other.start_delay);
        self.own_delay.merge(&other.own_delay);
    }

    /// Arrivals that were due, started or not.
    pub fn due(&self) -> u64 {
        self.start_delay.count + self.waiting
    }

    /// Arrivals that waited, on average over time and all clones together.
    pub fn mean_backlog(&self) -> f64 {
        self.waited_ns as f64 / self.span_ns.max(1) as f64
    }

    /// Arrivals a second.
    pub fn offered_per_second(&self) -> f64 {
        self.due() as f64 * 1e9 / self.span_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(waiting: u64, waited_ns: u64) -> ArrivalsReport {
        let mut report = ArrivalsReport {
            span_ns: 1000,
            waiting,
            highest_backlog: waiting,
            waited_ns,
            ..Default::default()
        };
        report.start_delay.record(waited_ns);
        report
    }

    #[test]
    fn clones_add_up() {
        let mut all = waits(3, 500);
        all.merge(&waits(2, 1500));
        assert_eq!((all.due(), all.waiting, all.highest_backlog), (7, 5, 3));
        assert_eq!(all.mean_backlog(), 2.0);
        assert_eq!(all.offered_per_second(), 7e6);
    }
}
