//! Compares whole reports with files under `tests/golden`. `UPDATE_GOLDEN=1` rewrites the files; review the
//! difference like any other change.

mod support;

use fathom_report::Format;
use fathom_report::ctime::ctime;
use fathom_stats::Direction;
use fathom_stats::block_errors::BlockErrorReport;
use fathom_stats::histogram::RANGE_END_NS;
use fathom_stats::hosts::{self, HostsReport};
use fathom_stats::interval::{IntervalJob, IntervalReport};
use fathom_stats::report::*;
use std::path::Path;
use support::*;

/// Compares the report with `NAME.txt`, `NAME.json` `NAME.terse` and `NAME.csv`, and its figures as commands read them with the text.
fn check(name: &str, report: &RunReport) {
    check_format(name, report, "normal", "txt");
    check_format(name, report, "json", "json");
    check_format(name, report, "terse", "terse");
    check_format(name, report, "csv", "csv");
    check_readable(report);
}

fn check_format(name: &str, report: &RunReport, format: &str, extension: &str) {
    check_bytes(name, report, fathom_report::by_name(format).expect("a known format"), extension);
}

/// Compares the report in each version of the terse format with `NAME.v2.terse` and so on.
fn check_terse_versions(name: &str, report: &RunReport) {
    for version in 2..=5 {
        let format = fathom_report::by_name("terse")
            .and_then(|terse| terse.in_version(version))
            .expect("a known version");
        check_bytes(name, report, format, &format!("v{version}.terse"));
    }
}

fn check_bytes(name: &str, report: &RunReport, format: &dyn Format, extension: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.{extension}"));
    let mut bytes = Vec::new();
    format.write(report, &mut bytes).expect("memory takes everything");
    // Reports show local time, but the files contain UTC.
    let text = String::from_utf8(bytes)
        .expect("reports are text")
        .replace(&ctime(report.timestamp_ms), "Sat Nov 21 00:31:16 2026");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; UPDATE_GOLDEN=1 makes it", path.display()));
    for (number, (ours, theirs)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, theirs, "{} line {}", path.display(), number + 1);
    }
    assert_eq!(text, expected, "{}", path.display());
}

#[test]
fn plain_read() {
    check("plain_read", &report(vec![read_job("seqread")]));
}

#[test]
fn mixed_group_of_two() {
    check("mixed_group_of_two", &report(vec![mixed_job("mix"), read_job("seq")]));
}

#[test]
fn libaio_with_submission_latency() {
    let mut job = mixed_job("aio");
    job.view.slat_percentiles = true;
    check("libaio", &report(vec![job]));
}

#[test]
fn device_full() {
    let mut failed = job("e", 1, Default::default());
    failed.directions[Direction::Write].issued = 1;
    failed.depth_map = [1, 0, 0, 0, 0, 0, 0];
    failed.submit_map = [0, 1, 0, 0, 0, 0, 0];
    failed.complete_map = [1, 1, 0, 0, 0, 0, 0];
    failed.error = Some(JobError {
        code: 28,
        text: "file:io_u.c:2057, func=io_u error, error=No space left on device".into(),
    });
    let mut report = report(vec![failed]);
    report.disks.clear();
    check("device_full", &report);
}

#[test]
fn continue_on_error() {
    let mut job = read_job("tolerant");
    job.tolerated_errors = Some(ToleratedErrors { total: 3, first: 5 });
    job.directions[Direction::Read].issued += 3;
    job.directions[Direction::Read].short_ios = 2;
    job.directions[Direction::Read].drop_ios = 1;
    let mut clean = read_job("clean");
    clean.tolerated_errors = Some(ToleratedErrors::default());
    check("continue_on_error", &report(vec![job, clean]));
}

#[test]
fn group_reporting() {
    let clones = [mixed_job("mix"), mixed_job("mix"), mixed_job("mix")];
    let mut whole = report(clones.to_vec());
    let [mut merged, second, third] = clones;
    merged.merge(&second);
    merged.merge(&third);
    merged.description = Some("three of a kind".into());
    whole.jobs = vec![merged];
    check("group_reporting", &whole);
}

