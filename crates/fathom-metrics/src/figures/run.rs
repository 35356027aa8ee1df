//! Figures of the run as a whole: version, progress, hosts, and at the end the verdict.

use super::{Family, Labels, Numbers, Unit};
use crate::Snapshot;
use fathom_stats::hosts::HostEnd;
use fathom_stats::verdict::{Severity, VerdictReport};

/// The program's version.
pub(super) fn about(version: &str) -> Family {
    let mut info = Numbers::gauge("fathom.info", Unit::Things, "Always 1; the version of fathom as a label");
    info.add(vec![("version", version.to_owned())], 1.0);
    info.into()
}

pub(super) fn families(snapshot: &Snapshot) -> Vec<Family> {
    let mut started = Numbers::gauge(
        "fathom.run.start_time",
        Unit::Seconds,
        "When the run was started, seconds since the epoch",
    );
    started.add(Labels::new(), snapshot.started_ns as f64 / 1e9);
    let mut taken = Numbers::gauge(
        "fathom.run.snapshot_time",
        Unit::Seconds,
        "When the figures were taken, seconds since the epoch",
    );
    taken.add(Labels::new(), snapshot.taken_ns as f64 / 1e9);
    let mut finished = Numbers::gauge(
        "fathom.run.finished",
        Unit::Things,
        "1 once the run is over and its figures are final",
    );
    finished.add(Labels::new(), f64::from(u8::from(snapshot.is_last)));
    let mut to_go =
        Numbers::gauge("fathom.run.time_left", Unit::Seconds, "Estimated time until the run ends");
    let seconds = snapshot.report.jobs.iter().map(|job| job.eta_seconds).max().unwrap_or(0);
    to_go.add(Labels::new(), if snapshot.is_last { 0.0 } else { seconds as f64 });
    let mut notes = Numbers::gauge("fathom.run.notes", Unit::Things, "Notes in the report for its reader");
    notes.add(Labels::new(), snapshot.report.notes.len() as f64);
    let mut families = vec![
        about(&snapshot.version),
        started.into(),
        taken.into(),
        finished.into(),
        to_go.into(),
        notes.into(),
    ];
    families.push(hosts(snapshot));
    families.extend(snapshot.report.verdict.iter().flat_map(verdict));
    families
}

fn hosts(snapshot: &Snapshot) -> Family {
    let mut up = Numbers::gauge(
        "fathom.host.up",
        Unit::Things,
        "1 unless the host never began or was lost during the run",
    );
    for host in snapshot.report.hosts.iter().flat_map(|hosts| &hosts.hosts) {
        let is_up = host.end == HostEnd::Whole;
        up.add(vec![("host", host.name.clone())], f64::from(u8::from(is_up)));
    }
    up.into()
}

fn verdict(verdict: &VerdictReport) -> [Family; 3] {
    let mut word = Numbers::gauge(
        "fathom.verdict",
        Unit::Things,
        "Verdict on the figures: 0 no doubts, 1 doubtful, 2 wrong",
    );
    word.add(
        Labels::new(),
        match verdict.worst() {
            Some(Severity::Wrong) => 2.0,
            Some(Severity::Doubtful) => 1.0,
            _ => 0.0,
        },
    );
    let mut findings = Numbers::gauge("fathom.verdict.findings", Unit::Things, "Findings by severity");
    for severity in Severity::ALL {
        findings.add(vec![("severity", severity.word().to_owned())], verdict.count(severity) as f64);
    }
    let mut finding =
        Numbers::gauge("fathom.verdict.finding", Unit::Things, "Always 1; a check with a finding");
    for found in &verdict.findings {
        let labels = vec![
            ("check", found.code.clone()),
            ("severity", found.severity.word().to_owned()),
            ("job_name", found.job.clone().unwrap_or_default()),
            ("direction", found.direction.clone().unwrap_or_default()),
        ];
        // Several findings of one check about one job are one series, so only the first is added.
        if !finding.series.iter().any(|(own, _)| *own == labels) {
            finding.add(labels, 1.0);
        }
    }
    [word.into(), findings.into(), finding.into()]
}
