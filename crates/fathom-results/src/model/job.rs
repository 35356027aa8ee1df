//! The figures of a job: one clone, or several merged ones.

use super::latency::LatencyResult;
use super::layers::LayersResult;
use crate::{lenient, written};
use fathom_stats::Direction;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One clone, or several merged ones. Members are in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobResult {
    /// Name; in a multi-host result, followed by the host.
    #[serde(rename = "jobname")]
    pub name: String,
    /// Reporting group.
    #[serde(rename = "groupid", deserialize_with = "lenient::whole")]
    pub group_id: u64,
    /// The time at which it started, ms of its clock.
    #[serde(
        rename = "job_start",
        deserialize_with = "lenient::some_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub start_ms: Option<u64>,
    /// errno of the error that ended it early; 0 if none did.
    pub error: i64,
    /// What failed and why; `None` if nothing ended it early, and in results of fio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Estimated remaining seconds.
    #[serde(
        rename = "eta",
        deserialize_with = "lenient::some_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub eta_seconds: Option<u64>,
    /// Seconds since the start.
    #[serde(
        rename = "elapsed",
        deserialize_with = "lenient::some_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub elapsed_seconds: Option<u64>,
    /// Its options as written.
    #[serde(
        rename = "job options",
        deserialize_with = "lenient::options",
        serialize_with = "written::pairs",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub options: Vec<(String, String)>,
    /// Kernel names of the block devices that hold its files; empty if unknown.
    #[serde(deserialize_with = "lenient::parts", skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Reads; `None` if all directions are reported together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<DirectionResult>,
    /// Writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<DirectionResult>,
    /// Trims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionResult>,
    /// Syncs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncResult>,
    /// All directions together, if the job requested that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<DirectionResult>,
    /// Sum of the clones' run times in ms.
    #[serde(rename = "job_runtime", deserialize_with = "lenient::whole")]
    pub runtime_ms: u64,
    /// Share of the run time that went to user code, percent of one processor, averaged over the clones.
    #[serde(deserialize_with = "lenient::number")]
    pub usr_cpu: f64,
    /// Share of the run time spent in the kernel on the job's behalf, in the same way.
    #[serde(deserialize_with = "lenient::number")]
    pub sys_cpu: f64,
    /// Context switches.
    #[serde(rename = "ctx", deserialize_with = "lenient::whole")]
    pub context_switches: u64,
    /// Major page faults.
    #[serde(rename = "majf", deserialize_with = "lenient::whole")]
    pub major_faults: u64,
    /// Minor page faults.
    #[serde(rename = "minf", deserialize_with = "lenient::whole")]
    pub minor_faults: u64,
    /// Shares of I/Os issued at a depth of 1, 2-3, 4-7, ... in percent.
    #[serde(deserialize_with = "lenient::shares", serialize_with = "written::pairs")]
    pub iodepth_level: Vec<(String, f64)>,
    /// Shares of submissions that carried 0, 1-4, 5-8, ... I/Os.
    #[serde(deserialize_with = "lenient::shares", serialize_with = "written::pairs")]
    pub iodepth_submit: Vec<(String, f64)>,
    /// Shares of reaps that returned these numbers of I/Os.
    #[serde(deserialize_with = "lenient::shares", serialize_with = "written::pairs")]
    pub iodepth_complete: Vec<(String, f64)>,
    /// Shares of I/Os up to a latency, by the upper bound in ns.
    #[serde(deserialize_with = "lenient::shares", serialize_with = "written::pairs")]
    pub latency_ns: Vec<(String, f64)>,
    /// Shares of I/Os up to a latency, by the upper bound in µs.
    #[serde(deserialize_with = "lenient::shares", serialize_with = "written::pairs")]
    pub latency_us: Vec<(String, f64)>,
    /// Shares of I/Os up to a latency, by the upper bound in ms.
    #[serde(deserialize_with = "lenient::shares", serialize_with = "written::pairs")]
    pub latency_ms: Vec<(String, f64)>,
    /// Errors that did not end it, if it tolerates errors.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub total_err: Option<u64>,
    /// errno of the first of them.
    #[serde(deserialize_with = "lenient::part", skip_serializing_if = "Option::is_none")]
    pub first_error: Option<i64>,
    /// Queue depth that was requested or found; this and the next five are `None` for a job that never ran.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub latency_depth: Option<u64>,
    /// `latency_target` in ns (µs in results of earlier versions of fathom); 0 if there is none.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub latency_target: Option<u64>,
    /// `latency_target` under the key that names the unit.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub latency_target_ns: Option<u64>,
    /// Share of I/Os that must meet the target, percent.
    #[serde(deserialize_with = "lenient::some_number", skip_serializing_if = "Option::is_none")]
    pub latency_percentile: Option<f64>,
    /// Window of the target in µs; 0 if there is none.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub latency_window: Option<u64>,
    /// The same under the key that names the unit.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub latency_window_us: Option<u64>,
    /// `description=`.
    #[serde(rename = "desc", deserialize_with = "lenient::part", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// State of its blocks, with `block_error_percentiles`.
    #[serde(rename = "block", deserialize_with = "lenient::part", skip_serializing_if = "Option::is_none")]
    pub block_errors: Option<BlockErrorResult>,
    /// Result of the search for a steady state.
    #[serde(
        rename = "steadystate",
        deserialize_with = "lenient::part",
        skip_serializing_if = "Option::is_none"
    )]
    pub steady_state: Option<SteadyStateResult>,
    /// Zones that were reset, for zoned jobs.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub zone_resets: Option<u64>,
    /// The engine's own counters and timers.
    #[serde(rename = "fathom engine", skip_serializing_if = "EngineResult::is_empty")]
    pub engine: EngineResult,
    /// Server that ran it, if a client requested the run; otherwise empty.
    #[serde(rename = "hostname", skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Port of that server.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub port: Option<u64>,
}

