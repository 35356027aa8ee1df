//! The result of a run. Workers and the supervisor fill it; output formats read nothing else. Everything here is owned,
//! serializable data: a report can be stored, merged with others and printed later. Arrays over directions are indexed read,
//! write, trim.

use crate::arrivals::ArrivalsReport;
use crate::block_errors::BlockErrorReport;
pub use crate::buckets::{DEPTH_BUCKETS, DISTRIBUTION_BOUNDS_NS, DISTRIBUTION_BUCKETS};
use crate::engine_figures::EngineFigures;
use crate::facts::RunFacts;
use crate::host::HostReport;
use crate::hosts::HostsReport;
use crate::interval::IntervalReport;
use crate::latency::LatencyStats;
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

/// How a job replayed its log, over all clones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayReport {
    /// Name of the job.
    pub job: String,
    /// The logs.
    pub logs: Vec<String>,
    /// Number of entries in the logs, after `replay_skip`.
    pub entries: u64,
    /// Issue time minus due time, in ns, of the entries that had a due time.
    pub lateness: LatencyStats,
}

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Version that compatible readers expect, for example `fio-3.42`.
    pub version: String,
    /// Time of the report by the wall clock, milliseconds since the epoch.
    pub timestamp_ms: u64,
    /// Options given before any job, as written, under their canonical names, in order.
    pub global_options: Vec<(String, String)>,
    /// One entry per job, or per group where `group_reporting` merged it; in definition order.
    pub jobs: Vec<JobReport>,
    /// One entry per reporting group.
    pub groups: Vec<GroupReport>,
    /// Block devices that held the files of the run; empty if not requested, or none were found.
    pub disks: Vec<DiskReport>,
    /// Traffic of network and FUSE file systems.
    #[serde(default)]
    pub mounts: Vec<MountReport>,
    /// The devices and mounts of each stage, if the run had several stages; in order.
    #[serde(default)]
    pub stages: Vec<StageReport>,
    /// Choices that fathom made for each job; in definition order.
    pub choices: Vec<JobChoices>,
    /// Sentences that a reader needs to interpret the figures (stuck I/Os, lost workers).
    pub notes: Vec<String>,
    /// Verification results, per job that verifies.
    #[serde(default)]
    pub verification: Vec<VerificationReport>,
    /// How logs were replayed, per job that has one.
    #[serde(default)]
    pub replays: Vec<ReplayReport>,
    /// How idle the processors were, with `--idle-prof`.
    #[serde(default)]
    pub idleness: Option<IdlenessReport>,
    /// The interval since the run's previous report, if reports are made at intervals.
    #[serde(default)]
    pub interval: Option<IntervalReport>,
    /// Slow reads by slices of time, for the profile that needs them.
    #[serde(default)]
    pub slices: Option<SliceReport>,
    /// Rates and latencies over time, if the caller requested them.
    #[serde(default)]
    pub timeline: Option<Timeline>,
    /// The machine that ran the jobs.
    #[serde(default)]
    pub host: Option<HostReport>,
    /// Circumstances of the run, if its timeline is kept.
    #[serde(default)]
    pub facts: Option<RunFacts>,
    /// The verdict on its figures; `None` until it has been judged.
    #[serde(default)]
    pub verdict: Option<VerdictReport>,
    /// Start and end of its jobs, by the clock of the machine that ran them.
    #[serde(default)]
    pub span: Option<RunSpan>,
    /// The hosts of a multi-host run; everything above is their sum.
    #[serde(default)]
    pub hosts: Option<HostsReport>,
}

/// Start and end times of a run's jobs; monotonic ns of the machine that ran them.
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

/// Choices that fathom made for a job, so that a reader knows what was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobChoices {
    /// Name of the job.
    #[serde(rename = "job", alias = "jobname")]
    pub name: String,
    /// Generator of the random offsets: `permutation`, `tausworthe`, ...; `None` for sequential jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_offsets: Option<String>,
    /// Kernel features that the engine detected and used.
    pub engine_features: Vec<String>,
    /// Total ms in which its clones were runnable but had no CPU; `None` if the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_wait_ms: Option<u64>,
    /// Utilisation of the machine's processors while the job ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorShares>,
    /// Control group limits that applied to the job.
    #[serde(skip_serializing_if = "GroupLimits::is_empty")]
    pub limits: GroupLimits,
    /// Dirty bytes of its files in the page cache at its end; `None` if unknown, or if the job wrote nothing
    /// through the page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwritten_bytes: Option<u64>,
}

/// Times summed over all processors of a machine, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorShares {
    /// In programs.
    pub user_ms: u64,
    /// Time in programs, the kernel and interrupts.
    pub busy_ms: u64,
    /// Time stolen by the hypervisor for other machines.
    pub stolen_ms: u64,
    /// Total time, including idle time.
    pub total_ms: u64,
}

