//! Differences between two snapshots of a run. Counts, sums and bins only grow, so the difference of two
//! snapshots is what was recorded between them, and the differences of all intervals add up to the total.
//! Extremes cannot be subtracted, so an interval contains bounds for them, which are as narrow as a bin.

use crate::histogram::{Histogram, RANGE_END_NS, bounds_of};
use crate::latency::LatencyStats;
use crate::per_direction::PerDirection;
use crate::report::{DirectionReport, JobReport};
use serde::{Deserialize, Serialize};

/// One interval of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalReport {
    /// Number of the interval; the first is 1.
    pub number: u64,
    /// Start in µs since the jobs of the run were started.
    pub start_us: u64,
    /// End in µs since the jobs of the run were started.
    pub end_us: u64,
    /// Start on the wall clock, in ms since the epoch.
    pub start_wall_ms: u64,
    /// End on the wall clock, in ms since the epoch.
    pub end_wall_ms: u64,
    /// Start of the time span for which rates are computed, in µs since the jobs were started, if the interval
    /// itself is too short.
    #[serde(default)]
    pub rates_since_us: Option<u64>,
    /// True for the last interval of the run.
    pub is_last: bool,
    /// One entry for each entry in the report's jobs, in the same order.
    pub jobs: Vec<IntervalJob>,
}

/// One clone, or several merged clones, in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalJob {
    /// Name of the job.
    pub name: String,
    /// Number of the reporting group; the first is 0.
    pub group_id: u32,
    /// Number of clones that do not record yet, because they wait or are in their ramp. Their I/O counts in no
    /// interval.
    pub clones_not_recording: u32,
    /// Number of clones that have reset their statistics, so that their total no longer includes earlier
    /// intervals.
    pub clones_restarted: u32,
    /// Figures per direction: read, write, trim.
    pub directions: PerDirection<IntervalDirection>,
    /// Latency of syncs; its count is the number of syncs.
    pub sync: IntervalLatency,
}

/// One direction in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalDirection {
    /// Bytes moved.
    pub io_bytes: u64,
    /// I/Os that ended.
    pub total_ios: u64,
    /// Amounts before the interval that its rates include, from [`IntervalReport::rates_since_us`] on.
    #[serde(default)]
    pub earlier: Amount,
    /// Submission latency.
    pub slat: IntervalLatency,
    /// Completion latency.
    pub clat: IntervalLatency,
    /// Total latency.
    pub lat: IntervalLatency,
    /// Response time; `None` unless the loop is open.
    #[serde(default)]
    pub response: Option<IntervalLatency>,
}

/// An amount of I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that ended.
    pub ios: u64,
}

/// Latencies of an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalLatency {
    /// Number of values.
    pub count: u64,
    /// Sum of the values in ns.
    pub sum_ns: u64,
    /// Lower bound of the values in ns; 0 without values.
    pub least_ns: u64,
    /// Upper bound of the values in ns; 0 without values.
    pub most_ns: u64,
    /// Distribution of the values; empty if the job keeps none.
    pub histogram: Histogram,
}

impl IntervalLatency {
    /// Returns the values recorded between `earlier` and `later`, two snapshots of the same statistics.
    pub fn between(earlier: &LatencyStats, later: &LatencyStats) -> IntervalLatency {
        let count = later.count.saturating_sub(earlier.count);
        let histogram = later.histogram.since(&earlier.histogram);
        if count == 0 && histogram.count() == 0 {
            return IntervalLatency::default();
        }
        let (lowest, highest) = extremes(&histogram, later);
        // If the extreme of the total has changed, the new one was recorded in this interval, so it is known
        // exactly.
        let new_least = earlier.count == 0 || later.min_ns < earlier.min_ns;
        let new_most = earlier.count == 0 || later.max_ns > earlier.max_ns;
        IntervalLatency {
            count,
            sum_ns: later.sum_ns.saturating_sub(earlier.sum_ns),
            least_ns: if new_least { later.min_ns } else { lowest.max(later.min_ns) },
            most_ns: if new_most { later.max_ns } else { highest.min(later.max_ns) },
            histogram,
        }
    }

    /// Adds the latencies of another clone in the same interval.
    pub fn merge(&mut self, other: &IntervalLatency) {
        if other.count == 0 && other.histogram.count() == 0 {
            return;
        }
        let empty = self.count == 0 && self.histogram.count() == 0;
        self.least_ns = if empty { other.least_ns } else { self.least_ns.min(other.least_ns) };
        self.most_ns = self.most_ns.max(other.most_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.histogram.merge(&other.histogram);
    }

    /// Returns the mean in ns; 0 without values.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }
}

/// Returns bounds of the values in a histogram; if no histogram is kept, the extremes of all values.
fn extremes(histogram: &Histogram, all: &LatencyStats) -> (u64, u64) {
    let (first, last) = (histogram.bins.keys().next(), histogram.bins.keys().next_back());
    let lowest = match first {
        Some(&bin) => bounds_of(bin.into()).0,
        None if histogram.beyond_range > 0 => RANGE_END_NS,
        None => all.min_ns,
    };
    let highest = match last {
        Some(&bin) if histogram.beyond_range == 0 => bounds_of(bin.into()).1,
        _ => all.max_ns,
    };
    (lowest, highest)
}

impl IntervalReport {
    /// Computes rates over this interval and the previous one together. The last interval of a run may have
    /// only a few milliseconds, whose rate would be wrong because it includes I/O counted late.
    pub fn join_rates(&mut self, before: &IntervalReport) {
        self.rates_since_us = Some(before.start_us);
        for (job, before) in self.jobs.iter_mut().zip(&before.jobs) {
            for (direction, before) in job.directions.values_mut().zip(before.directions.values()) {
                direction.earlier = Amount { bytes: before.io_bytes, ios: before.total_ios };
            }
        }
    }

