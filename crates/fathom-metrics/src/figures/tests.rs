use super::*;
use crate::prometheus::text;
use fathom_stats::Direction;
use fathom_stats::hosts::{HostEnd, HostRunReport, HostsReport};
use fathom_stats::live::RunState;
use fathom_stats::moment::JobMoment;
use fathom_stats::report::{DirectionReport, DiskReport, JobReport, RunReport};
use fathom_stats::verdict::{Finding, Severity, VerdictReport};
use std::collections::BTreeSet;

fn job(name: &str, ios: u64) -> JobReport {
    let mut job = JobReport { name: name.into(), clones: 1, ..JobReport::default() };
    let read = DirectionReport {
        io_bytes: ios * 4096,
        issued: ios + 1,
        total_ios: ios,
        ..DirectionReport::default()
    };
    job.directions[Direction::Read] = read;
    (0..ios).for_each(|_| job.directions[Direction::Read].clat.record(90_000));
    job.moment = Some(JobMoment {
        states: vec![RunState::Reading { sequential: false }],
        in_flight: 1,
        asked_depth: 8,
        errors: 2,
        ..JobMoment::default()
    });
    job
}

fn of(report: RunReport) -> Snapshot {
    Snapshot {
        report,
        version: "1.2".into(),
        started_ns: 5_000_000_000,
        taken_ns: 7_500_000_000,
        is_last: false,
    }
}

/// Lines of these metrics without their comments.
fn lines(snapshot: &Snapshot, names: &[&str]) -> Vec<String> {
    let text = text(&families(snapshot));
    let is_wanted = |line: &&str| names.iter().any(|name| line.split(['{', ' ']).next() == Some(name));
    text.lines().filter(is_wanted).map(str::to_owned).collect()
}

#[test]
fn entries_of_one_name_are_one_series() {
    let report = RunReport { jobs: vec![job("a", 3), job("b", 1), job("a", 4)], ..RunReport::default() };
    let names = [
        "fathom_job_ios_total",
        "fathom_job_queue_depth",
        "fathom_job_errors_total",
        "fathom_job_latency_seconds_count",
    ];
    let expected = [
        "fathom_job_ios_total{job_name=\"a\",direction=\"read\"} 7",
        "fathom_job_ios_total{job_name=\"b\",direction=\"read\"} 1",
        "fathom_job_latency_seconds_count{job_name=\"a\",direction=\"read\",latency=\"completion\"} 7",
        "fathom_job_latency_seconds_count{job_name=\"b\",direction=\"read\",latency=\"completion\"} 1",
        "fathom_job_queue_depth{job_name=\"a\"} 2",
        "fathom_job_queue_depth{job_name=\"b\"} 1",
        "fathom_job_errors_total{job_name=\"a\"} 4",
        "fathom_job_errors_total{job_name=\"b\"} 2",
    ];
    assert_eq!(lines(&of(report), &names), expected);
}

#[test]
fn no_series_is_told_twice() {
    let disk = |name: &str, members: Vec<DiskReport>| DiskReport {
        name: name.into(),
        members,
        ..DiskReport::default()
    };
    let finding =
        |code: &str| Finding { code: code.into(), severity: Severity::Doubtful, ..Finding::default() };
    // Two stacked devices share a member, and a check reports the same finding twice.
    let shared = || disk("sda", Vec::new());
    let report = RunReport {
        jobs: vec![job("a", 1), job("a", 1)],
        disks: vec![disk("md0", vec![shared()]), disk("md1", vec![shared()]), shared()],
        verdict: Some(VerdictReport { findings: vec![finding("x"), finding("x")], not_checked: Vec::new() }),
        ..RunReport::default()
    };
    let text = text(&families(&of(report)));
    let series: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let names: BTreeSet<&str> = series.iter().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
    assert_eq!(names.len(), series.len(), "{text}");
    assert!(text.contains("fathom_verdict 1\n"), "{text}");
    assert!(text.contains("fathom_device_io_bytes_total{device=\"md1\",direction=\"write\"} 0"), "{text}");
}

#[test]
fn hosts_are_told_apart() {
    let host = |name: &str, end: HostEnd| HostRunReport {
        name: name.into(),
        end,
        report: Some(Box::new(RunReport { jobs: vec![job("a", 2)], ..RunReport::default() })),
        ..HostRunReport::default()
    };
    let lost = HostEnd::Lost { reason: "gone".into(), snapshot_ms: None };
    let hosts = HostsReport {
        hosts: vec![host("one", HostEnd::Whole), host("two", lost)],
        overlap: None,
        ..HostsReport::default()
    };
    // The report also contains the sum over all hosts, which would count everything twice.
    let report = RunReport { jobs: vec![job("a", 4)], hosts: Some(hosts), ..RunReport::default() };
    let expected = [
        "fathom_host_up{host=\"one\"} 1",
        "fathom_host_up{host=\"two\"} 0",
        "fathom_job_ios_total{host=\"one\",job_name=\"a\",direction=\"read\"} 2",
        "fathom_job_ios_total{host=\"two\",job_name=\"a\",direction=\"read\"} 2",
    ];
    assert_eq!(lines(&of(report), &["fathom_host_up", "fathom_job_ios_total"]), expected);
}

#[test]
fn of_a_run_that_is_over_nothing_is_in_flight() {
    let mut done = job("a", 1);
    done.moment = None;
    let snapshot = Snapshot { is_last: true, ..of(RunReport { jobs: vec![done], ..RunReport::default() }) };
    let names = [
        "fathom_run_finished",
        "fathom_job_queue_depth",
        "fathom_job_errors_total",
        "fathom_job_ios_total",
        "fathom_info",
    ];
    let expected = [
        "fathom_info{version=\"1.2\"} 1",
        "fathom_run_finished 1",
        "fathom_job_ios_total{job_name=\"a\",direction=\"read\"} 1",
        "fathom_job_errors_total{job_name=\"a\"} 0",
    ];
    assert_eq!(lines(&snapshot, &names), expected);
}