/// The result of one clone, or of several merged ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// Name of the job.
    pub name: String,
    /// Reporting group, counted from 0.
    pub group_id: u32,
    /// The run's stage to which it belongs, counted from 0: `stonewall` begins a new one.
    #[serde(default)]
    pub stage: u32,
    /// Number of clones merged into this entry.
    pub clones: u32,
    /// Process id of the (first) clone.
    pub pid: u32,
    /// When the job started, milliseconds of the clock that `job_start_clock_id` names (wall clock by default).
    pub job_start_ms: u64,
    /// The error that ended the job early.
    pub error: Option<JobError>,
    /// Estimated remaining seconds (0 in a final report).
    pub eta_seconds: u64,
    /// Whole seconds since the job started.
    pub elapsed_seconds: u64,
    /// Options of the job as written (canonical names, including `name`); flags have an empty value.
    pub options: Vec<(String, String)>,
    /// `description=`.
    pub description: Option<String>,
    /// Figures per direction.
    pub directions: PerDirection<DirectionReport>,
    /// Latency of syncs; its count is the number of syncs.
    pub sync: LatencyStats,
    /// Sum of the clones' run times in ms.
    pub runtime_total_ms: u64,
    /// Processor time and faults.
    pub cpu: CpuReport,
    /// I/Os issued at queue depth 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64 and more.
    pub depth_map: [u64; DEPTH_BUCKETS],
    /// Submissions with 0, 1-4, 5-8, 9-16, 17-32, 33-64, more I/Os.
    pub submit_map: [u64; DEPTH_BUCKETS],
    /// Reaps that returned these numbers of completions.
    pub complete_map: [u64; DEPTH_BUCKETS],
    /// I/Os by completion latency; see [`DISTRIBUTION_BOUNDS_NS`].
    pub distribution: [u64; DISTRIBUTION_BUCKETS],
    /// Tolerated errors, if `continue_on_error` or `ignore_error` is set.
    pub tolerated_errors: Option<ToleratedErrors>,
    /// Queue depth, target and window for the `latency` line.
    pub latency_goal: LatencyGoal,
    /// True if the job never started its own I/O, so the latency target does not apply.
    pub never_ran: bool,
    /// State of its blocks, with `block_error_percentiles`.
    #[serde(default)]
    pub block_errors: Option<BlockErrorReport>,
    /// Zones that were reset, for zoned jobs.
    #[serde(default)]
    pub zone_resets: Option<u64>,
    /// Result of the search for a steady state, if requested.
    #[serde(default)]
    pub steady_state: Option<SteadyStateReport>,
    /// The engine's own counters and timings, from setup to end.
    #[serde(default)]
    pub engine: EngineFigures,
    /// State of its clones when the report was made; `None` in the final report.
    #[serde(default)]
    pub moment: Option<JobMoment>,
    /// When its clones ran, including setup and ramp; `None` if none did.
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
    /// The stored text, `file:FILE, func=FUNC, error=TEXT`.
    pub text: String,
}

impl JobError {
    /// The failed call and its error, without the source file of fio: `open(data): No such file or directory`.
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

/// Figures of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// Bytes moved.
    pub io_bytes: u64,
    /// I/Os issued.
    pub issued: u64,
    /// Completed I/Os (the number in latency figures and IOPS).
    pub total_ios: u64,
    /// I/Os that moved less than requested.
    pub short_ios: u64,
    /// I/Os that were dropped.
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
    /// Latency by I/O priority: completion latency, or total latency with `lat_percentiles`. Empty if all I/Os
    /// had the same priority.
    #[serde(default)]
    pub priorities: Vec<PriorityReport>,
    /// Accesses served by the engine's cache, for engines that report it.
    #[serde(default)]
    pub cache: Option<CacheReport>,
    /// Scheduled arrivals; `None` unless the loop is open.
    #[serde(default)]
    pub arrivals: Option<ArrivalsReport>,
}

/// Latency of the I/Os of one priority.
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
    /// Accesses served by the cache.
    pub hits: u64,
    /// Accesses that went to the device.
    pub misses: u64,
}

impl CacheReport {
    /// Share of hits in percent; 0 without accesses.
    pub fn hit_percent(&self) -> f64 {
        100.0 * self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }
}

/// The outcome of `--idle-prof`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IdlenessReport {
    /// Mean over all processors, percent.
    pub system_percent: f64,
    /// One figure per CPU in percent; empty if only the mean was requested.
    pub per_cpu_percent: Vec<f64>,
    /// Mean time of one unit of calibration work, µs.
    pub unit_mean_us: f64,
    /// Its standard deviation, µs.
    pub unit_stddev_us: f64,
}

/// Processor use of a job, summed over its clones.
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

/// Errors that did not end the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToleratedErrors {
    /// Number of errors.
    pub total: u64,
    /// errno of the first error; 0 if there was none.
    pub first: i32,
}

/// `latency_target` and related options, with the queue depth in use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyGoal {
    /// Queue depth: the job's `iodepth`, or the depth that `latency_target` found.
    pub depth: u32,
    /// Target in ns; 0 if not set.
    pub target_ns: u64,
    /// Share of I/Os that must meet it, percent.
    pub percentile: f64,
    /// Window in ns; 0 if not set.
    pub window_ns: u64,
}

