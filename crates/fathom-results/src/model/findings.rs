//! Checks during a run: verification, replays, slices of slow reads, and the verdict.

use crate::{lenient, written};
use fathom_stats::verdict::{Finding, Severity, VerdictReport};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Verification results of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verification {
    /// Name of the job.
    // The key differs from "jobname", because readers of fio's document count its jobs by the lines with that
    // key.
    #[serde(rename = "job", alias = "jobname")]
    pub jobname: String,
    /// Reads that were checked.
    pub checked_reads: u64,
    /// Their bytes.
    pub checked_bytes: u64,
    /// Blocks that were wrong.
    pub wrong_blocks: u64,
    /// Wrong blocks by kind of mismatch.
    pub miscompares: BTreeMap<String, u64>,
    /// Files that list them.
    pub listed_in: Vec<String>,
    /// Blocks that should have been checked and were not; `None` if a clone ended before it could count them,
    /// and in old results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked_blocks: Option<u64>,
    /// Upper bound of the checked bytes that were in memory when they were read; `None` in old results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_memory_bytes: Option<u64>,
    /// Checked bytes for which the system does not report whether they came from memory.
    pub unknown_source_bytes: u64,
    /// True if the job prevented the cache from being dropped.
    pub keeps_cache: bool,
    /// True if other workers may have written the same blocks.
    pub shares_blocks: bool,
    /// True if the job did not know which run wrote the data.
    pub takes_any_run: bool,
}

/// The replay of a job's log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayResult {
    /// Name of the job.
    // The key differs from "jobname", because readers of fio's document count its jobs by the lines with that
    // key.
    #[serde(rename = "job", alias = "jobname")]
    pub jobname: String,
    /// The logs.
    pub logs: Vec<String>,
    /// Their entries.
    pub entries: u64,
    /// Issue time minus due time of entries.
    #[serde(rename = "lateness_ns")]
    pub lateness: LatenessResult,
}

/// A latency whose count is written first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatenessResult {
    /// Number of values.
    #[serde(rename = "N")]
    pub count: u64,
    /// Smallest.
    #[serde(rename = "min")]
    pub min_ns: u64,
    /// Largest.
    #[serde(rename = "max")]
    pub max_ns: u64,
    /// Mean.
    #[serde(rename = "mean")]
    pub mean_ns: f64,
    /// Standard deviation.
    #[serde(rename = "stddev")]
    pub stddev_ns: f64,
    /// Percent and ns, ascending.
    #[serde(
        rename = "percentile",
        deserialize_with = "lenient::percentiles",
        serialize_with = "written::percentiles",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub percentiles: Vec<(f64, u64)>,
    /// The histogram (JSON+ only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<BTreeMap<u64, u64>>,
}

/// Slow reads by slices of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlicesResult {
    /// True if no slice had too many slow reads.
    pub passed: bool,
    /// True if the run ended early.
    pub interrupted: bool,
    /// In order.
    pub slices: Vec<SliceResult>,
}

/// One slice of time, with shares in percent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SliceResult {
    /// Reads in it.
    pub reads: u64,
    /// Share of reads that took longer than 1 ms.
    pub percent_above_1ms: f64,
    /// Share of reads that took longer than 8 ms.
    pub percent_above_8ms: f64,
    /// Share of reads that took longer than 64 ms.
    pub percent_above_64ms: f64,
}

/// The verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictResult {
    /// `wrong`, `doubtful` or `no doubts`.
    pub verdict: String,
    /// Findings with severity `wrong`.
    pub wrong: u64,
    /// Findings with severity `doubtful`.
    pub doubtful: u64,
    /// The most severe first.
    pub findings: Vec<FindingResult>,
    /// Codes of checks that could not be performed.
    pub not_checked: Vec<String>,
}

/// A finding of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FindingResult {
    /// Code of the check.
    pub code: String,
    /// How serious the doubts about the figures are.
    pub severity: Severity,
    /// The job; `None` for findings about all jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// `read`, `write` or `trim`; `None` for findings about the whole job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Hosts with this finding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Number of clones, directions and hosts affected.
    pub entries: u32,
    /// The finding as a sentence.
    pub text: String,
    /// Recommended action.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// The figures behind the finding, by name.
    #[serde(deserialize_with = "lenient::pairs", serialize_with = "written::pairs")]
    pub evidence: Vec<(String, f64)>,
}

impl From<&VerdictReport> for VerdictResult {
    fn from(verdict: &VerdictReport) -> VerdictResult {
        VerdictResult {
            verdict: verdict.word().to_owned(),
            wrong: verdict.count(Severity::Wrong) as u64,
            doubtful: verdict.count(Severity::Doubtful) as u64,
            findings: verdict.findings.iter().map(FindingResult::from).collect(),
            not_checked: verdict.not_checked.clone(),
        }
    }
}

impl From<&VerdictResult> for VerdictReport {
    fn from(verdict: &VerdictResult) -> VerdictReport {
        VerdictReport {
            findings: verdict.findings.iter().map(Finding::from).collect(),
            not_checked: verdict.not_checked.clone(),
        }
    }
}

impl From<&FindingResult> for Finding {
    fn from(finding: &FindingResult) -> Finding {
        let FindingResult { code, severity, job, direction, hosts, entries, text, advice, evidence } =
            finding.clone();
        Finding { code, severity, job, direction, hosts, entries, text, advice, evidence, weight: 0.0 }
    }
}

impl From<&Finding> for FindingResult {
    fn from(finding: &Finding) -> FindingResult {
        let Finding { code, severity, job, direction, hosts, entries, text, advice, evidence, weight: _ } =
            finding;
        FindingResult {
            code: code.clone(),
            severity: *severity,
            job: job.clone(),
            direction: direction.clone(),
            hosts: hosts.clone(),
            entries: *entries,
            text: text.clone(),
            advice: advice.clone(),
            evidence: evidence.iter().map(|(name, value)| (name.clone(), written::figure(*value))).collect(),
        }
    }
}
