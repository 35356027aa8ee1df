//! The result of a run. Workers and the supervisor fill it, and output formats read only this result. All types
//! are owned, serializable data, so a report can be stored, merged with others and printed later. Arrays over
//! directions have the order read, write, trim.

use crate::arrivals::ArrivalsReport;
use crate::block_errors::BlockErrorReport;
pub use crate::buckets::{DEPTH_BUCKETS, DISTRIBUTION_BOUNDS_NS, DISTRIBUTION_BUCKETS};
use crate::engine_figures::EngineFigures;
use crate::facts::RunFacts;
use crate::host::HostReport;
use crate::hosts::HostsReport;
use crate::interval::IntervalReport;
use crate::latency::LatencyStats;
use crate::layers::{LayerRun, LayerStats};
use crate::limits::GroupLimits;
use crate::moment::{JobMoment, WallSpan};
use crate::mounts::MountReport;
use crate::per_direction::PerDirection;
use crate::series::SampleStats;
use crate::slices::SliceReport;
pub use crate::steady_state::{SteadyStateMetric, SteadyStateReport};
use crate::timeline::Timeline;
use crate::verdict::VerdictReport;
pub use crate::verification::VerificationReport;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The replay of a job's log, summed over all clones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayReport {
    /// Name of the job.
    pub job: String,
    /// The logs.
    pub logs: Vec<String>,
    /// Number of entries in the logs, after `replay_skip`.
    pub entries: u64,
    /// Time in ns between due time and issue of the entries that had a due time.
    pub lateness: LatencyStats,
}

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Version that compatible readers expect, for example `fio-3.42`.
    pub version: String,
    /// Time of the report on the wall clock, in milliseconds since the epoch.
    pub timestamp_ms: u64,
    /// Options given before the first job, in order, with values as written and canonical names.
    pub global_options: Vec<(String, String)>,
    /// One entry per job, or per group that `group_reporting` merged, in the order of definition.
    pub jobs: Vec<JobReport>,
    /// One entry per reporting group.
    pub groups: Vec<GroupReport>,
    /// Block devices that held the files of the run; empty if not requested or if there were none.
    pub disks: Vec<DiskReport>,
    /// Traffic of network and FUSE file systems.
    #[serde(default)]
    pub mounts: Vec<MountReport>,
    /// The devices and mounts of each stage, in order, if the run had several stages.
    #[serde(default)]
    pub stages: Vec<StageReport>,
    /// Choices that fathom made for each job, in the order of definition.
    pub choices: Vec<JobChoices>,
    /// Sentences that a reader needs to interpret the figures, for example about stuck I/Os or lost workers.
    pub notes: Vec<String>,
    /// Verification results of each job that verifies.
    #[serde(default)]
    pub verification: Vec<VerificationReport>,
    /// The replay of each job that has a log.
    #[serde(default)]
    pub replays: Vec<ReplayReport>,
    /// Idleness of the processors, with `--idle-prof`.
    #[serde(default)]
    pub idleness: Option<IdlenessReport>,
    /// What recording the layers cost and lost, with `--layers`.
    #[serde(default)]
    pub layers: Option<LayerRun>,
    /// The interval since the run's previous report, if there are reports at intervals.
    #[serde(default)]
    pub interval: Option<IntervalReport>,
    /// Slow reads by slices of time, for the profile that needs them.
    #[serde(default)]
    pub slices: Option<SliceReport>,
    /// Rates and latencies over time, if the caller requested them.
    #[serde(default)]
    pub timeline: Option<Timeline>,
    /// The machine on which the jobs ran.
    #[serde(default)]
    pub host: Option<HostReport>,
    /// Circumstances of the run, if its timeline is kept.
    #[serde(default)]
    pub facts: Option<RunFacts>,
    /// The verdict on the figures; `None` until they have been judged.
    #[serde(default)]
    pub verdict: Option<VerdictReport>,
    /// Start and end of the jobs, on the clock of the machine on which they ran.
    #[serde(default)]
    pub span: Option<RunSpan>,
    /// The hosts of a multi-host run; the fields above are their sums.
    #[serde(default)]
    pub hosts: Option<HostsReport>,
}

/// Start and end times of a run's jobs, in monotonic ns of the machine on which they ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpan {
    /// Start of the first job.
    pub first_begin_ns: u64,
    /// Start of the last job of the first stage.
    pub last_begin_ns: u64,
    /// End of the first job that ended; `None` if none has.
    pub first_end_ns: Option<u64>,
    /// End of the last job; `None` while one is running.
    pub last_end_ns: Option<u64>,
}

