//! The content of a result. Times are in ns if the name says so, rates are per second, shares in percent.

use crate::hosts::HostsResult;
use crate::lenient;
use fathom_stats::Direction;
pub use fathom_stats::facts::{ClockFacts, DeviceFacts, HoleFacts, MemoryFacts, RunFacts, StopFacts};
use fathom_stats::histogram::Histogram;
pub use fathom_stats::host::{DeviceReport, FileSystemReport, HostReport, LoopFileReport};
pub use fathom_stats::limits::ProcessorLimit;
pub use fathom_stats::mounts::MountReport;
pub use fathom_stats::report::ProcessorShares;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RunResult {
    /// Where it was read from, for messages and headings.
    #[serde(skip)]
    pub source: String,
    /// The program's version, `fio-3.42`.
    #[serde(rename = "fio version")]
    pub version: String,
    /// End of the run, seconds since the epoch.
    #[serde(deserialize_with = "lenient::whole")]
    pub timestamp: u64,
    /// The same as text.
    pub time: String,
    /// Options given before any job.
    #[serde(rename = "global options", deserialize_with = "lenient::global_options")]
    pub global_options: Vec<(String, String)>,
    /// One entry per clone, or per group of merged ones; of all servers, where a client asked several for them.
    pub jobs: Vec<JobResult>,
    /// What the kernel counted for the block devices.
    pub disk_util: Vec<DiskResult>,
    /// How the jobs were run; only in results of fathom, empty for those of fio.
    #[serde(rename = "fathom jobs")]
    pub choices: Vec<Choices>,
    /// What verification came to, per job that verifies; only in results of fathom.
    #[serde(rename = "fathom verify")]
    pub verification: Vec<Verification>,
    /// The machine and its storage; only in results of fathom.
    #[serde(rename = "fathom host")]
    pub host: Option<HostReport>,
    /// What went through file systems of servers and in user space; only in results of fathom.
    #[serde(rename = "fathom mounts")]
    pub mounts: Vec<MountReport>,
    /// Sentences on what a reader must know to trust the figures.
    #[serde(rename = "fathom notes")]
    pub notes: Vec<String>,
    /// What surrounded the run, which the checks of a verdict look at; only in results of fathom.
    #[serde(rename = "fathom facts")]
    pub facts: Option<RunFacts>,
    /// The kernel's counters stage by stage, if there were several; only in results of fathom.
    #[serde(rename = "fathom stages")]
    pub stages: Vec<StageResult>,
    /// Rates and latencies over time; only in results of fathom.
    #[serde(rename = "fathom timeline")]
    pub course: Option<Course>,
    /// The hosts of a run over several; everything else is what they did together. Only in results of fathom.
    #[serde(rename = "fathom hosts")]
    pub hosts: Option<HostsResult>,
    /// What `fathom quick` makes of it, if that is what was run.
    #[serde(rename = "fathom quick")]
    pub quick: Option<QuickResult>,
}

/// What `fathom quick` measured, and what it doubts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuickResult {
    /// The directory.
    pub place: String,
    /// Size of the file.
    pub file_bytes: u64,
    /// The engine of all tests.
    pub engine: String,
    /// The page cache was bypassed.
    pub direct: bool,
    /// Time of each test.
    pub time_ms: u64,
    /// What to doubt about all figures.
    pub doubts: Vec<String>,
    /// The tests in the order in which they are shown.
    pub tests: Vec<QuickTest>,
}

/// A test of `fathom quick`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuickTest {
    /// Name of its job.
    pub jobname: String,
    /// `read` or `write`.
    pub direction: String,
    /// Random, not sequential.
    pub random: bool,
    /// Bytes of each I/O, as in a job file: `4k`.
    pub block_size: String,
    /// I/Os in flight.
    pub depth: u32,
    /// What to doubt about its figures.
    pub doubts: Vec<QuickDoubt>,
}

/// Why a figure may not be what it seems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuickDoubt {
    /// A word for doubts of this kind, which other tests may share.
    pub kind: String,
    /// How strong it is; only doubts of one kind can be compared.
    #[serde(deserialize_with = "lenient::number")]
    pub weight: f64,
    /// The sentence.
    pub text: String,
}