#[test]
fn decimal_thousands() {
    let mut job = mixed_job("mix");
    job.view.kb_base = 1000;
    check("kb_base_1000", &report(vec![job]));
}

#[test]
fn bits() {
    let mut job = mixed_job("mix");
    job.view.unit_base = 1;
    job.view.significant_figures = 6;
    check("unit_base_1", &report(vec![job]));
}

#[test]
fn lat_percentiles() {
    let mut job = mixed_job("mix");
    job.view.lat_percentiles = true;
    job.view.clat_percentiles = false;
    check("lat_percentiles", &report(vec![job]));
}

#[test]
fn percentile_list() {
    let mut job = read_job("seqread");
    job.view.percentiles = vec![50.0, 99.0, 99.9, 99.9999];
    check("percentile_list", &report(vec![job]));
}

#[test]
fn no_percentiles() {
    let mut job = read_job("seqread");
    job.view.percentiles.clear();
    check("no_percentiles", &report(vec![job]));
}

#[test]
fn fsync() {
    let mut job = read_job("log");
    job.directions[Direction::Write] = std::mem::take(&mut job.directions[Direction::Read]);
    job.sync = recorded(latencies(400_000, 32));
    job.depth_map[0] += 32;
    check("fsync", &report(vec![job]));
}

#[test]
fn trim() {
    let mut job = read_job("discard");
    job.directions[Direction::Trim] = std::mem::take(&mut job.directions[Direction::Read]);
    check("trim", &report(vec![job]));
}

#[test]
fn stuck() {
    let mut job = read_job("hung");
    job.directions[Direction::Read].issued += 1;
    let clat = &mut job.directions[Direction::Read].clat;
    for _ in 0..16 {
        clat.record(RANGE_END_NS + 5);
    }
    job.distribution[DISTRIBUTION_BUCKETS - 1] += 16;
    job.error = Some(JobError { code: 110, text: "file:hung, func=read, error=Connection timed out".into() });
    let mut report = report(vec![job]);
    report.notes = vec![
        "job hung: read of 65536 bytes at offset 16777216 of /mnt/hung has no answer since 2.0 s".into(),
    ];
    check("stuck", &report);
    check_format("stuck", &report, "json+", "plus.json");
}

#[test]
fn stacked_disks() {
    let mut report = report(vec![read_job("seqread")]);
    let mut stacked = disk("md0", 100);
    stacked.members = vec![disk("sda", 40), disk("sdb", 61)];
    report.disks = vec![disk("vda", 0), stacked];
    check("stacked_disks", &report);
}

#[test]
fn several_groups() {
    let mut second = mixed_job("second");
    second.group_id = 1;
    let idle = JobReport { name: "never ran".into(), group_id: 2, clones: 1, ..Default::default() };
    let mut report = report(vec![read_job("first"), second, idle]);
    report.global_options = vec![("ioengine".into(), "psync".into()), ("direct".into(), "1".into())];
    check("several_groups", &report);
}

#[test]
fn all_directions_as_one() {
    let mut job = mixed_job("mix");
    job.view.unified = UnifiedReporting::Mixed;
    check("unified_mixed", &report(vec![job.clone()]));
    job.view.unified = UnifiedReporting::Both;
    check("unified_both", &report(vec![job]));
}

#[test]
fn histograms() {
    check_format("histograms", &report(vec![mixed_job("mix")]), "json+", "plus.json");
}

