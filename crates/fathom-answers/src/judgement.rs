//! The verdict on the result of a run, for the code that prints it.

use crate::checks;
use fathom_results::ReadError;
use fathom_spec::Requirement;
use fathom_stats::report::RunReport;

/// The values of `--require`.
pub(crate) const REQUIREMENTS: [(&str, Requirement); 2] =
    [("sound", Requirement::Sound), ("no-doubts", Requirement::NoDoubts)];

/// The message about an unmet requirement; it follows the name of the program.
pub(crate) fn unmet(required: Requirement, summary: &str) -> String {
    format!("--require={} is not met: {summary}", required.word())
}

/// The verdict on a report, in words.
pub struct Judged {
    /// The verdict, followed by one line per finding.
    pub paragraphs: Vec<String>,
    /// The verdict and its reason on one line.
    pub summary: String,
    /// True if no figure is wrong.
    pub is_sound: bool,
    /// True if no figure is wrong or doubtful.
    pub has_no_doubts: bool,
}

/// Judges a report and stores the verdict in it and in the reports of its hosts. Fails if the report is
/// inconsistent.
pub fn judge(report: &mut RunReport) -> Result<Judged, ReadError> {
    checks::judge_report(report)?;
    let verdict = report.verdict.clone().unwrap_or_default();
    let reasons: Vec<String> = verdict
        .findings
        .iter()
        .filter(|finding| Some(finding.severity) == verdict.worst())
        .map(checks::tell_finding)
        .collect();
    let reasons = if verdict.has_no_doubts() { String::new() } else { format!(": {}", reasons.join("; ")) };
    Ok(Judged {
        paragraphs: checks::paragraphs(&verdict),
        summary: format!("{}{reasons}", checks::summary(&verdict)),
        is_sound: verdict.is_sound(),
        has_no_doubts: verdict.has_no_doubts(),
    })
}
