//! Formats a verdict.

use fathom_stats::counted;
use fathom_stats::verdict::{Finding, Severity, VerdictReport};

/// Maximum number of names that are listed; more names are counted instead.
const MOST_NAMED: usize = 3;

/// A short form of the verdict: `no doubts`, `doubtful (2 doubts)`, `wrong (1 finding, 2 doubts)`.
pub(crate) fn summary(verdict: &VerdictReport) -> String {
    let (wrong, doubtful) = (verdict.count(Severity::Wrong), verdict.count(Severity::Doubtful));
    let doubts = match doubtful {
        0 => String::new(),
        1 => "1 doubt".to_owned(),
        count => format!("{count} doubts"),
    };
    match (wrong, doubtful) {
        (0, 0) => "no doubts".to_owned(),
        (0, _) => format!("doubtful, {doubts}"),
        (_, 0) => "wrong, do not use these figures".to_owned(),
        _ => format!("wrong, do not use these figures; {doubts} besides"),
    }
}

/// A finding with its code: `depth: a: the queue depth was ...; try ...`.
pub(crate) fn finding(finding: &Finding) -> String {
    sentence(finding, &place(finding))
}

/// Formats all findings for a terminal: first the verdict, then one line per finding.
pub(crate) fn paragraphs(verdict: &VerdictReport) -> Vec<String> {
    let mut lines = vec![format!("Verdict: {}", summary(verdict))];
    lines.extend(
        self::lines(verdict).into_iter().map(|(severity, line)| format!("  {}: {line}", severity.word())),
    );
    if !verdict.not_checked.is_empty() {
        lines.push(format!(
            "  not checked, because the result lacks the data: {}",
            verdict.not_checked.join(", ")
        ));
    }
    lines
}

/// Formats one line per check and severity. A finding that concerns several jobs is reported for the worst of
/// them.
pub(crate) fn lines(verdict: &VerdictReport) -> Vec<(Severity, String)> {
    let mut told: Vec<(&str, Severity)> = Vec::new();
    let mut lines = Vec::new();
    for first in &verdict.findings {
        if told.contains(&(first.code.as_str(), first.severity)) {
            continue;
        }
        told.push((&first.code, first.severity));
        let alike = || {
            let findings = verdict.findings.iter();
            findings.filter(|own| (own.code.as_str(), own.severity) == (first.code.as_str(), first.severity))
        };
        let Some(worst) = alike().max_by(|a, b| a.weight.total_cmp(&b.weight)) else { continue };
        let line = match alike().count() {
            1 => finding(worst),
            count => sentence(worst, &format!("{count} jobs, worst in {}", place(worst))),
        };
        lines.push((first.severity, line));
    }
    lines
}

fn sentence(finding: &Finding, place: &str) -> String {
    let colon = if place.is_empty() { "" } else { ": " };
    let advice = if finding.advice.is_empty() { String::new() } else { format!("; {}", finding.advice) };
    format!("{}: {place}{colon}{}{advice}", finding.code, finding.text)
}

/// The job and hosts that a finding concerns.
fn place(finding: &Finding) -> String {
    let job = finding.job.clone().unwrap_or_default();
    let hosts = match finding.hosts.len() {
        0 => return job,
        count if count > MOST_NAMED => {
            format!("{} and {}", finding.hosts[0], counted(count - 1, "more host"))
        }
        _ => finding.hosts.join(", "),
    };
    if job.is_empty() { hosts } else { format!("{job} on {hosts}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str, severity: Severity, job: &str, weight: f64) -> Finding {
        Finding {
            code: code.into(),
            severity,
            job: Some(job.into()),
            entries: 1,
            text: format!("it was {weight}"),
            advice: "try less".into(),
            weight,
            ..Finding::default()
        }
    }

    #[test]
    fn what_many_jobs_share_is_told_of_the_worst() {
        let mut verdict = VerdictReport::default();
        assert_eq!(paragraphs(&verdict), ["Verdict: no doubts"]);
        verdict.add(found("depth", Severity::Doubtful, "a", 2.0));
        assert_eq!(summary(&verdict), "doubtful, 1 doubt");
        verdict.add(found("depth", Severity::Doubtful, "b", 3.0));
        verdict.add(found("failed", Severity::Wrong, "b", 1.0));
        verdict.not_checked.push("clock".to_owned());
        assert_eq!(
            paragraphs(&verdict),
            [
                "Verdict: wrong, do not use these figures; 2 doubts besides",
                "  wrong: failed: b: it was 1; try less",
                "  doubtful: depth: 2 jobs, worst in b: it was 3; try less",
                "  not checked, because the result lacks the data: clock",
            ]
        );
    }
}