#[test]
fn lines() {
    let (first, second) = (read_job("seq"), mixed_job("mix"));
    let mut earlier = second.clone();
    earlier.directions[Direction::Read] = direction(900, 4096, 30, 120_000, Some(3_900));
    earlier.directions[Direction::Write] = direction(1000, 4096, 30, 90_000, Some(2_100));
    let between = |earlier: &JobReport, later: &JobReport| IntervalJob::between(earlier, later);
    let mut report = report(vec![first.clone(), second.clone()]);
    report.interval = Some(IntervalReport {
        number: 2,
        start_us: 1_000_012,
        end_us: 2_000_345,
        start_wall_ms: TIMESTAMP_MS - 1_000,
        end_wall_ms: TIMESTAMP_MS,
        is_last: true,
        rates_since_us: None,
        jobs: vec![
            IntervalJob { clones_not_recording: 1, ..between(&first, &first) },
            IntervalJob { clones_restarted: 1, ..between(&earlier, &second) },
        ],
    });
    check_format("lines", &report, "jsonl", "jsonl");
}

#[test]
fn priorities_cache_and_zones() {
    let mut job = mixed_job("mix");
    job.zone_resets = Some(7);
    job.directions[Direction::Read].cache = Some(CacheReport { hits: 1, misses: 2 });
    job.directions[Direction::Read].priorities = vec![
        PriorityReport { class: 0, level: 0, hint: 0, latency: recorded(latencies(120_000, 1400)) },
        PriorityReport { class: 1, level: 2, hint: 0, latency: recorded(latencies(60_000, 582)) },
    ];
    check("priorities", &report(vec![job]));
}

#[test]
fn blocks_with_errors() {
    let mut job = mixed_job("mix");
    job.view.percentiles = vec![50.0, 90.0, 99.9];
    let mut blocks = BlockErrorReport { states: [1000, 20, 300, 2, 9], ..Default::default() };
    [0, 1, 1, 4, 4, 4, 4, 90, 90, 90, 5000].into_iter().for_each(|trims| blocks.trims.record(trims));
    job.block_errors = Some(blocks);
    let report = report(vec![job]);
    check("blocks", &report);
    check_format("blocks", &report, "json+", "plus.json");
}

#[test]
fn terse_versions() {
    let mut rich = mixed_job("rich");
    rich.directions[Direction::Trim] = direction(64, 4096, 62, 200_000, None);
    rich.description = Some("all there is".into());
    rich.tolerated_errors = Some(ToleratedErrors { total: 2, first: 5 });
    rich.error = Some(JobError { code: 5, text: "file:a, func=b, error=Input/output error".into() });
    let mut both = rich.clone();
    both.view.unified = UnifiedReporting::Both;
    let mut mixed = rich.clone();
    mixed.view.unified = UnifiedReporting::Mixed;
    let mut total = read_job("total");
    total.view.clat_percentiles = false;
    total.view.lat_percentiles = true;
    total.view.percentiles = vec![50.0, 99.999];
    let mut report = report(vec![rich, both, mixed, total]);
    let mut stacked = disk("md0", 100);
    stacked.members = vec![disk("sda", 40), disk("sdb", 61)];
    report.disks.push(stacked);
    check_terse_versions("versions", &report);
}

#[test]
fn every_percentile_table() {
    let mut job = mixed_job("mix");
    job.view.slat_percentiles = true;
    job.view.lat_percentiles = true;
    job.view.percentiles = vec![50.0, 99.0, 100.0];
    // A few values are beyond all bins, so percentiles there are lower bounds.
    job.directions[Direction::Write].clat.record(RANGE_END_NS);
    job.directions[Direction::Write].lat.record(3 * RANGE_END_NS);
    let report = report(vec![job]);
    check("percentile_tables", &report);
    check_format("percentile_tables", &report, "json+", "plus.json");
}

#[test]
fn unsteady_slope_of_latency() {
    let mut job = read_job("seqread");
    job.description = Some("it does not settle".into());
    job.steady_state = Some(SteadyStateReport {
        metric: SteadyStateMetric::Latency,
        slope_mode: true,
        limit: 50_000.0,
        duration_seconds: 4,
        criterion: -75_000.25,
        slope: -75_000.25,
        iops: vec![4781, 4783, 0, 0],
        bytes_per_second: vec![19_608_000, 19_610_000, 0, 0],
        latency_ns: vec![210_000, 190_000, 0, 0],
        ..Default::default()
    });
    let mut report = report(vec![job]);
    report.idleness = Some(IdlenessReport {
        system_percent: 97.7,
        unit_mean_us: 11.33,
        unit_stddev_us: 0.16,
        ..Default::default()
    });
    check("unsteady", &report);
}