    /// Returns the rates of a direction over the span: bytes and I/Os per second.
    pub fn rates(&self, direction: &IntervalDirection) -> (f64, f64) {
        let since = self.rates_since_us.unwrap_or(self.start_us);
        let span_us = self.end_us.saturating_sub(since).max(1) as f64;
        let rate = |amount: u64, earlier: u64| amount.saturating_add(earlier) as f64 * 1e6 / span_us;
        let IntervalDirection { io_bytes, total_ios, earlier, .. } = direction;
        (rate(*io_bytes, earlier.bytes), rate(*total_ios, earlier.ios))
    }
}

impl IntervalDirection {
    /// Returns the interval between `earlier` and `later`, two snapshots of the same direction.
    pub fn between(earlier: &DirectionReport, later: &DirectionReport) -> IntervalDirection {
        IntervalDirection {
            io_bytes: later.io_bytes.saturating_sub(earlier.io_bytes),
            total_ios: later.total_ios.saturating_sub(earlier.total_ios),
            earlier: Amount::default(),
            slat: IntervalLatency::between(&earlier.slat, &later.slat),
            clat: IntervalLatency::between(&earlier.clat, &later.clat),
            lat: IntervalLatency::between(&earlier.lat, &later.lat),
            response: later.arrivals.as_ref().map(|arrivals| {
                let none = LatencyStats::default();
                let before = earlier.arrivals.as_ref().map_or(&none, |arrivals| &arrivals.response);
                IntervalLatency::between(before, &arrivals.response)
            }),
        }
    }

    fn merge(&mut self, other: &IntervalDirection) {
        self.io_bytes += other.io_bytes;
        self.total_ios += other.total_ios;
        self.earlier.bytes += other.earlier.bytes;
        self.earlier.ios += other.earlier.ios;
        self.slat.merge(&other.slat);
        self.clat.merge(&other.clat);
        self.lat.merge(&other.lat);
        if let Some(theirs) = &other.response {
            self.response.get_or_insert_default().merge(theirs);
        }
    }
}

impl IntervalJob {
    /// Returns the interval of a clone between `earlier` and `later`.
    pub fn between(earlier: &JobReport, later: &JobReport) -> IntervalJob {
        IntervalJob {
            name: later.name.clone(),
            group_id: later.group_id,
            directions: PerDirection::from_fn(|direction| {
                IntervalDirection::between(&earlier.directions[direction], &later.directions[direction])
            }),
            sync: IntervalLatency::between(&earlier.sync, &later.sync),
            ..IntervalJob::default()
        }
    }

    /// Adds another clone of the same entry.
    pub fn merge(&mut self, other: &IntervalJob) {
        self.clones_not_recording += other.clones_not_recording;
        self.clones_restarted += other.clones_restarted;
        for (own, theirs) in self.directions.values_mut().zip(other.directions.values()) {
            own.merge(theirs);
        }
        self.sync.merge(&other.sync);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..300, 0u64..1 << 30, RANGE_END_NS - 2..RANGE_END_NS + 3]
    }

    proptest! {
        #[test]
        fn intervals_add_up_and_bound_their_values(
            chunks in prop::collection::vec(prop::collection::vec(value(), 0..40), 1..8), keeps_bins in any::<bool>()
        ) {
            let snapshot = |total: &LatencyStats| match keeps_bins {
                true => total.clone(),
                false => LatencyStats { histogram: Histogram::default(), ..total.clone() },
            };
            let (mut total, mut sum) = (LatencyStats::default(), IntervalLatency::default());
            for chunk in &chunks {
                let before = snapshot(&total);
                chunk.iter().for_each(|&value| total.record(value));
                let interval = IntervalLatency::between(&before, &snapshot(&total));
                prop_assert_eq!(interval.count, chunk.len() as u64);
                if let (Some(&least), Some(&most)) = (chunk.iter().min(), chunk.iter().max()) {
                    prop_assert!(interval.least_ns <= least && most <= interval.most_ns);
                    // The bounds are at most one bin away from the true extremes.
                    if keeps_bins && most < RANGE_END_NS {
                        prop_assert!(least - interval.least_ns <= least / 64 + 1);
                        prop_assert!(interval.most_ns - most <= most / 64 + 1);
                    }
                }
                sum.merge(&interval);
            }
            prop_assert_eq!(&sum.histogram, &snapshot(&total).histogram);
            prop_assert_eq!((sum.count, sum.sum_ns), (total.count, total.sum_ns));
            prop_assert_eq!((sum.least_ns, sum.most_ns), (total.min_ns, total.max_ns));
        }

        #[test]
        fn clones_merge_like_their_totals(
            first in prop::collection::vec(value(), 0..30), second in prop::collection::vec(value(), 0..30)
        ) {
            let clone = |values: &[u64]| {
                let mut job = JobReport::default();
                for &value in values {
                    job.directions[Direction::Write].clat.record(value);
                    job.directions[Direction::Write].io_bytes += 4096;
                    job.directions[Direction::Write].total_ios += 1;
                }
                job
            };
            let (mut one, two) = (clone(&first), clone(&second));
            let nothing = JobReport::default();
            let mut merged = IntervalJob::between(&nothing, &one);
            merged.merge(&IntervalJob::between(&nothing, &two));
            one.merge(&two);
            prop_assert_eq!(merged, IntervalJob::between(&nothing, &one));
        }
    }
}
