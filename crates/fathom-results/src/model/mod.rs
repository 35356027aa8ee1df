//! The content of a result, as read and written. Times are in ns if the name says so, rates are per second, shares in
//! percent. Members are in the order in which they are written; members that are `None` or empty are omitted.

mod findings;
mod job;
mod latency;
mod layers;
mod machine;
mod quick;
mod timeline;

pub use fathom_stats::facts::{ClockFacts, DeviceFacts, HoleFacts, MemoryFacts, RunFacts, StopFacts};
pub use fathom_stats::host::{DeviceReport, FileSystemReport, HostReport, LoopFileReport};
pub use fathom_stats::layers::LayerRun;
pub use findings::{
    FindingResult, LatenessResult, ReplayResult, SliceResult, SlicesResult, VerdictResult, Verification,
};
pub use job::{
    ArrivalsResult, BlockErrorResult, BlockStates, DirectionResult, EngineResult, JobResult, PriorityResult,
    SteadyStateResult, SteadyStateWindow, SyncResult,
};
pub use latency::LatencyResult;
pub use layers::{LayersResult, MadeOf};
pub use machine::{
    DiskResult, GroupLimits, IoLimit, JobChoices, MountReport, ProcessorLimit, ProcessorShares, StageResult,
};
pub use quick::{QuickDoubt, QuickResult, QuickTest};
pub(crate) use timeline::Interval;
pub use timeline::{TimelineFiguresResult, TimelineJobResult, TimelinePointResult, TimelineResult};

use crate::hosts::HostsResult;
use crate::{lenient, written};
use serde::{Deserialize, Serialize};

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunResult {
    /// Where it was read from, for messages and headings.
    #[serde(skip)]
    pub source: String,
    /// The program's version, such as `fio-3.42`. This and the next four are not repeated for each host of a
    /// run.
    #[serde(rename = "fio version", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// End of the run, seconds since the epoch.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
    /// End of the run in ms since the epoch.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub timestamp_ms: Option<u64>,
    /// End of the run as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub time: String,
    /// Options given before any job.
    #[serde(
        rename = "global options",
        deserialize_with = "lenient::global_options",
        serialize_with = "written::pairs",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub global_options: Vec<(String, String)>,
    /// One entry per clone, or per group of merged clones; of all servers if a client requested the run from
    /// several.
    pub jobs: Vec<JobResult>,
    /// Kernel counters of the block devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disk_util: Vec<DiskResult>,
    /// Idle percentages of the processors, `system` and `cpu-N`, and the calibration result.
    #[serde(
        deserialize_with = "lenient::shares",
        serialize_with = "written::pairs",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub cpu_idleness: Vec<(String, f64)>,
    /// Slow reads by slices of time; this and everything below only in results of fathom.
    #[serde(
        rename = "fathom slices",
        deserialize_with = "lenient::part",
        skip_serializing_if = "Option::is_none"
    )]
    pub slices: Option<SlicesResult>,
    /// What recording the layers cost and lost, with `--layers`.
    #[serde(
        rename = "fathom layers",
        deserialize_with = "lenient::part",
        skip_serializing_if = "Option::is_none"
    )]
    pub layers: Option<LayerRun>,
    /// How the jobs were run; empty in results of fio.
    #[serde(rename = "fathom jobs", skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<JobChoices>,
    /// Verification results, per job that verifies.
    #[serde(rename = "fathom verify", skip_serializing_if = "Vec::is_empty")]
    pub verification: Vec<Verification>,
    /// The replay of each job that has a log.
    #[serde(
        rename = "fathom replay",
        deserialize_with = "lenient::parts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub replays: Vec<ReplayResult>,
    /// The machine and its storage.
    #[serde(rename = "fathom host", skip_serializing_if = "Option::is_none")]
    pub host: Option<HostReport>,
    /// Traffic of network and FUSE file systems.
    #[serde(rename = "fathom mounts", skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountReport>,
    /// The kernel's counters for each stage, if there were several.
    #[serde(rename = "fathom stages", skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageResult>,
    /// Rates and latencies over time.
    #[serde(rename = "fathom timeline", skip_serializing_if = "Option::is_none")]
    pub timeline: Option<TimelineResult>,
    /// Sentences that a reader needs to interpret the figures.
    #[serde(rename = "fathom notes", skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Circumstances of the run, for the checks of the verdict.
    #[serde(rename = "fathom facts", skip_serializing_if = "Option::is_none")]
    pub facts: Option<RunFacts>,
    /// The verdict made after the run.
    #[serde(
        rename = "fathom verdict",
        deserialize_with = "lenient::part",
        skip_serializing_if = "Option::is_none"
    )]
    pub verdict: Option<VerdictResult>,
    /// The hosts of a multi-host run; everything else is their sum.
    #[serde(rename = "fathom hosts", skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostsResult>,
    /// Evaluation by `fathom quick`, if the run was one.
    #[serde(rename = "fathom quick", skip_serializing_if = "Option::is_none")]
    pub quick: Option<QuickResult>,
}

impl RunResult {
    /// True for results of fathom, which contain more than fio's.
    pub fn is_of_fathom(&self) -> bool {
        !self.choices.is_empty() || self.host.is_some() || self.hosts.is_some()
    }

    /// Servers that ran the jobs for a client, in the order of their results; with the port if a host has
    /// several.
    pub fn servers(&self) -> Vec<String> {
        let mut found: Vec<(&str, Option<u64>)> = Vec::new();
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

    /// Options in effect for a job: its own after the global ones that it does not repeat.
    pub fn options(&self, job: &JobResult) -> Vec<(String, String)> {
        let is_repeated = |key: &str| job.options.iter().any(|(own, _)| own == key);
        let global = self.global_options.iter().filter(|(key, _)| !is_repeated(key));
        global.chain(&job.options).cloned().collect()
    }

    /// True if a boolean option is set, `direct` or `direct=1`.
    pub fn is_set(&self, job: &JobResult, name: &str) -> bool {
        self.option(job, name).is_some_and(|value| !matches!(value.trim(), "0" | "false" | "no"))
    }
}

/// Display name of a server if there are several.
pub(crate) fn server_name(all: &[(&str, Option<u64>)], host: &str, port: Option<u64>) -> String {
    match (all.iter().filter(|(other, _)| *other == host).count(), port) {
        (2.., Some(port)) => format!("{host}:{port}"),
        _ => host.to_owned(),
    }
}