/// One direction of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectionResult {
    /// Bytes moved.
    #[serde(deserialize_with = "lenient::whole")]
    pub io_bytes: u64,
    /// KiB moved.
    #[serde(deserialize_with = "lenient::whole")]
    pub io_kbytes: u64,
    /// Bytes per second.
    #[serde(rename = "bw_bytes", deserialize_with = "lenient::number", serialize_with = "written::whole")]
    pub bytes_per_second: f64,
    /// KiB per second.
    #[serde(deserialize_with = "lenient::whole")]
    pub bw: u64,
    /// I/Os per second.
    #[serde(deserialize_with = "lenient::number")]
    pub iops: f64,
    /// Run time in ms.
    #[serde(rename = "runtime", deserialize_with = "lenient::whole")]
    pub runtime_ms: u64,
    /// I/Os.
    #[serde(deserialize_with = "lenient::whole")]
    pub total_ios: u64,
    /// I/Os that moved less than requested.
    #[serde(deserialize_with = "lenient::whole")]
    pub short_ios: u64,
    /// I/Os that were dropped.
    #[serde(deserialize_with = "lenient::whole")]
    pub drop_ios: u64,
    /// Submission latency.
    #[serde(rename = "slat_ns")]
    pub slat: LatencyResult,
    /// Completion latency.
    #[serde(rename = "clat_ns")]
    pub clat: LatencyResult,
    /// Total latency.
    #[serde(rename = "lat_ns")]
    pub lat: LatencyResult,
    /// Response time, in an open loop.
    #[serde(rename = "resp_ns", skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencyResult>,
    /// Arrivals of an open loop: due and waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsResult>,
    /// Where the time of the I/Os went, with `--layers`.
    #[serde(deserialize_with = "lenient::part", skip_serializing_if = "Option::is_none")]
    pub layers: Option<LayersResult>,
    /// Latency per I/O priority, if there were several.
    #[serde(rename = "prios", deserialize_with = "lenient::parts", skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityResult>,
    /// Smallest bandwidth sample in KiB/s.
    #[serde(deserialize_with = "lenient::number", serialize_with = "written::whole")]
    pub bw_min: f64,
    /// Largest.
    #[serde(deserialize_with = "lenient::number", serialize_with = "written::whole")]
    pub bw_max: f64,
    /// Share of its group's bandwidth, percent.
    #[serde(deserialize_with = "lenient::number")]
    pub bw_agg: f64,
    /// Mean.
    #[serde(deserialize_with = "lenient::number")]
    pub bw_mean: f64,
    /// Standard deviation.
    #[serde(deserialize_with = "lenient::number")]
    pub bw_dev: f64,
    /// Number of samples.
    #[serde(deserialize_with = "lenient::whole")]
    pub bw_samples: u64,
    /// Smallest IOPS sample.
    #[serde(deserialize_with = "lenient::number", serialize_with = "written::whole")]
    pub iops_min: f64,
    /// Largest.
    #[serde(deserialize_with = "lenient::number", serialize_with = "written::whole")]
    pub iops_max: f64,
    /// Mean.
    #[serde(deserialize_with = "lenient::number")]
    pub iops_mean: f64,
    /// Standard deviation.
    #[serde(deserialize_with = "lenient::number")]
    pub iops_stddev: f64,
    /// Number of samples.
    #[serde(deserialize_with = "lenient::whole")]
    pub iops_samples: u64,
    /// Share of accesses served by the engine's own cache, percent; for engines that report it.
    #[serde(
        rename = "cachehit",
        deserialize_with = "lenient::some_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_hit: Option<f64>,
}

