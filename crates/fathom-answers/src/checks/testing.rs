//! Results for the tests of the checks.

use super::{Found, Severity};
use crate::evidence::Evidence;
use fathom_results::RunResult;

/// Builds a result of one job from its options, its figures, and further members of the document, each as JSON
/// object members.
pub(super) fn run(options: &str, job: &str, more: &str) -> RunResult {
    let comma = |members: &str| if members.is_empty() { String::new() } else { format!(",{members}") };
    let text = format!(
        r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job options":{{{options}}}{}}}]{}}}"#,
        comma(job),
        comma(more)
    );
    parsed(&text)
}

/// A parsed result.
pub(super) fn parsed(text: &str) -> RunResult {
    fathom_results::parse(text, "text").unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Findings of a check on the first job.
pub(super) fn of_job(find: fn(&Evidence<'_>) -> Vec<Found>, run: &RunResult) -> Vec<(Severity, String)> {
    told(find(&Evidence::of(run, 0)))
}

/// The severity and the sentence of each finding.
pub(super) fn told(found: Vec<Found>) -> Vec<(Severity, String)> {
    found.into_iter().map(|found| (found.severity, found.text)).collect()
}

/// Asserts that there is exactly one finding, with this severity and these words.
#[track_caller]
pub(super) fn is_told(found: &[(Severity, String)], severity: Severity, words: &str) {
    assert!(
        matches!(found, [(own, text)] if *own == severity && text.contains(words)),
        "not {} with `{words}`, but {found:?}",
        severity.word()
    );
}