/// A clone, or several merged ones.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct JobResult {
    /// Name; in a result of several hosts followed by the host.
    #[serde(rename = "jobname")]
    pub name: String,
    /// Server that ran it, of a run that a client asked servers for; otherwise empty.
    #[serde(rename = "hostname")]
    pub host: String,
    /// Port of that server.
    #[serde(deserialize_with = "lenient::whole")]
    pub port: u64,
    /// Reporting group.
    #[serde(rename = "groupid", deserialize_with = "lenient::whole")]
    pub group_id: u64,
    /// errno of what ended it early; 0 when nothing did.
    pub error: i64,
    /// Seconds since the start.
    #[serde(rename = "elapsed", deserialize_with = "lenient::whole")]
    pub elapsed_seconds: u64,
    /// Its options as written.
    #[serde(rename = "job options", deserialize_with = "lenient::options")]
    pub options: Vec<(String, String)>,
    /// Reads.
    pub read: DirectionResult,
    /// Writes.
    pub write: DirectionResult,
    /// Trims.
    pub trim: DirectionResult,
    /// All directions as one, if the job requested that.
    pub mixed: Option<DirectionResult>,
    /// Syncs.
    pub sync: SyncResult,
    /// What its engine counted and timed beside the I/Os.
    #[serde(rename = "fathom engine")]
    pub engine: EngineResult,
    /// Sum of the clones' run times in ms.
    #[serde(rename = "job_runtime", deserialize_with = "lenient::whole")]
    pub runtime_ms: u64,
    /// Share of the run time that went to user code, percent of one processor, averaged over the clones.
    #[serde(deserialize_with = "lenient::number")]
    pub usr_cpu: f64,
    /// The same for the kernel on the job's behalf.
    #[serde(deserialize_with = "lenient::number")]
    pub sys_cpu: f64,
    /// Context switches.
    #[serde(rename = "ctx", deserialize_with = "lenient::whole")]
    pub context_switches: u64,
    /// Major page faults.
    #[serde(rename = "majf", deserialize_with = "lenient::whole")]
    pub major_faults: u64,
    /// Shares of I/Os issued at a depth of 1, 2-3, 4-7, ... in percent.
    #[serde(deserialize_with = "lenient::shares")]
    pub iodepth_level: Vec<(String, f64)>,
    /// Depth that was requested or found.
    #[serde(deserialize_with = "lenient::whole")]
    pub latency_depth: u64,
    /// `latency_target` in ns (µs in results of earlier versions of fathom); 0 when there is none.
    #[serde(deserialize_with = "lenient::whole")]
    pub latency_target: u64,
    /// Shares of I/Os up to a latency, by the upper bound in ns.
    #[serde(deserialize_with = "lenient::shares")]
    pub latency_ns: Vec<(String, f64)>,
    /// The same, by the upper bound in µs.
    #[serde(deserialize_with = "lenient::shares")]
    pub latency_us: Vec<(String, f64)>,
    /// The same, by the upper bound in ms.
    #[serde(deserialize_with = "lenient::shares")]
    pub latency_ms: Vec<(String, f64)>,
}

/// One direction of a job.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DirectionResult {
    /// Bytes moved.
    #[serde(deserialize_with = "lenient::whole")]
    pub io_bytes: u64,
    /// Bytes per second.
    #[serde(rename = "bw_bytes", deserialize_with = "lenient::number")]
    pub bytes_per_second: f64,
    /// I/Os per second.
    #[serde(deserialize_with = "lenient::number")]
    pub iops: f64,
    /// Run time in ms.
    #[serde(rename = "runtime", deserialize_with = "lenient::whole")]
    pub runtime_ms: u64,
    /// I/Os.
    #[serde(deserialize_with = "lenient::whole")]
    pub total_ios: u64,
    /// I/Os that moved less than asked.
    #[serde(deserialize_with = "lenient::whole")]
    pub short_ios: u64,
    /// Submission latency.
    #[serde(rename = "slat_ns")]
    pub slat: LatencyResult,
    /// Completion latency.
    #[serde(rename = "clat_ns")]
    pub clat: LatencyResult,
    /// Total latency.
    #[serde(rename = "lat_ns")]
    pub lat: LatencyResult,
    /// Response time, of an open loop.
    #[serde(rename = "resp_ns")]
    pub response: Option<LatencyResult>,
    /// What was due in an open loop, and what waited.
    pub arrivals: Option<ArrivalsResult>,
    /// Smallest bandwidth sample in KiB/s.
    #[serde(deserialize_with = "lenient::number")]
    pub bw_min: f64,
    /// Largest.
    #[serde(deserialize_with = "lenient::number")]
    pub bw_max: f64,
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
    #[serde(deserialize_with = "lenient::number")]
    pub iops_min: f64,
    /// Largest.
    #[serde(deserialize_with = "lenient::number")]
    pub iops_max: f64,
    /// Mean.
    #[serde(deserialize_with = "lenient::number")]
    pub iops_mean: f64,
    /// Standard deviation.
    #[serde(deserialize_with = "lenient::number")]
    pub iops_stddev: f64,
}