/// Latency of the I/Os of one priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PriorityResult {
    /// Class: 0 none, 1 real time, 2 best effort, 3 idle.
    #[serde(rename = "prioclass")]
    pub class: u32,
    /// Level in the class, 0 is the highest.
    #[serde(rename = "prio")]
    pub level: u32,
    /// Hint to the device.
    #[serde(rename = "priohint")]
    pub hint: u32,
    /// Total latency, if its percentiles were requested.
    #[serde(rename = "lat_ns", skip_serializing_if = "Option::is_none")]
    pub lat: Option<LatencyResult>,
    /// Completion latency, otherwise.
    #[serde(rename = "clat_ns", skip_serializing_if = "Option::is_none")]
    pub clat: Option<LatencyResult>,
}

/// Arrivals of an open loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArrivalsResult {
    /// I/Os that were due.
    #[serde(deserialize_with = "lenient::whole")]
    pub due: u64,
    /// I/Os due per second.
    #[serde(deserialize_with = "lenient::number")]
    pub offered_iops: f64,
    /// Arrivals that had not been started at the end.
    #[serde(deserialize_with = "lenient::whole")]
    pub waiting: u64,
    /// Mean number waiting, over time.
    #[serde(deserialize_with = "lenient::number")]
    pub backlog_mean: f64,
    /// Largest number waiting.
    #[serde(deserialize_with = "lenient::whole")]
    pub backlog_max: u64,
    /// Arrivals that were waiting or in flight when the last one was due or the run time was over.
    #[serde(deserialize_with = "lenient::whole")]
    pub unfinished: u64,
    /// Time from the due time of an I/O to its start.
    #[serde(rename = "start_delay_ns")]
    pub start_delay: LatencyResult,
    /// The tester's own share of that delay.
    #[serde(rename = "own_delay_ns")]
    pub own_delay: LatencyResult,
    /// Time from its start to its completion.
    #[serde(rename = "service_ns")]
    pub service: LatencyResult,
}

/// Error history of a job's blocks: how many trims they had taken at their first error, and their states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockErrorResult {
    /// Percentiles of the number of trims of blocks with an error, ascending: percent and trims.
    #[serde(deserialize_with = "lenient::percentiles", serialize_with = "written::percentiles")]
    pub percentiles: Vec<(f64, u64)>,
    /// Blocks by state.
    pub states: BlockStates,
    /// The histogram (JSON+ only): number of trims, and how many blocks had an error after that many.
    #[serde(deserialize_with = "lenient::bins", skip_serializing_if = "BTreeMap::is_empty")]
    pub bins: BTreeMap<u64, u64>,
}

/// Number of blocks in each state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockStates {
    /// Neither trimmed nor written.
    #[serde(deserialize_with = "lenient::whole")]
    pub untouched: u64,
    /// Trimmed, and not written since.
    #[serde(deserialize_with = "lenient::whole")]
    pub trimmed: u64,
    /// Written, and not trimmed since.
    #[serde(deserialize_with = "lenient::whole")]
    pub written: u64,
    /// The first error was in a trim.
    #[serde(deserialize_with = "lenient::whole")]
    pub trim_failed: u64,
    /// The first error was in a write.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_failed: u64,
}

/// Syncs of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncResult {
    /// How many.
    #[serde(deserialize_with = "lenient::whole")]
    pub total_ios: u64,
    /// Their latency.
    #[serde(rename = "lat_ns")]
    pub latency: LatencyResult,
}

/// Counters and timings of an engine: connections, responses by status, times to first byte.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineResult {
    /// Counts and amounts by name.
    #[serde(deserialize_with = "lenient::shares", serialize_with = "written::counts")]
    pub counts: Vec<(String, f64)>,
    /// Times by name.
    #[serde(rename = "times_ns")]
    pub times: BTreeMap<String, LatencyResult>,
}