/// The choices that fathom made for a job, so that a reader knows what was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobChoices {
    /// Name of the job.
    #[serde(rename = "job", alias = "jobname")]
    pub name: String,
    /// Generator of the random offsets, such as `permutation` or `tausworthe`; `None` for sequential jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_offsets: Option<String>,
    /// Kernel features that the engine detected and used.
    pub engine_features: Vec<String>,
    /// Total time in ms for which its clones were runnable but had no CPU; `None` if the kernel does not report
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_wait_ms: Option<u64>,
    /// Utilisation of the machine's processors while the job ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorShares>,
    /// Control group limits that applied to the job.
    #[serde(skip_serializing_if = "GroupLimits::is_empty")]
    pub limits: GroupLimits,
    /// Dirty bytes of the job's files in the page cache at the job's end; `None` if unknown, or if the job
    /// wrote no data through the page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwritten_bytes: Option<u64>,
}

/// Times in ms, summed over all processors of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorShares {
    /// In programs.
    pub user_ms: u64,
    /// Time spent in programs, the kernel and interrupts.
    pub busy_ms: u64,
    /// Time that the hypervisor gave to other machines.
    pub stolen_ms: u64,
    /// Total time, including idle time.
    pub total_ms: u64,
}

/// The result of one clone, or of several merged clones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// Name of the job.
    pub name: String,
    /// Number of the reporting group; the first is 0.
    pub group_id: u32,
    /// Number of the run's stage to which the job belongs; the first is 0, and `stonewall` begins a new stage.
    #[serde(default)]
    pub stage: u32,
    /// Number of clones merged into this entry.
    pub clones: u32,
    /// Process ID of the clone, or of the first of several.
    pub pid: u32,
    /// Time at which the job started, in milliseconds of the clock that `job_start_clock_id` names (the wall
    /// clock by default).
    pub job_start_ms: u64,
    /// The error that ended the job early.
    pub error: Option<JobError>,
    /// Estimated remaining seconds; 0 in a final report.
    pub eta_seconds: u64,
    /// Whole seconds since the job started.
    pub elapsed_seconds: u64,
    /// Options of the job, including `name`, with values as written and canonical names. Flags have an empty
    /// value.
    pub options: Vec<(String, String)>,
    /// `description=`.
    pub description: Option<String>,
    /// Kernel names of the block devices that hold its files, disks in place of partitions; after their host, as in
    /// `alpha:nvme0n1`, in the report of several hosts. Empty before the final report.
    #[serde(default)]
    pub devices: BTreeSet<String>,
    /// Figures per direction.
    pub directions: PerDirection<DirectionReport>,
    /// Latency of syncs; its count is the number of syncs.
    pub sync: LatencyStats,
    /// Sum of the run times of the clones in ms.
    pub runtime_total_ms: u64,
    /// Processor time and faults.
    pub cpu: CpuReport,
    /// Number of I/Os issued at queue depth 1, 2-3, 4-7, 8-15, 16-31, 32-63, and 64 or more.
    pub depth_map: [u64; DEPTH_BUCKETS],
    /// Number of submissions with 0, 1-4, 5-8, 9-16, 17-32, 33-64, and more I/Os.
    pub submit_map: [u64; DEPTH_BUCKETS],
    /// Number of reaps that returned these numbers of completions.
    pub complete_map: [u64; DEPTH_BUCKETS],
    /// Number of I/Os by completion latency; see [`DISTRIBUTION_BOUNDS_NS`].
    pub distribution: [u64; DISTRIBUTION_BUCKETS],
    /// Tolerated errors, if `continue_on_error` or `ignore_error` is set.
    pub tolerated_errors: Option<ToleratedErrors>,
    /// Queue depth, target and window for the `latency` line.
    pub latency_goal: LatencyGoal,
    /// True if the job never started I/O of its own, so that the latency target does not apply.
    pub never_ran: bool,
    /// State of the job's blocks, with `block_error_percentiles`.
    #[serde(default)]
    pub block_errors: Option<BlockErrorReport>,
    /// Number of zones that were reset, for zoned jobs.
    #[serde(default)]
    pub zone_resets: Option<u64>,
    /// Result of the search for a steady state, if requested.
    #[serde(default)]
    pub steady_state: Option<SteadyStateReport>,
    /// The engine's own counters and timings, from setup to end.
    #[serde(default)]
    pub engine: EngineFigures,
    /// State of the clones at the time of the report; `None` in the final report.
    #[serde(default)]
    pub moment: Option<JobMoment>,
    /// Time span in which the clones ran, including setup and ramp; `None` if none ran.
    #[serde(default)]
    pub ran: Option<WallSpan>,
    /// Display options of the figures.
    pub view: ViewOptions,
}

