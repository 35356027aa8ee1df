//! Bandwidth and IOPS samples at regular intervals, taken by the supervisor without involving the workers.

use crate::crew::WorkerState;
use crate::plan::model::report::ReportPlan;
use fathom_stats::series::SampleStats;
use fathom_stats::{Direction, PerDirection};
use std::time::Duration;

/// The bandwidth and IOPS series of one worker.
pub(super) struct Series {
    bw: Windows,
    iops: Windows,
}

/// Samples of one figure, one per window.
struct Windows {
    enabled: bool,
    interval_ns: u64,
    epoch: u64,
    /// Monotonic time at which the current window began, ns; 0 before the first window.
    since: u64,
    last: PerDirection<u64>,
    stats: PerDirection<SampleStats>,
}

impl Series {
    pub(super) fn of(plan: &ReportPlan) -> Series {
        let enabled = plan.is_sampled;
        let windows = |milliseconds: u32| Windows {
            enabled,
            interval_ns: u64::from(milliseconds.max(1)) * 1_000_000,
            epoch: 0,
            since: 0,
            last: PerDirection::default(),
            stats: Default::default(),
        };
        Series { bw: windows(plan.bandwidth_window_ms), iops: windows(plan.iops_window_ms) }
    }

    /// Takes the samples that are due.
    pub(super) fn sample(&mut self, state: &WorkerState, now: u64) {
        let (start, epoch) = (state.start_ns, state.epoch);
        let has_ended = state.end_ns != 0;
        if start == 0 || has_ended {
            return;
        }
        let bytes = state.directions.map(|direction| direction.bytes);
        let ios = state.directions.map(|direction| direction.ios);
        // 1 byte per ms is 1000 / 1024 KiB per second.
        self.bw.sample(start, epoch, now, bytes, |delta, ns| {
            (u128::from(delta) * 1_000_000_000 / 1024 / ns) as u64
        });
        self.iops.sample(start, epoch, now, ios, |delta, ns| (u128::from(delta) * 1_000_000_000 / ns) as u64);
    }

    /// Time until the next sample is due.
    pub(super) fn time_to_next(&self, now: u64) -> Duration {
        self.bw.time_to_next(now).min(self.iops.time_to_next(now))
    }

    pub(super) fn bw(&self, direction: Direction) -> &SampleStats {
        &self.bw.stats[direction]
    }

    pub(super) fn iops(&self, direction: Direction) -> &SampleStats {
        &self.iops.stats[direction]
    }
}

impl Windows {
    fn sample(
        &mut self,
        start: u64,
        epoch: u64,
        now: u64,
        totals: PerDirection<u64>,
        rate: impl Fn(u64, u128) -> u64,
    ) {
        if !self.enabled {
            return;
        }
        if self.epoch != epoch {
            // The worker has started recording (again), so earlier windows do not count.
            self.epoch = epoch;
            self.since = start;
            self.last = PerDirection::default();
            self.stats = Default::default();
        }
        let span = now.saturating_sub(self.since);
        if span < self.interval_ns {
            return;
        }
        for (direction, total) in totals.iter() {
            let delta = total.saturating_sub(self.last[direction]);
            if delta > 0 {
                self.stats[direction].record(rate(delta, u128::from(span)));
            }
        }
        self.last = totals;
        self.since = now;
    }

    fn time_to_next(&self, now: u64) -> Duration {
        if !self.enabled || self.since == 0 {
            return Duration::from_secs(1);
        }
        Duration::from_nanos((self.since + self.interval_ns).saturating_sub(now))
    }
}
