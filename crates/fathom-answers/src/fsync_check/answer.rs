//! Decides from the run whether syncs were fast enough.

use super::Wishes;
use crate::checks::{self, Severity};
use crate::{columns, figures, judgement};
use fathom_command::Failure;
use fathom_results::RunResult;
use fathom_spec::Requirement;
use fathom_stats::LatencyStats;
use fathom_stats::inference::percentile::{FEWEST_SLOWER, fewest_for, is_carried};
use fathom_stats::report::RunReport;
use fathom_stats::verdict::Finding;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Percentiles that are shown if the run had enough syncs for them.
const SHOWN: [f64; 4] = [50.0, 90.0, 99.0, 99.9];
/// Maximum number of bytes that may be written for an answer.
const MOST_BYTES: u64 = 1 << 40;

/// Sync latencies, and whether they are fast enough.
pub(super) struct SyncAnswer {
    directory: PathBuf,
    /// A phrase that says where the directory is; empty if unknown.
    device: String,
    syncs: LatencyStats,
    runtime_ms: u64,
    block_size: u64,
    threshold_ns: u64,
    percentile: f64,
    /// The latency at the percentile that is compared with the threshold, ns.
    decisive_ns: u64,
    answer: Answer,
    /// Sentences that explain why the figures are doubtful.
    reasons: Vec<String>,
}

/// The answer: whether syncs are fast enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Fast,
    Slow,
    /// The figures do not describe syncs to a disk.
    Wrong,
    /// Too few syncs were slower than the percentile; this total number of syncs would suffice.
    TooFew {
        needed: u64,
    },
}

/// The answer, provided that the figures can be trusted.
fn answer(syncs: &LatencyStats, percentile: f64, threshold_ns: u64) -> Answer {
    let is_slow = |percentile: f64| syncs.percentile(percentile).is_some_and(|ns| ns > threshold_ns);
    let needed = fewest_for(percentile).filter(|&needed| syncs.count < needed);
    // A higher percentile is at least as high as the highest one for which there are enough syncs.
    let carried = 100.0 * (1.0 - FEWEST_SLOWER as f64 / syncs.count.max(1) as f64);
    match needed {
        Some(_) if carried > 0.0 && is_slow(carried) => Answer::Slow,
        Some(needed) => Answer::TooFew { needed },
        None if is_slow(percentile) => Answer::Slow,
        None => Answer::Fast,
    }
}