/// The arrivals of an open loop.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ArrivalsResult {
    /// I/Os that were due.
    #[serde(deserialize_with = "lenient::whole")]
    pub due: u64,
    /// I/Os a second that were due.
    #[serde(deserialize_with = "lenient::number")]
    pub offered_iops: f64,
    /// Those that had not been started at the end.
    #[serde(deserialize_with = "lenient::whole")]
    pub waiting: u64,
    /// How many waited, on average over time.
    #[serde(deserialize_with = "lenient::number")]
    pub backlog_mean: f64,
    /// How many waited at most.
    #[serde(deserialize_with = "lenient::whole")]
    pub backlog_max: u64,
    /// From when an I/O was due to its start.
    #[serde(rename = "start_delay_ns")]
    pub start_delay: LatencyResult,
    /// The tester's own part of that.
    #[serde(rename = "own_delay_ns")]
    pub own_delay: LatencyResult,
    /// From its start to its completion.
    #[serde(rename = "service_ns")]
    pub service: LatencyResult,
}

/// Syncs of a job.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SyncResult {
    /// How many.
    #[serde(deserialize_with = "lenient::whole")]
    pub total_ios: u64,
    /// Their latency.
    #[serde(rename = "lat_ns")]
    pub latency: LatencyResult,
}

/// What an engine counts and times by itself: connections, answers by status, times to the first byte.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct EngineResult {
    /// Numbers of events, and amounts, by name.
    #[serde(deserialize_with = "lenient::shares")]
    pub counts: Vec<(String, f64)>,
    /// Times by name.
    #[serde(rename = "times_ns")]
    pub times: BTreeMap<String, LatencyResult>,
}

/// A latency in ns.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LatencyResult {
    /// Smallest.
    #[serde(rename = "min", deserialize_with = "lenient::number")]
    pub min_ns: f64,
    /// Largest.
    #[serde(rename = "max", deserialize_with = "lenient::number")]
    pub max_ns: f64,
    /// Mean.
    #[serde(rename = "mean", deserialize_with = "lenient::number")]
    pub mean_ns: f64,
    /// Standard deviation.
    #[serde(rename = "stddev", deserialize_with = "lenient::number")]
    pub stddev_ns: f64,
    /// Number of values.
    #[serde(rename = "N", deserialize_with = "lenient::whole")]
    pub count: u64,
    /// Percentiles that were printed: percent and ns, ascending.
    #[serde(rename = "percentile", deserialize_with = "lenient::percentiles")]
    pub percentiles: Vec<(f64, u64)>,
    /// The histogram (JSON+ only): ns in the middle of a bin, and how many.
    #[serde(deserialize_with = "lenient::bins")]
    pub bins: BTreeMap<u64, u64>,
}

/// A block device during the run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DiskResult {
    /// Kernel name; in a result of several hosts followed by the host.
    pub name: String,
    /// Server that has it, of a run that a client asked servers for; otherwise empty.
    #[serde(rename = "hostname")]
    pub host: String,
    /// Port of that server.
    #[serde(deserialize_with = "lenient::whole")]
    pub port: u64,
    /// Reads.
    #[serde(deserialize_with = "lenient::whole")]
    pub read_ios: u64,
    /// Writes.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_ios: u64,
    /// Sectors of 512 bytes read; 0 if the program does not report them.
    #[serde(deserialize_with = "lenient::whole")]
    pub read_sectors: u64,
    /// Sectors written.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_sectors: u64,
    /// Reads merged with others.
    #[serde(deserialize_with = "lenient::whole")]
    pub read_merges: u64,
    /// Writes merged with others.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_merges: u64,
    /// Milliseconds that reads took, added up.
    #[serde(deserialize_with = "lenient::whole")]
    pub read_ticks: u64,
    /// Milliseconds that writes took.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_ticks: u64,
    /// Milliseconds in queue, added up.
    #[serde(deserialize_with = "lenient::whole")]
    pub in_queue: u64,
    /// Share of the time that the device was busy.
    #[serde(deserialize_with = "lenient::number")]
    pub util: f64,
    /// Reads of its members, on average; only of a stacked device.
    pub(crate) aggr_read_ios: Option<f64>,
    /// Writes of its members, on average.
    pub(crate) aggr_write_ios: Option<f64>,
    /// No file of a job is on it: it is listed because a device above it is used, or a second time.
    #[serde(skip)]
    pub is_member: bool,
    /// Underlying devices that are listed, at any depth. They repeat its I/O.
    #[serde(skip)]
    pub below: Vec<String>,
}

