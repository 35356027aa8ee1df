//! Findings about the results of both sides. If either side is wrong, no difference is called real. A doubt
//! about only one side may be the cause of a difference.

use super::input::Side;
use super::matching::Matched;
use crate::checks::{self, Severity};
use std::collections::BTreeSet;

/// Checks whose findings other warnings already cover.
const TOLD: [&str; 6] =
    ["reads-missing", "processor-wait", "stolen", "failed", "lost-hosts", "fits-in-memory"];

/// Findings about the runs of a side.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// Findings that a result is wrong, with the name of the result.
    wrong: Vec<String>,
    /// Names of the jobs whose figures are wrong.
    wrong_jobs: BTreeSet<String>,
    /// True if the figures of all jobs are wrong.
    is_all_wrong: bool,
    /// Codes of doubts, with an example of each.
    doubts: Vec<(String, String)>,
}

impl Trust {
    /// Judges all runs.
    pub(super) fn of(side: &Side) -> Trust {
        let mut trust = Trust::default();
        for run in &side.runs {
            for finding in checks::judge(&run.result).findings {
                let line = format!("{}: {}", run.result.source, checks::tell_finding(&finding));
                match (finding.severity, finding.job) {
                    (Severity::Wrong, job) => {
                        trust.wrong.push(line);
                        trust.is_all_wrong |= job.is_none();
                        trust.wrong_jobs.extend(job);
                    }
                    (Severity::Doubtful, _) if trust.doubts.iter().all(|(code, _)| *code != finding.code) => {
                        trust.doubts.push((finding.code, line));
                    }
                    _ => {}
                }
            }
        }
        trust
    }

    fn is_wrong(&self, job: &str) -> bool {
        self.is_all_wrong || self.wrong_jobs.contains(job)
    }
}

/// Marks the differences of jobs whose figures are wrong on one side.
pub(super) fn refuse(matched: &mut Matched, sides: &[Trust; 2]) {
    for pair in &mut matched.pairs {
        let is_wrong = sides.iter().any(|side| side.is_wrong(&pair.name));
        pair.comparisons.iter_mut().for_each(|comparison| comparison.is_refused |= is_wrong);
    }
}

/// Warnings about wrong figures, and about doubts that concern only one side.
pub(super) fn warnings(sides: &[Trust; 2]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let wrong = sides.iter().flat_map(|side| &side.wrong);
    found.extend(wrong.map(|line| format!("wrong, so no difference is called real: {line}")));
    for (side, other, letter) in [(0, 1, 'A'), (1, 0, 'B')] {
        let is_own = |(code, _): &&(String, String)| {
            !TOLD.contains(&code.as_str()) && sides[other].doubts.iter().all(|(known, _)| known != code)
        };
        let own = sides[side].doubts.iter().filter(is_own);
        found.extend(own.map(|(_, line)| format!("doubtful in {letter} only: {line}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::input::ComparedRun;
    use super::*;

    fn side(error: i32, runtime: u32) -> Side {
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","error":{error},"read":{{"total_ios":9000000,"io_bytes":9,"iops":9,"runtime":{runtime}}}}},
            {{"jobname":"b","read":{{"total_ios":9000000,"io_bytes":9,"iops":9,"runtime":{runtime}}}}}]}}"#
        );
        let result = fathom_results::parse(&text, "r.json").expect("reads");
        Side { runs: vec![ComparedRun { cell: String::new(), result }] }
    }

    #[test]
    fn a_side_that_is_wrong_refuses_the_jobs_that_are() {
        let (a, b) = (side(0, 5000), side(5, 5000));
        let mut matched = super::super::matching::compare(&a, &b, &crate::measures::figure::COMPARED);
        let trust = [Trust::of(&a), Trust::of(&b)];
        refuse(&mut matched, &trust);
        let refused: Vec<(&str, bool)> = matched
            .pairs
            .iter()
            .map(|pair| (pair.name.as_str(), pair.comparisons.iter().all(|own| own.is_refused)))
            .collect();
        assert_eq!(refused, [("a", true), ("b", false)]);
        let told = warnings(&trust);
        assert!(told.len() == 1 && told[0].contains("r.json: failed: a: it failed with error 5"), "{told:?}");
    }

    #[test]
    fn a_doubt_of_one_side_is_told_and_one_of_both_is_not() {
        let sides = |a: u32, b: u32| warnings(&[Trust::of(&side(0, a)), Trust::of(&side(0, b))]);
        assert!(
            matches!(&sides(100, 5000)[..], [one] if one.starts_with("doubtful in A only: r.json: short: "))
        );
        assert_eq!(sides(100, 100), Vec::<String>::new());
    }
}
