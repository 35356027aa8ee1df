//! Statistics of scheduled arrivals (`open_loop`): the time of each I/O since it was due.

use crate::latency::LatencyStats;
use crate::samples::{LatencySamples, bump};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Arrival statistics of one direction, filled by the worker. All zeros is a valid value;
/// [`reset`](ArrivalSamples::reset) must run before the first record.
#[repr(C, align(64))]
pub struct ArrivalSamples {
    /// Start of counting in monotonic ns; 0 before the start.
    pub since_ns: AtomicU64,
    /// End of counting so far in monotonic ns.
    pub until_ns: AtomicU64,
    /// Number of arrivals that were due and have not been started.
    pub waiting: AtomicU64,
    /// Largest number of waiting arrivals.
    pub highest_backlog: AtomicU64,
    /// Number of arrivals that were completed after the last one was due or the run time was over.
    pub in_flight: AtomicU64,
    /// Total time for which arrivals have waited for their start, in ns.
    pub waited_ns: AtomicU64,
    /// End − due.
    pub response: LatencySamples,
    /// End − start.
    pub service: LatencySamples,
    /// Start − due.
    pub start_delay: LatencySamples,
    /// The part of that time that was spent neither waiting for a slot nor in the submission call of the
    /// previous I/O.
    pub own_delay: LatencySamples,
}

impl ArrivalSamples {
    /// Starts counting at this monotonic time.
    pub fn reset(&self, now_ns: u64) {
        for counter in
            [&self.until_ns, &self.waiting, &self.highest_backlog, &self.in_flight, &self.waited_ns]
        {
            counter.store(0, Relaxed);
        }
        for samples in [&self.response, &self.service, &self.start_delay, &self.own_delay] {
            samples.reset();
        }
        self.since_ns.store(now_ns, Relaxed);
    }

    /// Sets the number of waiting arrivals.
    pub fn set_backlog(&self, waiting: u64) {
        self.waiting.store(waiting, Relaxed);
        if waiting > self.highest_backlog.load(Relaxed) {
            self.highest_backlog.store(waiting, Relaxed);
        }
    }

    /// Counts an arrival that was completed after the last one was due.
    pub fn count_in_flight(&self) {
        bump(&self.in_flight, 1);
    }

    /// Adds the wait of an arrival that has started.
    pub fn add_wait(&self, ns: u64) {
        bump(&self.waited_ns, ns);
    }

    /// Counts the arrivals still waiting at the end, with their time since they were due and the part of it
    /// since counting began.
    pub fn count_waiting(&self, count: u64, since_due_ns: u64, waited_ns: u64) {
        self.response.record_many(since_due_ns, count);
        self.add_wait(waited_ns.saturating_mul(count));
    }

    /// Returns the statistics up to this monotonic time; `None` before the first arrival is awaited.
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
            in_flight: self.in_flight.load(Relaxed),
            waited_ns: self.waited_ns.load(Relaxed),
            response: self.response.snapshot(),
            service: self.service.snapshot(),
            start_delay: self.start_delay.snapshot(),
            own_delay: self.own_delay.snapshot(),
        })
    }
}

/// The arrivals of one direction. Reports merge by addition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsReport {
    /// Time in ns over which arrivals were counted: from the start to the last instant at which an arrival
    /// could be started.
    pub span_ns: u64,
    /// Number of arrivals that were due by then and had not been started.
    pub waiting: u64,
    /// Largest number of waiting arrivals in any clone.
    pub highest_backlog: u64,
    /// Number of arrivals that were completed after the last one was due or the run time was over.
    #[serde(default)]
    pub in_flight: u64,
    /// Total time for which arrivals waited for their start, in ns.
    pub waited_ns: u64,
    /// Completion time minus due time. Arrivals still waiting at the end of the run count with their waiting
    /// time so far, which is a lower bound.
    pub response: LatencyStats,
    /// End − start.
    pub service: LatencyStats,
    /// Start − due.
    pub start_delay: LatencyStats,
    /// The tester's own share of the delay, spent neither waiting for a slot nor in the submission call of the
    /// previous I/O.
    pub own_delay: LatencyStats,
}

impl ArrivalsReport {
    /// Adds the arrivals of another clone.
    pub fn merge(&mut self, other: &ArrivalsReport) {
        self.span_ns = self.span_ns.max(other.span_ns);
        self.waiting += other.waiting;
        self.highest_backlog = self.highest_backlog.max(other.highest_backlog);
        self.in_flight += other.in_flight;
        self.waited_ns += other.waited_ns;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.start_delay.merge(&other.start_delay);
        self.own_delay.merge(&other.own_delay);
    }

    /// Returns the number of arrivals that were due, including those not started.
    pub fn due(&self) -> u64 {
        self.start_delay.count + self.waiting
    }

    /// Returns the number of arrivals that were not complete when the last one was due or the run time was over.
    pub fn unfinished(&self) -> u64 {
        self.waiting + self.in_flight
    }

    /// Returns the mean number of waiting arrivals over time, of all clones together.
    pub fn mean_backlog(&self) -> f64 {
        self.waited_ns as f64 / self.span_ns.max(1) as f64
    }

    /// Returns the number of arrivals per second.
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
