//! Rates and latencies over time: a bounded number of points of equal length, recorded during the run. A run of
//! any length has at most [`MOST_POINTS`] points: if there would be more, neighbours are merged, and every
//! point then covers twice the time. Only the resolution decreases.

use crate::histogram::{BIN_COUNT, Histogram, add_bins, value_of};
use crate::per_direction::PerDirection;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of points.
pub const MOST_POINTS: usize = 240;
/// Number of histogram bins that are merged into one bin of a timeline, so that four remain per power of two.
pub const BINS_MERGED: usize = 16;
/// Maximum number of bins of a point.
pub const COARSE_BINS: usize = BIN_COUNT / BINS_MERGED;

/// The timeline of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Length of a point in ms.
    pub interval_ms: u64,
    /// One entry for each entry in the report's jobs, or a single one for all jobs if there are many.
    pub entries: Vec<TimelineEntry>,
}

/// The timeline of a clone, or of several merged clones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// Name of the job.
    pub name: String,
    /// Number of the reporting group; the first is 0.
    pub group_id: u32,
    /// Ascending.
    pub points: Vec<TimelinePoint>,
}

/// One time span of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelinePoint {
    /// End in ms since the jobs of the run were started.
    pub end_ms: u64,
    /// Figures per direction: read, write, trim.
    pub directions: PerDirection<TimelineFigures>,
}

/// The figures of one direction in a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineFigures {
    /// Bytes moved.
    pub io_bytes: u64,
    /// I/Os that ended.
    pub total_ios: u64,
    /// Number of I/Os by completion latency; [`coarse_value_of`] converts a key to a latency.
    pub bins: BTreeMap<u16, u64>,
}

/// Returns the latency in ns in the middle of a coarse bin.
pub fn coarse_value_of(bin: u16) -> u64 {
    value_of(usize::from(bin) * BINS_MERGED + BINS_MERGED / 2)
}

/// Returns the coarse bin of a latency in ns; the last bin for latencies beyond the range.
pub fn coarse_bin_of(ns: u64) -> u16 {
    let bin = crate::histogram::bin_of(ns).unwrap_or(BIN_COUNT - 1);
    (bin / BINS_MERGED) as u16
}

impl TimelineFigures {
    /// Adds the figures of another direction, clone or point.
    pub fn merge(&mut self, other: &TimelineFigures) {
        self.io_bytes += other.io_bytes;
        self.total_ios += other.total_ios;
        add_bins(&mut self.bins, &other.bins);
    }

    /// Returns figures with the latencies of a whole histogram.
    pub fn of(io_bytes: u64, total_ios: u64, histogram: &Histogram) -> TimelineFigures {
        let mut figures = TimelineFigures { io_bytes, total_ios, bins: BTreeMap::new() };
        for (&bin, &count) in &histogram.bins {
            *figures.bins.entry(bin / BINS_MERGED as u16).or_default() += count;
        }
        if histogram.beyond_range > 0 {
            *figures.bins.entry(COARSE_BINS as u16 - 1).or_default() += histogram.beyond_range;
        }
        figures
    }

    /// Returns the difference from `earlier`, a previous total of the same counters.
    pub fn since(&self, earlier: &TimelineFigures) -> TimelineFigures {
        let before = |bin: &u16| earlier.bins.get(bin).copied().unwrap_or(0);
        TimelineFigures {
            io_bytes: self.io_bytes.saturating_sub(earlier.io_bytes),
            total_ios: self.total_ios.saturating_sub(earlier.total_ios),
            bins: self
                .bins
                .iter()
                .map(|(bin, count)| (*bin, count.saturating_sub(before(bin))))
                .filter(|(_, count)| *count > 0)
                .collect(),
        }
    }
}

impl Timeline {
    /// Appends a point that ends now: the figures of each entry, in order.
    pub fn push(&mut self, end_ms: u64, figures: Vec<PerDirection<TimelineFigures>>) {
        for (entry, directions) in self.entries.iter_mut().zip(figures) {
            entry.points.push(TimelinePoint { end_ms, directions });
        }
        if self.entries.iter().any(|entry| entry.points.len() > MOST_POINTS) {
            self.interval_ms *= 2;
            self.entries.iter_mut().for_each(TimelineEntry::halve);
        }
    }
}

impl TimelineEntry {
    fn halve(&mut self) {
        let merged = self.points.chunks(2).map(|pair| {
            let mut point = pair[0].clone();
            for later in &pair[1..] {
                point.end_ms = later.end_ms;
                for (own, theirs) in point.directions.values_mut().zip(later.directions.values()) {
                    own.merge(theirs);
                }
            }
            point
        });
        self.points = merged.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use proptest::prelude::*;

    #[test]
    fn long_runs_keep_their_sums() {
        let entry = TimelineEntry { name: "a".into(), ..TimelineEntry::default() };
        let mut timeline = Timeline { interval_ms: 250, entries: vec![entry] };
        let (mut end_ms, mut pushed) = (0, 0);
        while end_ms < 500_000 {
            end_ms += timeline.interval_ms;
            pushed += 1;
            let bin = (end_ms / 250 % 50) as u16;
            let figures = TimelineFigures { io_bytes: 4096, total_ios: 1, bins: [(bin, 1)].into() };
            timeline.push(end_ms, vec![PerDirection::new([figures, Default::default(), Default::default()])]);
        }
        let points = &timeline.entries[0].points;
        assert!(points.len() <= MOST_POINTS && points.len() >= MOST_POINTS / 2, "{} points", points.len());
        assert_eq!(timeline.interval_ms, 4000);
        assert_eq!(
            points.iter().map(|point| point.directions[Direction::Read].total_ios).sum::<u64>(),
            pushed
        );
        let in_bins = points.iter().flat_map(|point| point.directions[Direction::Read].bins.values());
        assert_eq!(in_bins.sum::<u64>(), pushed);
        assert_eq!(points.last().map(|point| point.end_ms), Some(end_ms));
        assert!(points.windows(2).all(|pair| pair[0].end_ms < pair[1].end_ms));
    }

    proptest! {
        #[test]
        fn coarse_bins_stay_close(ns in 16u64..1 << 43) {
            let value = coarse_value_of(coarse_bin_of(ns));
            prop_assert!(value.abs_diff(ns) as f64 <= 0.16 * ns as f64 + 16.0, "{} for {}", value, ns);
            prop_assert_eq!(coarse_bin_of(value), coarse_bin_of(ns));
        }

        #[test]
        fn differences_add_up(first in prop::collection::vec(0u64..1 << 45, 0..50), second in prop::collection::vec(0u64..1 << 45, 0..50)) {
            let figures = |values: &[u64]| {
                let mut histogram = Histogram::default();
                values.iter().for_each(|&value| histogram.record(value));
                TimelineFigures::of(values.len() as u64 * 512, values.len() as u64, &histogram)
            };
            let all: Vec<u64> = first.iter().chain(&second).copied().collect();
            let mut sum = figures(&first);
            sum.merge(&figures(&all).since(&figures(&first)));
            prop_assert_eq!(sum, figures(&all));
        }
    }
}
