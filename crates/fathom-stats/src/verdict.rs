//! The verdict on a result: what speaks against using its figures.
//!
//! This is the plain data that reports carry. Which checks there are, and what they compare, is up to whoever makes it.

use serde::{Deserialize, Serialize};

/// How much speaks against the figures. The order is that of their weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// To be known, but nothing against them.
    #[default]
    Note,
    /// They may not be what they seem.
    Doubtful,
    /// They are not what they seem; do not use them.
    Wrong,
}

impl Severity {
    /// All of them, the heaviest first.
    pub const ALL: [Severity; 3] = [Severity::Wrong, Severity::Doubtful, Severity::Note];

    /// `wrong`, `doubtful` or `note`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Doubtful => "doubtful",
            Severity::Wrong => "wrong",
        }
    }
}

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The check, by its published code.
    pub code: String,
    /// How much speaks against the figures.
    pub severity: Severity,
    /// The job; `None` for what concerns all of them.
    pub job: Option<String>,
    /// `read`, `write` or `trim`; `None` for what concerns the whole job.
    pub direction: Option<String>,
    /// The hosts that it was found on, of a run over several.
    pub hosts: Vec<String>,
    /// Clones, directions and hosts that are so; the sentence is that of the worst one.
    pub entries: u32,
    /// In words, with the figures, to stand after a colon.
    pub text: String,
    /// What to do about it; may be empty.
    pub advice: String,
    /// The figures by name. Bytes, ms and percent are told by the end of the name.
    pub evidence: Vec<(String, f64)>,
    /// How bad it is; only findings of one code can be compared.
    pub weight: f64,
}

/// All that was found, the heaviest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictReport {
    /// In the order of their severity.
    pub findings: Vec<Finding>,
    /// Codes of checks that could not be made, because the result lacks what they look at.
    pub not_checked: Vec<String>,
}

impl VerdictReport {
    /// The severity of the heaviest finding.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Nothing is wrong. It may still be doubtful.
    pub fn is_sound(&self) -> bool {
        self.worst() < Some(Severity::Wrong)
    }

    /// Nothing is wrong or doubtful.
    pub fn has_no_doubts(&self) -> bool {
        self.worst() < Some(Severity::Doubtful)
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// `wrong`, `doubtful` or `no doubts`.
    pub fn word(&self) -> &'static str {
        match self.worst() {
            Some(Severity::Wrong) => "wrong",
            Some(Severity::Doubtful) => "doubtful",
            _ => "no doubts",
        }
    }

    /// Adds a finding. Those of one check that weigh the same and concern the same job become one with the sentence of the
    /// worst.
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
