//! The hosts of a multi-host run: each with its figures and its own result.

use crate::model::RunResult;
use crate::{lenient, stacks, written};
use fathom_stats::hosts::ClockReport;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// The hosts, and how evenly they ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostsResult {
    /// In the order of the command line.
    pub hosts: Vec<HostResult>,
    /// Offsets of the hosts' starts from the agreed instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew: Option<SkewResult>,
    /// The time window in which all were running, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapResult>,
    /// Ownership of the files of jobs that run on several hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FilesResult>,
}

/// The files of a job that runs on several hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesResult {
    /// The job.
    pub job: String,
    /// Name of its first file on its first host.
    pub name: String,
    /// `own`, `shared` or `divided`.
    pub ownership: String,
    /// The same as a sentence.
    pub text: String,
}

/// One host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostResult {
    /// Name of the host as the user wrote it.
    pub name: String,
    /// Its own host name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host_name: String,
    /// Groups of hosts that it belongs to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Transport by which the controller reached it.
    pub transport: String,
    /// `whole`, `lost` or `never began`.
    pub state: String,
    /// Reason for which it was lost or never began.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The time at which the figures of a lost host end, ms after the agreed instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_ms: Option<u64>,
    /// Comparison of its clock with the controller's.
    #[serde(deserialize_with = "lenient::part")]
    pub clock: Option<ClockReport>,
    /// The time at which its jobs started, ns after the agreed instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_skew_ns: Option<i64>,
    /// The time at which its first job ended, ms after the agreed instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_done_ms: Option<u64>,
    /// The time at which its last job ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_done_ms: Option<u64>,
    /// Number of errors: tolerated ones, plus one per failed job.
    #[serde(deserialize_with = "lenient::whole")]
    pub errors: u64,
    /// Reads of all its jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<HostFigures>,
    /// Writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<HostFigures>,
    /// Trims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<HostFigures>,
    /// Figures in which it was slower than the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub straggling: Vec<StragglingResult>,
    /// The result as if the host had run alone.
    #[serde(flatten, serialize_with = "unless_blank")]
    pub result: RunResult,
}

/// One direction of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFigures {
    /// I/Os.
    #[serde(deserialize_with = "lenient::whole", skip_serializing_if = "written::is_zero")]
    pub total_ios: u64,
    /// Bytes per second.
    #[serde(rename = "bw_bytes", deserialize_with = "lenient::number")]
    pub bytes_per_second: f64,
    /// I/Os per second.
    #[serde(deserialize_with = "lenient::number")]
    pub iops: f64,
    /// Half of the completions took at most this time, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 99 of 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// 999 of 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9_ns: Option<u64>,
    /// The slowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
}

/// A figure in which a host was slower than the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StragglingResult {
    /// `read`, `write` or `trim`.
    pub direction: String,
    /// `rate` or `p99`.
    pub figure: String,
    /// The host's value: bytes or I/Os per second, or ns.
    #[serde(deserialize_with = "lenient::number")]
    pub value: f64,
    /// The median of the hosts with the same jobs.
    #[serde(deserialize_with = "lenient::number")]
    pub median: f64,
    /// The same as a sentence.
    pub text: String,
}

/// Offsets of the hosts' starts from the agreed instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkewResult {
    /// Median offset, ns.
    #[serde(deserialize_with = "lenient::whole")]
    pub median_ns: u64,
    /// The largest.
    #[serde(deserialize_with = "lenient::whole")]
    pub largest_ns: u64,
    /// Bound on the error of the clock comparison, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_bound_ns: Option<u64>,
}

/// The time window in which all hosts were running, ms after the agreed instant, and their figures in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OverlapResult {
    /// Start.
    #[serde(deserialize_with = "lenient::whole")]
    pub begin_ms: u64,
    /// End.
    #[serde(deserialize_with = "lenient::whole")]
    pub end_ms: u64,
    /// Reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<HostFigures>,
    /// Writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<HostFigures>,
    /// Trims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<HostFigures>,
}

impl HostResult {
    /// True if its result is complete.
    pub fn is_whole(&self) -> bool {
        self.state == "whole"
    }

    /// Returns a remark for the reader: the reason why the host was lost or never began, or the figures in
    /// which it is slower than the others; empty if there is none.
    pub fn remark(&self) -> String {
        if self.is_whole() {
            let texts: Vec<&str> =
                self.straggling.iter().map(|straggling| straggling.text.as_str()).collect();
            return texts.join(", ");
        }
        match self.snapshot_ms {
            Some(ms) => format!("{} (figures of its first {:.1} s)", self.reason, ms as f64 / 1e3),
            None => self.reason.clone(),
        }
    }

    /// Read, write and trim; `None` for directions without I/O.
    pub fn directions(&self) -> [Option<&HostFigures>; 3] {
        [&self.read, &self.write, &self.trim].map(Option::as_ref)
    }
}

impl OverlapResult {
    /// Read, write and trim; those without any I/O are `None`.
    pub fn directions(&self) -> [Option<&HostFigures>; 3] {
        [&self.read, &self.write, &self.trim].map(Option::as_ref)
    }
}

/// The results of a host, which may be missing.
fn unless_blank<S: Serializer>(result: &RunResult, output: S) -> Result<S::Ok, S::Error> {
    match *result == RunResult::default() {
        true => output.serialize_map(Some(0))?.end(),
        false => result.serialize(output),
    }
}

/// Completes the hosts' own results with members that the document contains only once.
pub(crate) fn complete(result: &mut RunResult) {
    let Some(hosts) = &mut result.hosts else { return };
    for host in &mut hosts.hosts {
        let own = &mut host.result;
        own.source.clone_from(&host.name);
        own.version.clone_from(&result.version);
        (own.timestamp, own.timestamp_ms) = (result.timestamp, result.timestamp_ms);
        own.time.clone_from(&result.time);
        own.global_options.clone_from(&result.global_options);
        // A host's own result has no hosts, because the host runs its jobs itself.
        own.hosts = None;
        stacks::find(own);
    }
}