/// Display options of a job's figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewOptions {
    /// 1024 or 1000: the base of the first of the two bandwidth figures.
    pub kb_base: u32,
    /// 8 shows bytes, 1 shows bits.
    pub unit_base: u32,
    /// Significant digits of scaled numbers.
    pub significant_figures: u32,
    /// Percentiles to list, ascending; empty lists none.
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
    /// Name of its operations, if they move no data: `creates`, `stats`, `deletes`.
    #[serde(default)]
    pub operations: Option<String>,
    /// Whether the directions are shown separately, together, or both.
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
    /// The directions, then all combined.
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

/// The `Run status group` lines: figures over the clones of a group, before any merging.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Group number, counted from 0.
    pub group_id: u32,
    /// 1024 or 1000.
    pub kb_base: u32,
    /// 8 bytes, 1 bits.
    pub unit_base: u32,
    /// Significant digits of scaled numbers.
    pub significant_figures: u32,
    /// Figures per direction.
    pub directions: PerDirection<GroupDirection>,
    /// All directions as one.
    #[serde(default)]
    pub mixed: GroupDirection,
    /// Whether the directions are shown separately, together, or both.
    #[serde(default)]
    pub unified: UnifiedReporting,
}

/// One direction of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupDirection {
    /// Bytes moved by all clones.
    pub io_bytes: u64,
    /// Slowest clone, bytes per second.
    pub min_bw_bytes: u64,
    /// Fastest clone, bytes per second.
    pub max_bw_bytes: u64,
    /// Total over the longest run time, bytes per second.
    pub total_bw_bytes: u64,
    /// Shortest run time in ms.
    pub min_runtime_ms: u64,
    /// Longest run time in ms.
    pub max_runtime_ms: u64,
}

/// Kernel counters while the jobs of one stage (`stonewall`) ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// Reporting groups of its jobs; a group is never part of two stages.
    pub groups: Vec<u32>,
    /// Devices that held their files.
    pub disks: Vec<DiskReport>,
    /// Traffic of network and FUSE file systems that held them.
    #[serde(default)]
    pub mounts: Vec<MountReport>,
}

/// Kernel counters of one block device during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskReport {
    /// Kernel name, for example `nvme0n1`.
    pub name: String,
    /// I/Os completed: read, write.
    pub ios: [u64; 2],
    /// 512-byte sectors: read, write.
    pub sectors: [u64; 2],
    /// Merged requests: read, write.
    pub merges: [u64; 2],
    /// Total time of requests in ms: read, write.
    pub ticks_ms: [u64; 2],
    /// Weighted time in queue, ms.
    pub in_queue_ms: u64,
    /// Share of the time that the device was busy, percent.
    pub util_percent: f64,
    /// Members of a stacked device (md, dm).
    pub members: Vec<DiskReport>,
}

impl DirectionReport {
    /// True if no bytes were moved: no I/O was issued, every one failed, or the engine moves no data
    /// (`cpuio`).
    pub fn is_idle(&self) -> bool {
        self.io_bytes == 0
    }

    /// Bytes per second over the direction's run time (at least 1 ms); 0 if I/Os were only simulated.
    pub fn bytes_per_second(&self) -> u64 {
        if self.total_ios == 0 && self.runtime_ms == 0 {
            return 0;
        }
        scale_per_second(self.io_bytes, self.runtime_ms)
    }

    /// Exact I/Os per second; 0 without a run time: every I/O failed then, and their rate says nothing about the device.
    pub fn iops(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { 1000.0 * self.total_ios as f64 / self.runtime_ms as f64 }
    }

    /// Adds another clone's figures. The run time is that of the longest clone.
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
    }

    /// True if nothing was issued, moved or completed.
    pub fn is_empty(&self) -> bool {
        self.issued == 0 && self.total_ios == 0 && self.io_bytes == 0
    }
}

impl JobReport {
    /// Merges another clone of the same group into this entry (`group_reporting`).
    pub fn merge(&mut self, other: &JobReport) {
        self.clones += other.clones;
        // Like fio, keep those of the last member.
        self.options.clone_from(&other.options);
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

    /// All directions combined, for `unified_rw_reporting`. They share the job's time, so the run time is the
    /// longest of theirs.
    pub fn mixed(&self) -> DirectionReport {
        let mut mixed = DirectionReport::default();
        for direction in self.directions.values().filter(|direction| !direction.is_empty()) {
            mixed.merge(direction);
        }
        mixed
    }

    /// True if the job neither issued nor moved anything; such a job is omitted from reports.
    pub fn is_empty(&self) -> bool {
        self.directions.values().all(DirectionReport::is_empty) && self.sync.count == 0
    }
}

impl DiskReport {
    /// The average over the members of a stacked device, without a name; `None` for a plain device.
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
    /// The group's figures from the unmerged reports of its clones.
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
