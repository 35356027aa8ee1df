//! Explains a result of several jobs on one screen: the answer, whether to trust it, and the bottleneck of each
//! job.

use super::story;
use super::verdict;
use crate::checks;
use crate::evidence::Evidence;
use crate::figures;
use crate::quick::GridReport;
use fathom_results::RunResult;
use std::fmt::Write as _;

/// Maximum number of jobs that are explained in full, so that the text fits on a screen.
const MOST_IN_FULL: usize = 2;
/// Maximum number of jobs that get a line.
const MOST_JOBS: usize = 14;
/// Maximum number of findings that get a line.
const MOST_FINDINGS: usize = 4;

/// The short text; `None` for a result that is explained in full.
pub(super) fn tell(run: &RunResult, columns: usize) -> Option<String> {
    // Each host has its own verdict; only the full text combines them.
    if run.jobs.len() <= MOST_IN_FULL || run.hosts.is_some() {
        return None;
    }
    let mut text = story::opening(run);
    let quick = GridReport::of(run);
    if let Some(report) = &quick {
        let _ = write!(text, "\n{}\n\n{}", report.headline(), report.grid(Some(columns)));
    }
    text.push_str(&trust(run));
    let _ = writeln!(text, "\nWhat limited each {}:", if quick.is_some() { "test" } else { "job" });
    let all = Evidence::all(run);
    for evidence in all.iter().take(MOST_JOBS) {
        let rates = if quick.is_some() { String::new() } else { rates(evidence) };
        let _ = writeln!(text, "  * {}: {rates}{}", evidence.job.name, limit(evidence));
    }
    if let Some(others) = all.len().checked_sub(MOST_JOBS).filter(|others| *others > 0) {
        let _ = writeln!(text, "  and {others} more");
    }
    let _ =
        writeln!(text, "\nfathom explain --all {} gives the reasons and explains each figure.", run.source);
    Some(text)
}

/// The verdict on all figures, and the most serious findings.
fn trust(run: &RunResult) -> String {
    let verdict = checks::judge(run);
    let mut text = format!("\nCan these figures be trusted? Verdict: {}.\n", checks::summary(&verdict));
    let mut lines = checks::lines(&verdict);
    lines.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
    for (severity, line) in lines.iter().take(MOST_FINDINGS) {
        let _ = writeln!(text, "  * {}: {line}.", severity.word());
    }
    if let Some(others) = lines.len().checked_sub(MOST_FINDINGS).filter(|others| *others > 0) {
        let _ = writeln!(text, "  and {others} more");
    }
    text
}

/// `read 605 MB/s, 148k IOPS, p99 247 µs; `
fn rates(evidence: &Evidence<'_>) -> String {
    let told = evidence.job.active().into_iter().map(|(direction, own)| {
        let p99 = own.latency().percentile(99.0);
        let p99 = p99.map_or(String::new(), |ns| format!(", p99 {}", figures::duration(ns)));
        let (rate, iops) = (figures::bandwidth(own.bytes_per_second), figures::count(own.iops));
        format!("{direction} {rate}, {iops} IOPS{p99}; ")
    });
    told.collect()
}

/// A sentence such as `The queue depth was the bottleneck.`
fn limit(evidence: &Evidence<'_>) -> String {
    let headline = verdict::of(evidence).bottleneck.headline();
    let short = headline.split(':').next().unwrap_or(headline);
    format!("{}.", short.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(jobs: usize) -> RunResult {
        let job = |number| {
            format!(
                r#"{{"jobname":"j{number}","job options":{{"rw":"read","ioengine":"null"}},"job_runtime":9000,
                "read":{{"total_ios":9,"io_bytes":9,"iops":1000,"bw_bytes":4096000,"runtime":9000,
                "clat_ns":{{"mean":5,"percentile":{{"99.000000":2234567}}}}}}}}"#
            )
        };
        let jobs: Vec<String> = (0..jobs).map(job).collect();
        let text = format!(r#"{{"fio version":"fio-3.42","jobs":[{}]}}"#, jobs.join(","));
        fathom_results::parse(&text, "r.json").expect("reads")
    }

    #[test]
    fn many_jobs_fit_a_screen_and_few_are_told_in_full() {
        assert_eq!(tell(&run(2), 80), None);
        for jobs in [3, 14, 500] {
            let text = tell(&run(jobs), 80).expect("short");
            assert!(text.lines().count() <= 30, "{text}");
            assert!(text.contains("  * j0: read 4.10 MB/s, 1.00k IOPS, p99 2.23 ms; "), "{text}");
            assert_eq!(text.contains("and 486 more"), jobs == 500, "{text}");
        }
    }
}