/// The devices while one stage ran.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StageResult {
    /// Reporting groups of its jobs.
    pub groups: Vec<u64>,
    /// What the kernel counted for the devices of its jobs.
    pub disk_util: Vec<DiskResult>,
    /// What went through file systems of servers and in user space.
    pub mounts: Vec<MountReport>,
}

/// How a job was run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// Name of the job.
    pub jobname: String,
    /// What gave the random offsets.
    pub random_offsets: Option<String>,
    /// Kernel features that the engine used.
    pub engine_features: Vec<String>,
    /// Total ms in which the job's clones were runnable but had no CPU.
    pub processor_wait_ms: Option<u64>,
    /// Where the time of the machine's processors went while the job ran.
    pub processors: Option<ProcessorShares>,
    /// Limits that control groups set to the job.
    pub limits: GroupLimits,
    /// What its files had in the page cache at its end that the storage did not have yet.
    pub unwritten_bytes: Option<u64>,
}

/// What verification of a job came to.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Verification {
    /// Name of the job.
    pub jobname: String,
    /// Reads that were checked.
    pub checked_reads: u64,
    /// Bytes of them.
    pub checked_bytes: u64,
    /// Blocks that were wrong.
    pub wrong_blocks: u64,
    /// Blocks that were to be checked and were not; `None` where a clone ended before it could tell, and in old results.
    pub unchecked_blocks: Option<u64>,
    /// Checked bytes that the machine had in memory when they were read, at most; `None` in old results.
    pub from_memory_bytes: Option<u64>,
    /// Checked bytes of which the system does not say whether they came from memory.
    pub unknown_source_bytes: u64,
    /// The job did not let the cache be dropped.
    pub keeps_cache: bool,
    /// Other workers may have written the same blocks.
    pub shares_blocks: bool,
    /// Nothing told it which run wrote the data.
    pub takes_any_run: bool,
}

/// Limits of control groups, inner groups first.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct GroupLimits {
    /// Of processor time.
    pub processors: Vec<ProcessorLimit>,
    /// Of I/O.
    pub io: Vec<IoLimit>,
}

/// What a group may do with a device in a second, and what it did while the job ran.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct IoLimit {
    /// The group that has the limit.
    pub group: String,
    /// Kernel name of the device.
    pub device: String,
    read_bytes_per_second: Option<u64>,
    write_bytes_per_second: Option<u64>,
    read_ios_per_second: Option<u64>,
    write_ios_per_second: Option<u64>,
    read_bytes: u64,
    write_bytes: u64,
    read_ios: u64,
    write_ios: u64,
}

impl IoLimit {
    /// Limit per second and what was done, for bytes read, bytes written, reads, and writes.
    pub fn parts(&self) -> [(Option<u64>, u64); 4] {
        [
            (self.read_bytes_per_second, self.read_bytes),
            (self.write_bytes_per_second, self.write_bytes),
            (self.read_ios_per_second, self.read_ios),
            (self.write_ios_per_second, self.write_ios),
        ]
    }
}

/// How rates and latencies went over a run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Course {
    /// Length of a point in ms; the last point may be shorter or longer.
    #[serde(deserialize_with = "lenient::whole")]
    pub interval_ms: u64,
    /// One entry per job, group, or all jobs together.
    pub jobs: Vec<CourseEntry>,
}

/// The course of one job.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CourseEntry {
    /// Name of the job.
    pub jobname: String,
    /// Reporting group.
    #[serde(deserialize_with = "lenient::whole")]
    pub groupid: u64,
    /// Ascending.
    pub points: Vec<CoursePoint>,
}

/// A stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CoursePoint {
    /// Its end, ms since the start.
    #[serde(deserialize_with = "lenient::whole")]
    pub end_ms: u64,
    /// Reads.
    pub read: CourseFigures,
    /// Writes.
    pub write: CourseFigures,
    /// Trims.
    pub trim: CourseFigures,
}

/// One direction in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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

impl RunResult {
    /// True for results that fathom printed, which say more than fio's.
    pub fn is_of_fathom(&self) -> bool {
        !self.choices.is_empty() || self.host.is_some() || self.hosts.is_some()
    }