/// The error that ended a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobError {
    /// errno.
    pub code: i32,
    /// The text as stored: `file:FILE, func=FUNC, error=TEXT`.
    pub text: String,
}

impl JobError {
    /// Returns the failed call and its error, without the source file of fio:
    /// `open(data): No such file or directory`.
    pub fn message(&self) -> String {
        message_of_line(&self.text)
    }
}

/// Extracts the call and its error from a line in fio's form, such as `fio: pid=1, err=2/file:filesetup.c,
/// func=open(data), error=No such file or directory`.
pub fn message_of_line(line: &str) -> String {
    let last = line.lines().next_back().unwrap_or(line);
    let parts = last.split_once(", func=").and_then(|(_, rest)| rest.split_once(", error="));
    parts.map_or_else(|| last.to_owned(), |(call, error)| format!("{call}: {error}"))
}

/// The figures of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// Bytes moved.
    pub io_bytes: u64,
    /// I/Os issued.
    pub issued: u64,
    /// Number of completed I/Os, which latency figures and IOPS are based on.
    pub total_ios: u64,
    /// Number of I/Os that moved fewer bytes than requested.
    pub short_ios: u64,
    /// Number of I/Os that were dropped.
    pub drop_ios: u64,
    /// Run time in ms.
    pub runtime_ms: u64,
    /// Submission latency.
    pub slat: LatencyStats,
    /// Completion latency.
    pub clat: LatencyStats,
    /// Total latency.
    pub lat: LatencyStats,
    /// Bandwidth samples in KiB/s.
    pub bw: SampleStats,
    /// IOPS samples.
    pub iops: SampleStats,
    /// Latency by I/O priority: completion latency, or total latency with `lat_percentiles`. The list is empty
    /// if all I/Os had the same priority.
    #[serde(default)]
    pub priorities: Vec<PriorityReport>,
    /// Accesses that the engine's cache served, for engines that report them.
    #[serde(default)]
    pub cache: Option<CacheReport>,
    /// Scheduled arrivals; `None` unless the loop is open.
    #[serde(default)]
    pub arrivals: Option<ArrivalsReport>,
    /// Where the time of the I/Os went, with `--layers`.
    #[serde(default)]
    pub layers: Option<LayerStats>,
}

/// The latency of the I/Os of one priority.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityReport {
    /// Priority class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// Level within the class; 0 is the highest.
    pub level: u8,
    /// Hint to the device.
    pub hint: u16,
    /// The latencies.
    pub latency: LatencyStats,
}

/// Hits and misses of an engine's own cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheReport {
    /// Number of accesses that the cache served.
    pub hits: u64,
    /// Number of accesses that went to the device.
    pub misses: u64,
}

impl CacheReport {
    /// Returns the share of hits in percent; 0 without accesses.
    pub fn hit_percent(&self) -> f64 {
        100.0 * self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }
}

/// The outcome of `--idle-prof`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IdlenessReport {
    /// Mean idleness of all processors in percent.
    pub system_percent: f64,
    /// Idleness of each CPU in percent; empty if only the mean was requested.
    pub per_cpu_percent: Vec<f64>,
    /// Mean time of one unit of calibration work in µs.
    pub unit_mean_us: f64,
    /// Standard deviation of this time in µs.
    pub unit_stddev_us: f64,
}

/// The processor use of a job, summed over its clones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuReport {
    /// User time in µs.
    pub user_us: u64,
    /// System time in µs.
    pub system_us: u64,
    /// Context switches.
    pub context_switches: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
}

/// The errors that did not end the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToleratedErrors {
    /// Number of errors.
    pub total: u64,
    /// errno of the first error; 0 without errors.
    pub first: i32,
}

/// `latency_target` and related options, with the queue depth in use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyGoal {
    /// Queue depth: the job's `iodepth`, or the depth that `latency_target` found.
    pub depth: u32,
    /// Target in ns; 0 if there is none.
    pub target_ns: u64,
    /// Share of I/Os that must meet the target, in percent.
    pub percentile: f64,
    /// Window in ns; 0 if there is none.
    pub window_ns: u64,
}