/// The search for a steady state, its outcome, and the window that was judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SteadyStateResult {
    /// The criterion as requested, `iops_slope:0.300000%`.
    #[serde(rename = "ss")]
    pub requested: String,
    /// Length of the window, s.
    #[serde(rename = "duration")]
    pub duration_seconds: u64,
    /// 1 if steady state was reached.
    pub attained: u32,
    /// Value of the criterion in the window.
    pub criterion: String,
    /// Largest deviation from the mean.
    pub max_deviation: f64,
    /// Slope of the figures.
    pub slope: f64,
    /// The window.
    pub data: SteadyStateWindow,
}

/// A window of figures, one per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SteadyStateWindow {
    /// Mean bytes per second.
    pub bw_mean: u64,
    /// Mean I/Os per second.
    pub iops_mean: u64,
    /// Mean latency in ns, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_mean: Option<f64>,
    /// I/Os per second.
    pub iops: Vec<u64>,
    /// Bytes per second.
    pub bw: Vec<u64>,
    /// Latencies in ns, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_ns: Option<Vec<u64>>,
}

impl JobResult {
    /// Read, write and trim; `None` for directions without I/O. With `unified_rw_reporting`, everything is
    /// under read.
    pub fn directions(&self) -> [Option<&DirectionResult>; 3] {
        let shown = |direction| match direction {
            Direction::Read => self.mixed.as_ref().or(self.read.as_ref()),
            Direction::Write => self.write.as_ref(),
            Direction::Trim => self.trim.as_ref(),
        };
        Direction::ALL.map(|direction| shown(direction).filter(|figures| !figures.is_empty()))
    }

    /// The figures of one direction, `None` if it was not reported separately.
    pub fn reported(&self, direction: Direction) -> Option<&DirectionResult> {
        match direction {
            Direction::Read => self.read.as_ref(),
            Direction::Write => self.write.as_ref(),
            Direction::Trim => self.trim.as_ref(),
        }
    }

    /// Bytes moved in a direction; 0 if it was not reported separately.
    pub fn io_bytes(&self, direction: Direction) -> u64 {
        self.reported(direction).map_or(0, |figures| figures.io_bytes)
    }

    /// I/Os in a direction; 0 if it was not reported separately.
    pub fn total_ios(&self, direction: Direction) -> u64 {
        self.reported(direction).map_or(0, |figures| figures.total_ios)
    }

    /// True if no I/O of this direction was reported separately.
    pub fn is_idle(&self, direction: Direction) -> bool {
        self.reported(direction).is_none_or(DirectionResult::is_empty)
    }

    /// Number of syncs; 0 if they were not reported.
    pub fn syncs(&self) -> u64 {
        self.sync.as_ref().map_or(0, SyncResult::count)
    }

    /// Latency of syncs; empty if they were not reported.
    pub fn sync_latency(&self) -> LatencyResult {
        self.sync.as_ref().map(|sync| sync.latency.clone()).unwrap_or_default()
    }

    /// The directions with I/O, and their names; a job that reports all together has `mixed`.
    pub fn active(&self) -> Vec<(&'static str, &DirectionResult)> {
        let is_idle = self.is_idle(Direction::Read) && self.is_idle(Direction::Write);
        if let Some(mixed) = self.mixed.as_ref().filter(|_| is_idle) {
            return vec![("mixed", mixed)];
        }
        let all = Direction::ALL.into_iter().filter(|direction| !self.is_idle(*direction));
        all.filter_map(|direction| Some((direction.word(), self.reported(direction)?))).collect()
    }
}

impl SyncResult {
    /// Number of syncs; fio 3.33 counts them only with their latencies.
    pub fn count(&self) -> u64 {
        self.total_ios.max(self.latency.count)
    }
}

impl EngineResult {
    /// True if the engine reported no counters or timings.
    fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.times.is_empty()
    }
}

impl DirectionResult {
    /// True if no trims or other work was done.
    pub fn is_empty(&self) -> bool {
        self.total_ios == 0 && self.io_bytes == 0
    }

    /// The main latency: completion latency, or total latency if only that has percentiles.
    pub fn latency(&self) -> &LatencyResult {
        let keeps = |latency: &LatencyResult| !latency.percentiles.is_empty() || !latency.bins.is_empty();
        if !keeps(&self.clat) && (keeps(&self.lat) || self.clat.mean_ns == 0.0) {
            &self.lat
        } else {
            &self.clat
        }
    }
}
