//! Checks that every metric in the dashboard and the documentation exists, and that every metric is documented.

use fathom_metrics::Snapshot;
use fathom_metrics::figures::{MetricKind, Values, families};
use fathom_metrics::prometheus::name;
use fathom_stats::Direction;
use fathom_stats::arrivals::ArrivalsReport;
use fathom_stats::hosts::{HostRunReport, HostsReport};
use fathom_stats::moment::JobMoment;
use fathom_stats::report::{DiskReport, JobReport, RunReport, VerificationReport};
use fathom_stats::verdict::{Finding, VerdictReport};
use std::collections::BTreeSet;

/// The names of all metrics in Prometheus' style: those of a run that has every feature.
fn all_names() -> BTreeSet<String> {
    let mut job = JobReport { zone_resets: Some(1), ..JobReport::default() };
    job.moment = Some(JobMoment { waiting: Some(1), ..JobMoment::default() });
    job.sync.record(5);
    let read = &mut job.directions[Direction::Read];
    read.total_ios = 1;
    read.clat.record(5);
    read.arrivals = Some(ArrivalsReport::default());
    let report = RunReport {
        jobs: vec![job],
        disks: vec![DiskReport::default()],
        verification: vec![VerificationReport::default()],
        ..RunReport::default()
    };
    let host = HostRunReport { report: Some(Box::new(report)), ..HostRunReport::default() };
    let verdict = VerdictReport { findings: vec![Finding::default()], not_checked: Vec::new() };
    let report = RunReport {
        hosts: Some(HostsReport { hosts: vec![host], overlap: None, ..HostsReport::default() }),
        verdict: Some(verdict),
        ..RunReport::default()
    };
    let families = families(&Snapshot { report, ..Snapshot::default() });
    let names = families
        .iter()
        .map(|family| name(&family.metric, matches!(family.values, Values::Numbers(MetricKind::Counter, _))));
    names.collect()
}

/// Words of a text that start like names of metrics.
fn names_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("fathom_"));
    names.map(|name| name.trim_end_matches("_bucket").to_owned()).collect()
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let asked = names_in(include_str!("../../../packaging/grafana-dashboard.json"));
    assert!(asked.len() > 10, "{asked:?}");
    let all = all_names();
    let unknown: Vec<&String> = asked.difference(&all).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn every_metric_is_documented_and_nothing_else() {
    let page = include_str!("../../../docs/metrics.md");
    // InfluxDB has measurements with fields, whose names follow from those of the metrics.
    let (page, _) = page.split_once("\n## InfluxDB").expect("its section is the last one");
    let documented = names_in(page);
    assert_eq!(documented, all_names());
}