/// The display options of a job's figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewOptions {
    /// Base of the first of the two bandwidth figures: 1024 or 1000.
    pub kb_base: u32,
    /// Unit of rates: 8 shows bytes, 1 shows bits.
    pub unit_base: u32,
    /// Number of significant digits of scaled numbers.
    pub significant_figures: u32,
    /// Percentiles to list, in ascending order; none if empty.
    pub percentiles: Vec<f64>,
    /// Show percentiles of submission latency.
    pub slat_percentiles: bool,
    /// Show percentiles of completion latency.
    pub clat_percentiles: bool,
    /// Show percentiles of total latency.
    pub lat_percentiles: bool,
    /// Omit the latency of syncs, as for a job without completion latencies.
    #[serde(default)]
    pub hides_sync_latency: bool,
    /// Name of the job's operations, if they move no data: `creates`, `stats`, `deletes`.
    #[serde(default)]
    pub operations: Option<String>,
    /// Selects whether the directions are shown separately, together, or both.
    #[serde(default)]
    pub unified: UnifiedReporting,
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnifiedReporting {
    /// Read, write and trim separately.
    #[default]
    Apart,
    /// All directions combined.
    Mixed,
    /// The directions separately, followed by all combined.
    Both,
}

impl Default for ViewOptions {
    fn default() -> Self {
        ViewOptions {
            kb_base: 1024,
            unit_base: 8,
            significant_figures: 4,
            percentiles: DEFAULT_PERCENTILES.to_vec(),
            slat_percentiles: false,
            clat_percentiles: true,
            lat_percentiles: false,
            hides_sync_latency: false,
            operations: None,
            unified: UnifiedReporting::Apart,
        }
    }
}

/// The default percentiles of a report.
pub const DEFAULT_PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// The `Run status group` lines: figures of the clones of a group, before clones are merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Number of the group; the first is 0.
    pub group_id: u32,
    /// 1024 or 1000.
    pub kb_base: u32,
    /// 8 bytes, 1 bits.
    pub unit_base: u32,
    /// Number of significant digits of scaled numbers.
    pub significant_figures: u32,
    /// Figures per direction.
    pub directions: PerDirection<GroupDirection>,
    /// Figures of all directions combined.
    #[serde(default)]
    pub mixed: GroupDirection,
    /// Selects whether the directions are shown separately, together, or both.
    #[serde(default)]
    pub unified: UnifiedReporting,
}

/// One direction of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupDirection {
    /// Number of bytes moved by all clones.
    pub io_bytes: u64,
    /// Rate of the slowest clone in bytes per second.
    pub min_bw_bytes: u64,
    /// Rate of the fastest clone in bytes per second.
    pub max_bw_bytes: u64,
    /// Total bytes divided by the longest run time, in bytes per second.
    pub total_bw_bytes: u64,
    /// Shortest run time in ms.
    pub min_runtime_ms: u64,
    /// Longest run time in ms.
    pub max_runtime_ms: u64,
}

/// Kernel counters during the jobs of one stage (`stonewall`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// Reporting groups of the stage's jobs; a group never belongs to two stages.
    pub groups: Vec<u32>,
    /// Devices that held the files of the jobs.
    pub disks: Vec<DiskReport>,
    /// Traffic of network and FUSE file systems that held the files.
    #[serde(default)]
    pub mounts: Vec<MountReport>,
}

/// Kernel counters of one block device during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskReport {
    /// The kernel's name, for example `nvme0n1`.
    pub name: String,
    /// Number of I/Os completed: read, write.
    pub ios: [u64; 2],
    /// Number of 512-byte sectors: read, write.
    pub sectors: [u64; 2],
    /// Number of merged requests: read, write.
    pub merges: [u64; 2],
    /// Total time of requests in ms: read, write.
    pub ticks_ms: [u64; 2],
    /// Weighted time in the queue in ms.
    pub in_queue_ms: u64,
    /// Share of the time for which the device was busy, in percent.
    pub util_percent: f64,
    /// Members of a stacked device (md, dm).
    pub members: Vec<DiskReport>,
}

impl DirectionReport {
    /// True if no bytes were moved, because no I/O was issued, all of them failed, or the engine moves no data
    /// (`cpuio`).
    pub fn is_idle(&self) -> bool {
        self.io_bytes == 0
    }

    /// Returns the bytes per second over the direction's run time (at least 1 ms); 0 if I/Os were only
    /// simulated.
    pub fn bytes_per_second(&self) -> u64 {
        if self.total_ios == 0 && self.runtime_ms == 0 {
            return 0;
        }
        scale_per_second(self.io_bytes, self.runtime_ms)
    }