#[test]
fn priorities_of_total_latency() {
    let mut job = read_job("seqread");
    job.view.clat_percentiles = false;
    job.view.lat_percentiles = true;
    job.view.kb_base = 1000;
    job.view.unit_base = 1;
    job.directions[Direction::Read].priorities = [(1, 0, 0), (2, 4, 0), (2, 4, 7)]
        .map(|(class, level, hint)| {
            let middle = 40_000 * u64::from(class) + u64::from(hint);
            PriorityReport { class, level, hint, latency: recorded(latencies(middle, 80)) }
        })
        .to_vec();
    check("priorities_lat", &report(vec![job]));
}

#[test]
fn steady_state_and_idleness() {
    let mut job = mixed_job("mix");
    job.latency_goal.target_ns = 10_000_000;
    job.latency_goal.window_ns = 2_000_000_000;
    job.latency_goal.percentile = 99.0;
    job.steady_state = Some(SteadyStateReport {
        percent: true,
        limit: 20.0,
        duration_seconds: 2,
        attained: true,
        criterion: 14.006_6,
        max_deviation: 14.006_6,
        slope: 0.5,
        iops: vec![4781, 4783],
        bytes_per_second: vec![19_608_000, 19_610_000],
        ..Default::default()
    });
    let mut report = report(vec![job]);
    report.idleness = Some(IdlenessReport {
        system_percent: 32.49,
        per_cpu_percent: vec![49.81, 15.18],
        unit_mean_us: 15.83,
        unit_stddev_us: 0.32,
    });
    check("steady_state", &report);
}

#[test]
fn several_hosts() {
    let report =
        hosts::merge(HostsReport { hosts: support::hosts(), overlap: None, ..HostsReport::default() });
    check("hosts", &report);
}

/// All lines of `jsonl` but the last omit each host's own results.
#[test]
fn lines_of_several_hosts() {
    let mut report = hosts::merge(HostsReport {
        hosts: support::hosts()[..2].to_vec(),
        overlap: None,
        ..HostsReport::default()
    });
    report.interval = Some(IntervalReport { number: 1, end_us: 1_000_000, ..IntervalReport::default() });
    check_format("hosts", &report, "jsonl", "jsonl");
    report.interval = None;
    let mut line = Vec::new();
    fathom_report::by_name("jsonl").expect("known").write(&report, &mut line).expect("memory takes it");
    let last: serde_json::Value = serde_json::from_slice(&line).expect("valid JSON");
    assert_eq!(last["fathom hosts"]["hosts"][1]["jobs"][0]["jobname"], "work");
}

/// If there are many hosts, a row is shown for those with remarks and for some of the others.
#[test]
fn many_hosts() {
    let mut many: Vec<_> = (0..60).map(|index| host(&format!("h{index}"), 100, 60_000, 10 * index)).collect();
    many[45] = host("h45", 30, 60_000, 0);
    for host in &mut many {
        let report = host.report.as_mut().expect("it has one");
        report.timeline = None;
        let reads = report.jobs[0].directions[Direction::Read].clone();
        report.jobs[0].directions[Direction::Write] =
            DirectionReport { clat: Default::default(), lat: Default::default(), ..reads };
    }
    check_format(
        "many_hosts",
        &hosts::merge(HostsReport { hosts: many.clone(), overlap: None, ..HostsReport::default() }),
        "normal",
        "txt",
    );
    many[59].start_skew_ns = Some(3_000_000_000);
    let mut text = Vec::new();
    let report = hosts::merge(HostsReport { hosts: many, overlap: None, ..HostsReport::default() });
    fathom_report::by_name("normal").expect("known").write(&report, &mut text).expect("memory takes it");
    assert!(
        String::from_utf8_lossy(&text).contains("  There was no time in which all hosts were running.\n")
    );
}