    /// Servers that ran the jobs for a client, in the order of their results; a port is named where a host has several.
    pub fn servers(&self) -> Vec<String> {
        let mut found: Vec<(&str, u64)> = Vec::new();
        for job in self.jobs.iter().filter(|job| !job.host.is_empty()) {
            if !found.contains(&(job.host.as_str(), job.port)) {
                found.push((&job.host, job.port));
            }
        }
        found.iter().map(|&(host, port)| server_name(&found, host, port)).collect()
    }

    /// The value of an option of a job: its own, otherwise the global one. A flag has an empty value.
    pub fn option<'a>(&'a self, job: &'a JobResult, name: &str) -> Option<&'a str> {
        let find = |list: &'a [(String, String)]| list.iter().rev().find(|(key, _)| key == name);
        find(&job.options).or_else(|| find(&self.global_options)).map(|(_, value)| value.as_str())
    }

    /// Options of a job in force: its own after the global ones that it does not repeat.
    pub fn options(&self, job: &JobResult) -> Vec<(String, String)> {
        let is_repeated = |key: &str| job.options.iter().any(|(own, _)| own == key);
        let global = self.global_options.iter().filter(|(key, _)| !is_repeated(key));
        global.chain(&job.options).cloned().collect()
    }

    /// True for an option that is a truth and set, `direct` or `direct=1`.
    pub fn is_set(&self, job: &JobResult, name: &str) -> bool {
        self.option(job, name).is_some_and(|value| !matches!(value.trim(), "0" | "false" | "no"))
    }
}

/// What a server is called among others.
pub(crate) fn server_name(all: &[(&str, u64)], host: &str, port: u64) -> String {
    match all.iter().filter(|(other, _)| *other == host).count() {
        0 | 1 => host.to_owned(),
        _ => format!("{host}:{port}"),
    }
}

impl JobResult {
    /// Read, write and trim; those without any I/O are `None`. With `unified_rw_reporting` all is under read.
    pub fn directions(&self) -> [Option<&DirectionResult>; 3] {
        let shown = |direction| match direction {
            Direction::Read => self.mixed.as_ref().unwrap_or(&self.read),
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        };
        Direction::ALL.map(|direction| Some(shown(direction)).filter(|figures| !figures.is_empty()))
    }

    /// The directions with I/O and their names; a job that reports all as one has `mixed`.
    pub fn active(&self) -> Vec<(&'static str, &DirectionResult)> {
        if let Some(mixed) = self.mixed.as_ref().filter(|_| self.read.is_empty() && self.write.is_empty()) {
            return vec![("mixed", mixed)];
        }
        let names = Direction::ALL.map(Direction::word).into_iter();
        let all = names.zip([&self.read, &self.write, &self.trim]);
        all.filter(|(_, direction)| !direction.is_empty()).collect()
    }
}

impl SyncResult {
    /// How many there were; fio 3.33 counts them only with their latencies.
    pub fn count(&self) -> u64 {
        self.total_ios.max(self.latency.count)
    }
}

impl DirectionResult {
    /// Nothing was done.
    pub fn is_empty(&self) -> bool {
        self.total_ios == 0 && self.io_bytes == 0
    }

    /// The latency that people mean: completion latency, or the total one where that has percentiles and the other has not.
    pub fn latency(&self) -> &LatencyResult {
        let keeps = |latency: &LatencyResult| !latency.percentiles.is_empty() || !latency.bins.is_empty();
        if !keeps(&self.clat) && (keeps(&self.lat) || self.clat.mean_ns == 0.0) {
            &self.lat
        } else {
            &self.clat
        }
    }
}

impl LatencyResult {
    /// The histogram in fathom's bins; `None` when none was printed.
    pub fn histogram(&self) -> Option<Histogram> {
        let mut histogram = Histogram::default();
        for (&ns, &count) in &self.bins {
            match fathom_stats::histogram::bin_of(ns) {
                Some(bin) => *histogram.bins.entry(bin as u16).or_default() += count,
                None => histogram.beyond_range += count,
            }
        }
        (!self.bins.is_empty()).then_some(histogram)
    }

    /// A percentile in ns, from the histogram or as printed; `None` if neither has it.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        if let Some(histogram) = self.histogram() {
            return histogram.percentiles(&[percent]).first().map(|&ns| ns as f64);
        }
        let printed = self.percentiles.iter().find(|(key, _)| (key - percent).abs() < 1e-6);
        printed.map(|&(_, ns)| ns as f64)
    }
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