/// Advice on how to measure more syncs.
fn run_longer(wishes: &Wishes) -> String {
    match super::size_for(wishes.percentile, wishes.block_size).filter(|&bytes| bytes < MOST_BYTES) {
        Some(bytes) => format!("run for longer, with --size={}m", bytes >> 20),
        None => "choose a lower --percentile".to_owned(),
    }
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
        let verdict = checks::judge(result);
        let against = verdict.findings.iter().filter(|finding| finding.severity > Severity::Note);
        // The percentiles of writes into the page cache do not matter, so their findings are left out.
        let of_syncs =
            against.filter(|finding| finding.code != "few-samples" && finding.code != "fits-in-memory");
        // Advice is given in terms of this command's options.
        let in_own_words = |finding: &Finding| match finding.code.as_str() {
            "short" => Finding { advice: "use a larger --size".to_owned(), ..finding.clone() },
            _ => finding.clone(),
        };
        let mut reasons: Vec<String> =
            of_syncs.map(|finding| checks::tell_finding(&in_own_words(finding))).collect();
        // On a file system in memory, fdatasync does nothing, so its latency does not answer the question.
        let is_wrong =
            !verdict.is_sound() || verdict.findings.iter().any(|finding| finding.code == "in-memory");
        let decisive_ns = job.sync.percentile(wishes.percentile).unwrap_or(job.sync.max_ns);
        let answer = match () {
            () if is_wrong => Answer::Wrong,
            () => answer(&job.sync, wishes.percentile, wishes.threshold_ns),
        };
        if let Answer::TooFew { needed } = answer {
            reasons.push(format!(
                "p{} rests on 10 slower syncs, so it needs {needed} in all: {}",
                wishes.percentile,
                run_longer(wishes)
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
            decisive_ns,
            answer,
            reasons,
        })
    }

    /// Exit code of the program.
    pub(super) fn exit(&self) -> u8 {
        match self.answer {
            Answer::Wrong | Answer::TooFew { .. } => 1,
            Answer::Fast => 0,
            Answer::Slow => 2,
        }
    }

    /// Why the answer does not meet the requirement; `None` if it does, or if the answer is already no.
    pub(super) fn unmet(&self, required: Option<Requirement>) -> Option<String> {
        let is_doubtful = required == Some(Requirement::NoDoubts) && !self.reasons.is_empty();
        (is_doubtful && self.exit() == 0)
            .then(|| judgement::unmet(Requirement::NoDoubts, &self.reasons.join("; ")))
    }

    fn per_second(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { self.syncs.count as f64 * 1000.0 / self.runtime_ms as f64 }
    }

    /// The text: first the answer, then the figures, then the doubts.
    pub(super) fn text(&self, limit: Option<usize>) -> String {
        let ns = |ns: u64| figures::duration(ns as f64);
        let (found, threshold) = (ns(self.decisive_ns), ns(self.threshold_ns));
        let percentile = self.percentile;
        let answer = match self.answer {
            Answer::Wrong => "No answer: the figures say nothing about syncs of a disk.".to_owned(),
            Answer::TooFew { needed } => format!(
                "No answer: too few syncs ({}; p{percentile} needs {needed}); run for longer.",
                self.syncs.count
            ),
            Answer::Fast => {
                format!("Fast enough: p{percentile} of fdatasync is {found}, the threshold {threshold}.")
            }
            Answer::Slow => {
                format!("Too slow: p{percentile} of fdatasync is {found}, the threshold {threshold}.")
            }
        };
        let percentiles: Vec<String> =
            self.percentiles().map(|(percent, value)| format!("p{percent} {}", ns(value))).collect();
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

    /// The usual percentiles, as far as there are enough syncs for them.
    fn percentiles(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let carried = SHOWN.into_iter().filter(|&percent| is_carried(percent, self.syncs.count));
        carried.filter_map(|percent| Some((percent, self.syncs.percentile(percent)?)))
    }

    pub(super) fn json(&self) -> Result<String, Failure> {
        let percentiles: serde_json::Map<String, serde_json::Value> =
            self.percentiles().map(|(percent, value)| (format!("p{percent}"), value.into())).collect();
        let document = json!({
            "directory": self.directory.to_string_lossy(),
            "device": self.device,
            "fast_enough": match self.answer {
                Answer::Fast => Some(true),
                Answer::Slow => Some(false),
                Answer::Wrong | Answer::TooFew { .. } => None,
            },
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

    fn syncs(count: u64, ns: u64) -> LatencyStats {
        let mut syncs = LatencyStats::default();
        (0..count).for_each(|_| syncs.record(ns));
        syncs
    }

    fn told(ns: u64, answer: Answer) -> SyncAnswer {
        SyncAnswer {
            directory: "/data".into(),
            device: "sda".to_owned(),
            syncs: syncs(1000, ns),
            runtime_ms: 1000,
            block_size: 2300,
            threshold_ns: 10_000_000,
            percentile: 99.0,
            decisive_ns: ns,
            answer,
            reasons: vec!["doubtful: x".to_owned()],
        }
    }

    #[test]
    fn the_first_line_and_the_exit_status_are_the_answer() {
        let fast = told(10_000_000, Answer::Fast);
        assert_eq!(fast.exit(), 0);
        assert!(fast.text(None).starts_with("Fast enough: p99 of fdatasync is 10"), "{}", fast.text(None));
        assert!(fast.text(None).contains("/data on sda: 1000 records of 2300 bytes"), "{}", fast.text(None));
        assert!(fast.unmet(Some(Requirement::NoDoubts)).is_some_and(|line| line.contains("doubtful: x")));
        assert_eq!((fast.unmet(None), fast.unmet(Some(Requirement::Sound))), (None, None));
        let slow = told(10_000_001, Answer::Slow);
        assert_eq!((slow.exit(), slow.unmet(Some(Requirement::NoDoubts))), (2, None));
        assert!(slow.text(None).starts_with("Too slow: p99"), "{}", slow.text(None));
        let few = told(1, Answer::TooFew { needed: 100_000 });
        assert_eq!(few.exit(), 1);
        let first = "No answer: too few syncs (1000; p99 needs 100000); run for longer.\n";
        assert!(few.text(None).starts_with(first), "{}", few.text(None));
        let wrong = told(1, Answer::Wrong);
        assert_eq!(wrong.exit(), 1);
        assert!(wrong.text(None).starts_with("No answer"), "{}", wrong.text(None));
        assert!(wrong.json().is_ok_and(|text| text.contains("\"fast_enough\": null")));
    }

    #[test]
    fn a_percentile_needs_ten_slower_syncs_unless_a_lower_one_is_slow_already() {
        let ms = 1_000_000;
        assert_eq!(answer(&syncs(1000, ms), 99.0, ms), Answer::Fast, "the threshold itself is not too slow");
        assert_eq!(answer(&syncs(999, ms), 99.0, ms), Answer::TooFew { needed: 1000 });
        assert_eq!(answer(&syncs(44, ms), 99.99, 2 * ms), Answer::TooFew { needed: 100_000 });
        assert_eq!(answer(&syncs(44, 2 * ms), 99.99, ms), Answer::Slow, "a median of 2 ms is too slow");
        assert_eq!(answer(&syncs(9, 2 * ms), 99.0, ms), Answer::TooFew { needed: 1000 });
        assert_eq!(answer(&syncs(44, ms), 100.0, 2 * ms), Answer::Fast, "the slowest of those made");
    }

    #[test]
    fn percentiles_that_few_syncs_make_are_not_shown() {
        let few = SyncAnswer { syncs: syncs(44, 5), ..told(5, Answer::TooFew { needed: 1000 }) };
        assert!(few.text(None).contains("p50 5.00 ns, slowest 5.00 ns"), "{}", few.text(None));
    }
}
