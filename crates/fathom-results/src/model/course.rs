//! How rates and latencies went over a run.

use crate::{lenient, written};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How rates and latencies went over a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Course {
    /// Length of a point in ms; the last point may be shorter or longer.
    #[serde(deserialize_with = "lenient::whole")]
    pub interval_ms: u64,
    /// Only the rates, at few points: what `json` has room for. `json+` has it all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub condensed: bool,
    /// One entry per job, group, or all jobs together.
    pub jobs: Vec<CourseEntry>,
}

/// The course of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CourseEntry {
    /// Name of the job.
    // Readers of fio's document count its jobs by the lines with "jobname".
    #[serde(rename = "job", alias = "jobname")]
    pub jobname: String,
    /// Reporting group.
    #[serde(deserialize_with = "lenient::whole")]
    pub groupid: u64,
    /// Ascending.
    #[serde(serialize_with = "written::lines")]
    pub points: Vec<CoursePoint>,
}

/// A stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoursePoint {
    /// Its end, ms since the start.
    #[serde(deserialize_with = "lenient::whole")]
    pub end_ms: u64,
    /// Reads.
    #[serde(skip_serializing_if = "CourseFigures::is_idle")]
    pub read: CourseFigures,
    /// Writes.
    #[serde(skip_serializing_if = "CourseFigures::is_idle")]
    pub write: CourseFigures,
    /// Trims.
    #[serde(skip_serializing_if = "CourseFigures::is_idle")]
    pub trim: CourseFigures,
}

/// One direction in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CourseFigures {
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

/// Points that are left when a course is condensed.
const FEW: usize = 24;

impl Course {
    /// Leaves the latencies out, and adds neighbouring points up until there are few.
    pub fn condense(&mut self) {
        let most = self.jobs.iter().map(|entry| entry.points.len()).max().unwrap_or(0);
        let together = most.div_ceil(FEW).max(1);
        self.condensed = true;
        self.interval_ms *= together as u64;
        for entry in &mut self.jobs {
            entry.points = entry.points.chunks(together).map(CoursePoint::sum).collect();
        }
    }
}

impl CourseEntry {
    /// Start of a point in ms: the end of the one before.
    pub fn start_ms(&self, point: usize) -> u64 {
        point.checked_sub(1).and_then(|before| self.points.get(before)).map_or(0, |before| before.end_ms)
    }
}

impl CoursePoint {
    /// Several points as one, without latencies.
    fn sum(points: &[CoursePoint]) -> CoursePoint {
        let sum = |direction: usize| {
            let all = || points.iter().map(|point| point.directions()[direction]);
            CourseFigures {
                io_bytes: all().map(|figures| figures.io_bytes).sum(),
                total_ios: all().map(|figures| figures.total_ios).sum(),
                clat_bins: BTreeMap::new(),
            }
        };
        let end_ms = points.last().map_or(0, |point| point.end_ms);
        CoursePoint { end_ms, read: sum(0), write: sum(1), trim: sum(2) }
    }

    /// Read, write and trim.
    pub fn directions(&self) -> [&CourseFigures; 3] {
        [&self.read, &self.write, &self.trim]
    }
}

impl CourseFigures {
    /// No I/O ended.
    fn is_idle(&self) -> bool {
        self.total_ios == 0
    }
}
