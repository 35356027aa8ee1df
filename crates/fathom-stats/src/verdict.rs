//! The verdict on a result, which contains reasons not to rely on its figures. These types are the data in
//! reports; the checks are defined elsewhere.

use serde::{Deserialize, Serialize};

/// Severity of a finding, in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The reader should know of the finding, but the figures are valid.
    #[default]
    Note,
    /// The figures may be misleading.
    Doubtful,
    /// The figures are misleading; do not use them.
    Wrong,
}

impl Severity {
    /// All severities, the most severe first.
    pub const ALL: [Severity; 3] = [Severity::Wrong, Severity::Doubtful, Severity::Note];

    /// Returns `wrong`, `doubtful` or `note`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Doubtful => "doubtful",
            Severity::Wrong => "wrong",
        }
    }
}

/// A finding of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The check's published code.
    pub code: String,
    /// Severity.
    pub severity: Severity,
    /// The job; `None` for findings about all jobs.
    pub job: Option<String>,
    /// `read`, `write` or `trim`; `None` for findings about all directions.
    pub direction: Option<String>,
    /// The hosts with this finding, in a multi-host run.
    pub hosts: Vec<String>,
    /// Number of clones, directions and hosts affected; the sentence describes the worst one.
    pub entries: u32,
    /// The finding as a sentence with its figures, to follow a colon.
    pub text: String,
    /// Recommended action; may be empty.
    pub advice: String,
    /// The figures by name. The suffix of the name gives the unit: bytes, ms or percent.
    pub evidence: Vec<(String, f64)>,
    /// Weight of the finding, which is comparable only between findings with the same code.
    pub weight: f64,
}

/// All findings, the most severe first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictReport {
    /// The findings in order of severity.
    pub findings: Vec<Finding>,
    /// Codes of checks that were impossible, because the result lacks the necessary data.
    pub not_checked: Vec<String>,
}

impl VerdictReport {
    /// Returns the highest severity.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// True if no finding is `wrong`; some figures may be doubtful.
    pub fn is_sound(&self) -> bool {
        self.worst() < Some(Severity::Wrong)
    }

    /// True if no finding is `wrong` or `doubtful`.
    pub fn has_no_doubts(&self) -> bool {
        self.worst() < Some(Severity::Doubtful)
    }

    /// Returns the number of findings with this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// Returns `wrong`, `doubtful` or `no doubts`.
    pub fn word(&self) -> &'static str {
        match self.worst() {
            Some(Severity::Wrong) => "wrong",
            Some(Severity::Doubtful) => "doubtful",
            _ => "no doubts",
        }
    }

    /// Adds a finding. Findings of one check with the same severity and job are merged, with the sentence of
    /// the worst.
    pub fn add(&mut self, new: Finding) {
        let is_same =
            |own: &&mut Finding| (&own.code, own.severity, &own.job) == (&new.code, new.severity, &new.job);
        let Some(own) = self.findings.iter_mut().find(is_same) else {
            let place = self.findings.partition_point(|own| own.severity >= new.severity);
            return self.findings.insert(place, new);
        };
        let (entries, mut hosts) = (own.entries + new.entries, std::mem::take(&mut own.hosts));
        hosts.extend(new.hosts.iter().filter(|host| !hosts.contains(host)).cloned().collect::<Vec<_>>());
        let worst = if new.weight > own.weight { new } else { own.clone() };
        *own = Finding { entries, hosts, ..worst };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: &str, severity: Severity, job: &str, weight: f64, host: &str) -> Finding {
        Finding {
            code: code.into(),
            severity,
            job: (!job.is_empty()).then(|| job.to_owned()),
            hosts: vec![host.into()],
            entries: 1,
            text: format!("{weight}"),
            weight,
            ..Finding::default()
        }
    }

    #[test]
    fn the_heaviest_come_first_and_the_worst_speaks_for_its_like() {
        let mut verdict = VerdictReport::default();
        assert!(verdict.is_sound() && verdict.has_no_doubts());
        verdict.add(finding("depth", Severity::Note, "a", 1.0, "x"));
        assert!(verdict.has_no_doubts());
        verdict.add(finding("depth", Severity::Doubtful, "a", 2.0, "x"));
        verdict.add(finding("depth", Severity::Doubtful, "a", 3.0, "y"));
        verdict.add(finding("depth", Severity::Doubtful, "b", 2.0, "x"));
        assert_eq!((verdict.is_sound(), verdict.word()), (true, "doubtful"));
        verdict.add(finding("failed", Severity::Wrong, "a", 1.0, "x"));
        assert_eq!((verdict.is_sound(), verdict.word()), (false, "wrong"));
        let shown: Vec<(&str, &str, u32, usize)> = verdict
            .findings
            .iter()
            .map(|own| (own.code.as_str(), own.text.as_str(), own.entries, own.hosts.len()))
            .collect();
        assert_eq!(
            shown,
            [("failed", "1", 1, 1), ("depth", "3", 2, 2), ("depth", "2", 1, 1), ("depth", "1", 1, 1)]
        );
    }

    #[test]
    fn severities_are_written_as_their_words() {
        for severity in Severity::ALL {
            assert_eq!(serde_json::to_string(&severity).ok(), Some(format!("\"{}\"", severity.word())));
        }
    }
}
