//! Rates and latencies over time.

use super::job::{DirectionResult, JobResult};
use crate::{lenient, written};
use fathom_stats::timeline::{coarse_bin_of, coarse_value_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rates and latencies over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimelineResult {
    /// Length of a point in ms; the last point may be shorter or longer.
    #[serde(deserialize_with = "lenient::whole")]
    pub interval_ms: u64,
    /// True if the timeline has only rates, at a few points, as in `json`. In `json+` it is complete.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub condensed: bool,
    /// One entry per job or group, or a single one for all jobs.
    pub jobs: Vec<TimelineJobResult>,
}

/// The timeline of one job, a group, or all jobs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimelineJobResult {
    /// Name of the job.
    // The key differs from "jobname", because readers of fio's document count its jobs by the lines with that
    // key.
    #[serde(rename = "job", alias = "jobname")]
    pub jobname: String,
    /// Reporting group.
    #[serde(deserialize_with = "lenient::whole")]
    pub groupid: u64,
    /// Ascending.
    #[serde(serialize_with = "written::lines")]
    pub points: Vec<TimelinePointResult>,
}

/// A time span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimelinePointResult {
    /// End of the span, ms since the start.
    #[serde(deserialize_with = "lenient::whole")]
    pub end_ms: u64,
    /// Reads.
    #[serde(skip_serializing_if = "TimelineFiguresResult::is_idle")]
    pub read: TimelineFiguresResult,
    /// Writes.
    #[serde(skip_serializing_if = "TimelineFiguresResult::is_idle")]
    pub write: TimelineFiguresResult,
    /// Trims.
    #[serde(skip_serializing_if = "TimelineFiguresResult::is_idle")]
    pub trim: TimelineFiguresResult,
}

/// One direction in a time span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimelineFiguresResult {
    /// Bytes moved.
    #[serde(deserialize_with = "lenient::whole")]
    pub io_bytes: u64,
    /// I/Os that ended.
    #[serde(deserialize_with = "lenient::whole")]
    pub total_ios: u64,
    /// I/Os by completion latency in ns, in coarse bins.
    #[serde(deserialize_with = "lenient::bins", skip_serializing_if = "BTreeMap::is_empty")]
    pub clat_bins: BTreeMap<u64, u64>,
}

/// A final interval shorter than this fraction of an interval (1/N) is too short for a rate.
const SHORTEST_SHARE: u64 = 10;

/// Number of points in a condensed timeline.
const FEW: usize = 24;

/// The `interval` of a JSON line: figures since the previous line. A timeline uses its amounts and latencies
/// per job.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Interval {
    #[serde(deserialize_with = "lenient::whole")]
    start_ms: u64,
    #[serde(deserialize_with = "lenient::whole")]
    end_ms: u64,
    jobs: Vec<JobResult>,
}

impl TimelineResult {
    /// Drops the latencies, and merges neighbouring points until only a few remain.
    pub fn condense(&mut self) {
        let most = self.jobs.iter().map(|entry| entry.points.len()).max().unwrap_or(0);
        let together = most.div_ceil(FEW).max(1);
        self.condensed = true;
        self.interval_ms *= together as u64;
        for entry in &mut self.jobs {
            entry.points = entry.points.chunks(together).map(TimelinePointResult::sum).collect();
        }
    }

    /// Builds a timeline from consecutive intervals.
    pub(crate) fn of(intervals: &[Interval]) -> TimelineResult {
        let mut timeline = TimelineResult::default();
        for Interval { start_ms, end_ms, jobs } in intervals {
            timeline.interval_ms = timeline.interval_ms.max(end_ms.saturating_sub(*start_ms));
            for (index, job) in jobs.iter().enumerate() {
                if timeline.jobs.len() == index {
                    timeline.jobs.push(TimelineJobResult {
                        jobname: job.name.clone(),
                        groupid: job.group_id,
                        points: Vec::new(),
                    });
                }
                let [read, write, trim] = [&job.read, &job.write, &job.trim]
                    .map(|own| own.as_ref().map(TimelineFiguresResult::of).unwrap_or_default());
                timeline.jobs[index].points.push(TimelinePointResult { end_ms: *end_ms, read, write, trim });
            }
        }
        let shortest_ms = timeline.interval_ms / SHORTEST_SHARE;
        timeline.jobs.iter_mut().for_each(|job| job.join_short_end(shortest_ms));
        timeline
    }
}

impl TimelineJobResult {
    /// Merges a final point that is shorter than this into the previous one, because its rate would be
    /// meaningless.
    fn join_short_end(&mut self, shortest_ms: u64) {
        let [.., before, last] = &mut self.points[..] else { return };
        if last.end_ms.saturating_sub(before.end_ms) >= shortest_ms {
            return;
        }
        before.end_ms = last.end_ms;
        before.read.add(&last.read);
        before.write.add(&last.write);
        before.trim.add(&last.trim);
        self.points.pop();
    }

    /// Start of a point in ms, which is the end of the previous one.
    pub fn start_ms(&self, point: usize) -> u64 {
        point.checked_sub(1).and_then(|before| self.points.get(before)).map_or(0, |before| before.end_ms)
    }
}

impl TimelinePointResult {
    /// Merges several points into one, without latencies.
    fn sum(points: &[TimelinePointResult]) -> TimelinePointResult {
        let sum = |direction: usize| {
            let all = || points.iter().map(|point| point.directions()[direction]);
            TimelineFiguresResult {
                io_bytes: all().map(|figures| figures.io_bytes).sum(),
                total_ios: all().map(|figures| figures.total_ios).sum(),
                clat_bins: BTreeMap::new(),
            }
        };
        let end_ms = points.last().map_or(0, |point| point.end_ms);
        TimelinePointResult { end_ms, read: sum(0), write: sum(1), trim: sum(2) }
    }

    /// Read, write and trim.
    pub fn directions(&self) -> [&TimelineFiguresResult; 3] {
        [&self.read, &self.write, &self.trim]
    }
}

impl TimelineFiguresResult {
    /// The figures of a direction, with its completion latencies, or its total latencies if only those have
    /// bins.
    fn of(direction: &DirectionResult) -> TimelineFiguresResult {
        let bins = if direction.clat.bins.is_empty() { &direction.lat.bins } else { &direction.clat.bins };
        let mut clat_bins = BTreeMap::new();
        for (&ns, count) in bins {
            *clat_bins.entry(coarse_value_of(coarse_bin_of(ns))).or_default() += count;
        }
        TimelineFiguresResult { io_bytes: direction.io_bytes, total_ios: direction.total_ios, clat_bins }
    }

    /// Adds the I/O that followed immediately.
    fn add(&mut self, later: &TimelineFiguresResult) {
        self.io_bytes += later.io_bytes;
        self.total_ios += later.total_ios;
        for (&ns, &count) in &later.clat_bins {
            *self.clat_bins.entry(ns).or_default() += count;
        }
    }

    /// No I/O ended.
    fn is_idle(&self) -> bool {
        self.total_ios == 0
    }
}