    /// Returns the exact I/Os per second; 0 without a run time, because all I/Os have failed and their rate
    /// says nothing about the device.
    pub fn iops(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { 1000.0 * self.total_ios as f64 / self.runtime_ms as f64 }
    }

    /// Adds another clone's figures. The run time is that of the clone that ran longest.
    pub fn merge(&mut self, other: &DirectionReport) {
        self.io_bytes += other.io_bytes;
        self.issued += other.issued;
        self.total_ios += other.total_ios;
        self.short_ios += other.short_ios;
        self.drop_ios += other.drop_ios;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.slat.merge(&other.slat);
        self.clat.merge(&other.clat);
        self.lat.merge(&other.lat);
        self.bw.merge(&other.bw);
        self.iops.merge(&other.iops);
        for theirs in &other.priorities {
            let same = |own: &&mut PriorityReport| {
                (own.class, own.level, own.hint) == (theirs.class, theirs.level, theirs.hint)
            };
            match self.priorities.iter_mut().find(same) {
                Some(own) => own.latency.merge(&theirs.latency),
                None => self.priorities.push(theirs.clone()),
            }
        }
        if let Some(theirs) = &other.cache {
            let own = self.cache.get_or_insert_default();
            own.hits += theirs.hits;
            own.misses += theirs.misses;
        }
        if let Some(theirs) = &other.arrivals {
            self.arrivals.get_or_insert_default().merge(theirs);
        }
        if let Some(theirs) = &other.layers {
            self.layers.get_or_insert_default().merge(theirs);
        }
    }

    /// True if no I/O was issued, moved data or completed.
    pub fn is_empty(&self) -> bool {
        self.issued == 0 && self.total_ios == 0 && self.io_bytes == 0
    }
}

impl JobReport {
    /// Merges another clone of the same group into this entry (`group_reporting`).
    pub fn merge(&mut self, other: &JobReport) {
        self.clones += other.clones;
        // Like fio, a merged entry has the options of its last member.
        self.options.clone_from(&other.options);
        self.devices.extend(other.devices.iter().cloned());
        if self.error.is_none() {
            self.error.clone_from(&other.error);
        }
        self.elapsed_seconds = self.elapsed_seconds.max(other.elapsed_seconds);
        self.eta_seconds = self.eta_seconds.max(other.eta_seconds);
        for (own, theirs) in self.directions.values_mut().zip(other.directions.values()) {
            own.merge(theirs);
        }
        self.sync.merge(&other.sync);
        self.runtime_total_ms += other.runtime_total_ms;
        self.cpu.user_us += other.cpu.user_us;
        self.cpu.system_us += other.cpu.system_us;
        self.cpu.context_switches += other.cpu.context_switches;
        self.cpu.major_faults += other.cpu.major_faults;
        self.cpu.minor_faults += other.cpu.minor_faults;
        add_all(&mut self.depth_map, &other.depth_map);
        add_all(&mut self.submit_map, &other.submit_map);
        add_all(&mut self.complete_map, &other.complete_map);
        add_all(&mut self.distribution, &other.distribution);
        self.never_ran &= other.never_ran;
        self.engine.merge(&other.engine);
        if let Some(theirs) = &other.tolerated_errors {
            let own = self.tolerated_errors.get_or_insert_default();
            own.total += theirs.total;
            if own.first == 0 {
                own.first = theirs.first;
            }
        }
        if let Some(theirs) = &other.moment {
            self.moment.get_or_insert_default().merge(theirs);
        }
        if let Some(theirs) = &other.ran {
            self.ran.get_or_insert(*theirs).merge(theirs);
        }
        if let Some(theirs) = &other.block_errors {
            self.block_errors.get_or_insert_default().merge(theirs);
        }
        if let Some(theirs) = other.zone_resets {
            *self.zone_resets.get_or_insert_default() += theirs;
        }
    }

    /// Returns all directions combined, for `unified_rw_reporting`. The directions ran concurrently, so the run
    /// time is the longest of theirs.
    pub fn mixed(&self) -> DirectionReport {
        let mut mixed = DirectionReport::default();
        for direction in self.directions.values().filter(|direction| !direction.is_empty()) {
            mixed.merge(direction);
        }
        mixed
    }

