//! The answer of the run.

use super::Wishes;
use crate::checks::{self, Severity};
use crate::{columns, figures};
use fathom_command::Failure;
use fathom_results::RunResult;
use fathom_stats::LatencyStats;
use fathom_stats::report::RunReport;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Percentiles that are always shown.
const SHOWN: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Sync latencies, and whether they are fast enough.
pub(super) struct SyncAnswer {
    directory: PathBuf,
    /// Where the directory is, for a sentence; empty if unknown.
    device: String,
    syncs: LatencyStats,
    runtime_ms: u64,
    block_size: u64,
    threshold_ns: u64,
    percentile: f64,
    /// The percentile that is compared with the threshold, ns.
    decisive_ns: u64,
    is_wrong: bool,
    /// Sentences on why the figures are doubtful.
    reasons: Vec<String>,
}

impl SyncAnswer {
    pub(super) fn of(
        result: &RunResult,
        report: &RunReport,
        directory: &Path,
        wishes: &Wishes,
    ) -> Result<SyncAnswer, Failure> {
        let job = report.jobs.first().filter(|job| job.sync.count > 0);
        let job = job.ok_or_else(|| Failure::new("the run made no syncs, so there is nothing to judge"))?;
        let decisive = job.sync.histogram.percentiles(&[wishes.percentile]);
        let verdict = checks::judge(result);
        let against = verdict.findings.iter().filter(|finding| finding.severity > Severity::Note);
        // Percentiles of the writes into the page cache do not matter here.
        let of_syncs =
            against.filter(|finding| finding.code != "few-samples" && finding.code != "fits-in-memory");
        let mut reasons: Vec<String> = of_syncs.map(checks::tell_finding).collect();
        let slower = job.sync.count as f64 * (1.0 - wishes.percentile / 100.0);
        if slower < 10.0 {
            reasons.push(format!(
                "doubtful: {} syncs are too few for p{}; use a larger --size",
                job.sync.count, wishes.percentile
            ));
        }
        Ok(SyncAnswer {
            directory: directory.to_owned(),
            device: report.disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(", "),
            syncs: job.sync.clone(),
            runtime_ms: job.runtime_total_ms,
            block_size: wishes.block_size,
            threshold_ns: wishes.threshold_ns,
            percentile: wishes.percentile,
            decisive_ns: decisive.first().copied().unwrap_or(job.sync.max_ns),
            // fdatasync does nothing on a file system in memory, so its latency does not answer the question.
            is_wrong: !verdict.is_sound()
                || verdict.findings.iter().any(|finding| finding.code == "in-memory"),
            reasons,
        })
    }

    fn is_fast_enough(&self) -> bool {
        self.decisive_ns <= self.threshold_ns
    }

    /// Exit code of the program.
    pub(super) fn exit(&self) -> u8 {
        match () {
            () if self.is_wrong => 1,
            () if self.is_fast_enough() => 0,
            () => 2,
        }
    }

    fn per_second(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { self.syncs.count as f64 * 1000.0 / self.runtime_ms as f64 }
    }

    /// The answer, the figures, then the doubts.
    pub(super) fn text(&self, limit: Option<usize>) -> String {
        let ns = |ns: u64| figures::duration(ns as f64);
        let (found, threshold) = (ns(self.decisive_ns), ns(self.threshold_ns));
        let percentile = self.percentile;
        let answer = match () {
            () if self.is_wrong => "No answer: the figures say nothing about syncs of a disk.".to_owned(),
            () if self.is_fast_enough() => {
                format!("Fast enough: p{percentile} of fdatasync is {found}, the threshold {threshold}.")
            }
            () => format!("Too slow: p{percentile} of fdatasync is {found}, the threshold {threshold}."),
        };
        let values = self.syncs.histogram.percentiles(&SHOWN);
        let percentiles: Vec<String> =
            SHOWN.iter().zip(values).map(|(percent, value)| format!("p{percent} {}", ns(value))).collect();
        let on = if self.device.is_empty() { String::new() } else { format!(" on {}", self.device) };
        let mut lines = vec![
            answer,
            format!(
                "{}{on}: {} records of {} bytes, each followed by fdatasync: {} per second; {}, slowest {}.",
                self.directory.display(),
                self.syncs.count,
                self.block_size,
                figures::count(self.per_second()),
                percentiles.join(", "),
                ns(self.syncs.max_ns)
            ),
        ];
        lines.extend(self.reasons.iter().cloned());
        let width = limit.unwrap_or(columns::USUAL);
        lines.iter().map(|line| columns::hanging(line, 2, width)).collect()
    }

    pub(super) fn json(&self) -> Result<String, Failure> {
        let values = self.syncs.histogram.percentiles(&SHOWN);
        let percentiles: serde_json::Map<String, serde_json::Value> =
            SHOWN.iter().zip(values).map(|(percent, value)| (format!("p{percent}"), value.into())).collect();
        let document = json!({
            "directory": self.directory.to_string_lossy(),
            "device": self.device,
            "fast_enough": (!self.is_wrong).then(|| self.is_fast_enough()),
            "percentile": self.percentile,
            "value_ns": self.decisive_ns,
            "threshold_ns": self.threshold_ns,
            "record_bytes": self.block_size,
            "syncs": self.syncs.count,
            "syncs_per_second": self.per_second(),
            "min_ns": self.syncs.min_ns,
            "mean_ns": self.syncs.mean_ns(),
            "max_ns": self.syncs.max_ns,
            "percentiles_ns": percentiles,
            "reasons": self.reasons,
        });
        Ok(format!("{document:#}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(ns: u64, is_wrong: bool) -> SyncAnswer {
        let mut syncs = LatencyStats::default();
        (0..100).for_each(|_| syncs.record(ns));
        SyncAnswer {
            directory: "/data".into(),
            device: "sda".to_owned(),
            syncs,
            runtime_ms: 1000,
            block_size: 2300,
            threshold_ns: 10_000_000,
            percentile: 99.0,
            decisive_ns: ns,
            is_wrong,
            reasons: vec!["doubtful: x".to_owned()],
        }
    }

    #[test]
    fn the_first_line_and_the_exit_status_are_the_answer() {
        let fast = answer(10_000_000, false);
        assert_eq!(fast.exit(), 0, "what is exactly the threshold is not above it");
        assert!(fast.text(None).starts_with("Fast enough: p99 of fdatasync is 10"), "{}", fast.text(None));
        assert!(fast.text(None).contains("/data on sda: 100 records of 2300 bytes"), "{}", fast.text(None));
        let slow = answer(10_000_001, false);
        assert_eq!(slow.exit(), 2);
        assert!(slow.text(None).starts_with("Too slow: p99"), "{}", slow.text(None));
        let wrong = answer(1, true);
        assert_eq!(wrong.exit(), 1);
        assert!(wrong.text(None).starts_with("No answer"), "{}", wrong.text(None));
        assert!(wrong.json().is_ok_and(|text| text.contains("\"fast_enough\": null")));
    }
}
