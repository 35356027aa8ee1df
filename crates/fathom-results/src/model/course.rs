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
    /// One entry per job, group, or all jobs together.
    pub jobs: Vec<CourseEntry>,
}

/// The course of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CourseEntry {
    /// Name of the job.
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
    #[serde(deserialize_with = "lenient::bins")]
    pub clat_bins: BTreeMap<u64, u64>,
}

impl CourseEntry {
    /// Start of a point in ms: the end of the one before.
    pub fn start_ms(&self, point: usize) -> u64 {
        point.checked_sub(1).and_then(|before| self.points.get(before)).map_or(0, |before| before.end_ms)
    }
}

impl CoursePoint {
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