    /// True if the job neither issued I/Os nor moved data; such a job is omitted from reports.
    pub fn is_empty(&self) -> bool {
        self.directions.values().all(DirectionReport::is_empty) && self.sync.count == 0
    }
}

impl DiskReport {
    /// Returns the average over the members of a stacked device, without a name; `None` for a plain device.
    pub fn mean_of_members(&self) -> Option<DiskReport> {
        let count = self.members.len() as u64;
        if count == 0 {
            return None;
        }
        let mut mean = DiskReport::default();
        for member in &self.members {
            add_all(&mut mean.ios, &member.ios);
            add_all(&mut mean.sectors, &member.sectors);
            add_all(&mut mean.merges, &member.merges);
            add_all(&mut mean.ticks_ms, &member.ticks_ms);
            mean.in_queue_ms += member.in_queue_ms;
            mean.util_percent += member.util_percent;
        }
        mean.ios = mean.ios.map(|sum| sum / count);
        mean.sectors = mean.sectors.map(|sum| sum / count);
        mean.merges = mean.merges.map(|sum| sum / count);
        mean.ticks_ms = mean.ticks_ms.map(|sum| sum / count);
        mean.in_queue_ms /= count;
        mean.util_percent /= count as f64;
        Some(mean)
    }
}

impl GroupReport {
    /// Computes the group's figures from the unmerged reports of its clones.
    pub fn from_clones<'a>(group_id: u32, clones: impl Iterator<Item = &'a JobReport>) -> GroupReport {
        let mut group = GroupReport {
            group_id,
            kb_base: 1024,
            unit_base: 8,
            significant_figures: 4,
            ..Default::default()
        };
        for job in clones {
            group.kb_base = job.view.kb_base;
            group.unit_base = job.view.unit_base;
            group.significant_figures = job.view.significant_figures;
            group.unified = job.view.unified;
            for (total, direction) in group.directions.values_mut().zip(job.directions.values()) {
                total.add(direction);
            }
            group.mixed.add(&job.mixed());
        }
        for total in group.directions.values_mut().chain([&mut group.mixed]) {
            total.total_bw_bytes = scale_per_second(total.io_bytes, total.max_runtime_ms);
        }
        group
    }
}

impl GroupDirection {
    fn add(&mut self, direction: &DirectionReport) {
        if direction.is_idle() {
            return;
        }
        let first = self.max_runtime_ms == 0;
        let rate = direction.bytes_per_second();
        let runtime = direction.runtime_ms.max(1);
        self.min_bw_bytes = if first { rate } else { self.min_bw_bytes.min(rate) };
        self.min_runtime_ms = if first { runtime } else { self.min_runtime_ms.min(runtime) };
        self.max_bw_bytes = self.max_bw_bytes.max(rate);
        self.max_runtime_ms = self.max_runtime_ms.max(runtime);
        self.io_bytes += direction.io_bytes;
    }
}

fn add_all(own: &mut [u64], theirs: &[u64]) {
    for (a, b) in own.iter_mut().zip(theirs) {
        *a += b;
    }
}

pub(crate) fn scale_per_second(amount: u64, milliseconds: u64) -> u64 {
    if milliseconds == 0 && amount == 0 {
        return 0;
    }
    (u128::from(amount) * 1000 / u128::from(milliseconds.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    fn clone_with(bytes: u64, runtime_ms: u64) -> JobReport {
        let mut job = JobReport { clones: 1, ..Default::default() };
        job.directions[Direction::Read] =
            DirectionReport { io_bytes: bytes, issued: 1, total_ios: 1, runtime_ms, ..Default::default() };
        job
    }

    #[test]
    fn group_spans_its_clones() {
        let clones = [clone_with(1000, 100), clone_with(1000, 50)];
        let group = GroupReport::from_clones(0, clones.iter());
        let read = &group.directions[Direction::Read];
        assert_eq!((read.min_bw_bytes, read.max_bw_bytes, read.total_bw_bytes), (10_000, 20_000, 20_000));
        assert_eq!((read.min_runtime_ms, read.max_runtime_ms, read.io_bytes), (50, 100, 2000));
    }

    #[test]
    fn a_report_survives_serialisation() {
        let mut report =
            RunReport { version: "fio-3.42".into(), jobs: vec![clone_with(4096, 1)], ..Default::default() };
        report.jobs[0].directions[Direction::Read].clat.record(1234);
        let text = serde_json::to_string(&report).expect("serialises");
        assert_eq!(serde_json::from_str::<RunReport>(&text).expect("parses"), report);
    }
}
