//! The verdict on many runs of one command: each doubt is listed once, with the number of affected runs and the
//! worst one.

use super::Severity;
use fathom_stats::verdict::{Finding, VerdictReport};
use std::borrow::Borrow;

/// One line per check and severity, wrong before doubtful. Each run comes with its name. Findings with one of
/// the codes in `told` are left out, because the command reports them itself.
pub(crate) fn of_runs<V: Borrow<VerdictReport>>(runs: &[(String, V)], told: &[&str]) -> Vec<String> {
    let mut known: Vec<(Severity, &str)> = Vec::new();
    let findings = || {
        runs.iter().flat_map(|(name, verdict)| verdict.borrow().findings.iter().map(move |own| (name, own)))
    };
    for (_, finding) in findings() {
        let kind = (finding.severity, finding.code.as_str());
        if finding.severity > Severity::Note && !told.contains(&kind.1) && !known.contains(&kind) {
            known.push(kind);
        }
    }
    known.sort_by_key(|own| std::cmp::Reverse(own.0));
    let line = |(severity, code): (Severity, &str)| {
        let is_own = |finding: &Finding| finding.severity == severity && finding.code == code;
        let count = runs.iter().filter(|(_, verdict)| verdict.borrow().findings.iter().any(is_own)).count();
        let all = findings().filter(|(_, finding)| is_own(finding));
        let (name, worst) = all.max_by(|one, other| one.1.weight.total_cmp(&other.1.weight))?;
        let place = match (name.as_str(), worst.job.as_deref()) {
            ("", job) => job.unwrap_or_default(),
            (name, _) => name,
        };
        let place = match (count, place) {
            (_, "") => String::new(),
            (1, place) => format!(", in {place}"),
            (_, place) => format!(", worst in {place}"),
        };
        let advice = if worst.advice.is_empty() { String::new() } else { format!("; {}", worst.advice) };
        let (word, text) = (severity.word(), &worst.text);
        Some(format!("{word}: {code}: {count} of {} runs{place}: {text}{advice}", runs.len()))
    };
    known.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(findings: &[(&str, Severity, f64)]) -> VerdictReport {
        let mut verdict = VerdictReport::default();
        for (code, severity, weight) in findings {
            verdict.add(Finding {
                code: (*code).to_owned(),
                severity: *severity,
                job: Some("a".to_owned()),
                entries: 1,
                text: format!("it was {weight}"),
                advice: "do more".to_owned(),
                weight: *weight,
                ..Finding::default()
            });
        }
        verdict
    }

    #[test]
    fn each_doubt_is_told_once_and_the_worst_comes_first() {
        let runs = [
            (
                "bs=4k".to_owned(),
                verdict(&[("short", Severity::Doubtful, 1.0), ("heat", Severity::Note, 1.0)]),
            ),
            (
                "bs=8k".to_owned(),
                verdict(&[("short", Severity::Doubtful, 3.0), ("clock", Severity::Wrong, 1.0)]),
            ),
            ("bs=8k".to_owned(), verdict(&[("late", Severity::Doubtful, 1.0)])),
        ];
        let words = [
            "wrong: clock: 1 of 3 runs, in bs=8k: it was 1; do more",
            "doubtful: short: 2 of 3 runs, worst in bs=8k: it was 3; do more",
        ];
        assert_eq!(of_runs(&runs, &["late"]), words);
        assert_eq!(of_runs(&[(String::new(), verdict(&[]))], &[]), Vec::<String>::new());
    }
}
