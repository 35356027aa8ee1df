//! Builds reports by hand, from recorded samples without a clock, so that their texts never change.

// Each test program uses only some of these helpers.
#![allow(dead_code)]

use fathom_stats::LatencyStats;
use fathom_stats::hosts::{ClockOffset, ClockReport, HostEnd, HostRunReport};
use fathom_stats::report::*;
use fathom_stats::series::SampleStats;
use fathom_stats::timeline::{Timeline, TimelineEntry, TimelineFigures, TimelinePoint};
use fathom_stats::{Direction, PerDirection};

/// The time of all reports of the tests: 2026-11-21 00:31:16 UTC.
pub(crate) const TIMESTAMP_MS: u64 = 1_795_221_076_578;

/// Returns a reproducible distribution of latencies around `middle` ns with a long tail.
pub(crate) fn latencies(middle: u64, count: u64) -> impl Iterator<Item = u64> {
    let mut state = middle;
    (0..count).map(move |index| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let spread = (state >> 33) % middle.max(1);
        let tail = if index % 97 == 96 { middle * 20 } else { 0 };
        middle / 2 + spread + tail
    })
}

/// Returns the statistics of these values.
pub(crate) fn recorded(values: impl IntoIterator<Item = u64>) -> LatencyStats {
    let mut stats = LatencyStats::default();
    values.into_iter().for_each(|value| stats.record(value));
    stats
}

/// Returns a direction of `ios` I/Os of `block` bytes with completion latencies around `middle` ns; `slat` is
/// for engines that submit first.
pub(crate) fn direction(
    ios: u64,
    block: u64,
    runtime_ms: u64,
    middle: u64,
    slat: Option<u64>,
) -> DirectionReport {
    let submit: Vec<u64> = slat.map_or(Vec::new(), |middle| latencies(middle, ios).collect());
    let clat: Vec<u64> = latencies(middle, ios).collect();
    let lat = clat.iter().enumerate().map(|(index, ns)| ns + submit.get(index).unwrap_or(&150));
    DirectionReport {
        io_bytes: ios * block,
        issued: ios,
        total_ios: ios,
        runtime_ms,
        lat: recorded(lat),
        slat: recorded(submit),
        clat: recorded(clat),
        ..Default::default()
    }
}

/// Returns the samples of one clone.
pub(crate) fn samples(values: &[u64]) -> SampleStats {
    let mut stats = SampleStats::default();
    values.iter().for_each(|&value| stats.record(value));
    stats
}

/// Returns a job of one clone that ran for `runtime_ms`; `directions` are read, write, trim.
pub(crate) fn job(name: &str, depth: u32, directions: [DirectionReport; 3]) -> JobReport {
    let directions = PerDirection::new(directions);
    let mut distribution = [0; DISTRIBUTION_BUCKETS];
    for (ns, count) in directions.values().flat_map(|direction| direction.clat.histogram.values()) {
        distribution[DISTRIBUTION_BOUNDS_NS.partition_point(|&bound| bound <= ns)] += count;
    }
    let issued: u64 = directions.values().map(|direction| direction.issued).sum();
    let runtime_ms = directions.values().map(|direction| direction.runtime_ms).max().unwrap_or(0);
    let mut depth_map = [0; DEPTH_BUCKETS];
    depth_map[(depth.max(1).ilog2() as usize).min(DEPTH_BUCKETS - 1)] = issued;
    JobReport {
        name: name.into(),
        clones: 1,
        pid: 15_592,
        job_start_ms: TIMESTAMP_MS - 3_006,
        elapsed_seconds: 4,
        options: vec![
            ("name".into(), name.into()),
            ("rw".into(), "read".into()),
            ("time_based".into(), String::new()),
        ],
        runtime_total_ms: runtime_ms,
        cpu: CpuReport {
            user_us: runtime_ms * 56,
            system_us: runtime_ms * 23,
            context_switches: issued + 3,
            major_faults: 0,
            minor_faults: 23,
        },
        depth_map,
        submit_map: [0, issued, 0, 0, 0, 0, 0],
        complete_map: [0, issued, 0, 0, 0, 0, 0],
        distribution,
        latency_goal: LatencyGoal { depth, percentile: 100.0, ..Default::default() },
        directions,
        ..Default::default()
    }
}

/// Only reads.
pub(crate) fn read_job(name: &str) -> JobReport {
    job(name, 1, [direction(256, 65_536, 19, 60_000, None), Default::default(), Default::default()])
}

/// Returns a job with reads and writes at depth eight.
pub(crate) fn mixed_job(name: &str) -> JobReport {
    let mut job = job(
        name,
        8,
        [
            direction(1982, 4096, 62, 120_000, Some(3_900)),
            direction(2114, 4096, 62, 90_000, Some(2_100)),
            Default::default(),
        ],
    );
    job.depth_map = [1, 4, 9, 4_082, 0, 0, 0];
    job.complete_map = [0, 4_096, 1, 0, 0, 0, 0];
    job.directions[Direction::Read].bw = samples(&[1016, 1024, 1032, 1024]);
    job.directions[Direction::Read].iops = samples(&[254, 256, 258, 256]);
    job
}

/// Returns a report of these jobs, with the sum of each group.
pub(crate) fn report(jobs: Vec<JobReport>) -> RunReport {
    let last_group = jobs.iter().map(|job| job.group_id).max().unwrap_or(0);
    let groups = (0..=last_group)
        .map(|id| GroupReport::from_clones(id, jobs.iter().filter(|job| job.group_id == id)))
        .collect();
    RunReport {
        version: "fio-3.42".into(),
        timestamp_ms: TIMESTAMP_MS,
        jobs,
        groups,
        disks: vec![disk("vda", 3)],
        ..Default::default()
    }
}

/// Checks that commands read the same figures from a report in memory as from its text.
pub(crate) fn check_readable(report: &RunReport) {
    let mut text = Vec::new();
    fathom_report::by_name("json+")
        .expect("known")
        .write(report, &mut text)
        .expect("memory takes everything");
    let text = String::from_utf8(text).expect("reports are text");
    let printed = fathom_results::parse(&text, "it").expect("a result");
    let read = fathom_results::at_hand(fathom_report::result(report), "it").expect("a result");
    let (printed, read) = (format!("{printed:?}"), format!("{read:?}"));
    let difference = printed.bytes().zip(read.bytes()).position(|(one, other)| one != other);
    let near = |text: &str, at: usize| {
        String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(200)..text.len().min(at + 100)])
            .into_owned()
    };
    assert_eq!(difference.map(|at| near(&printed, at)), difference.map(|at| near(&read, at)));
    assert_eq!(printed.len(), read.len());
}

/// Returns a device with `ios` reads and twice as many writes.
pub(crate) fn disk(name: &str, ios: u64) -> DiskReport {
    DiskReport {
        name: name.into(),
        ios: [ios, 2 * ios],
        sectors: [8 * ios, 16 * ios],
        merges: [0, ios / 2],
        ticks_ms: [ios / 3, ios],
        in_queue_ms: ios,
        util_percent: 12.345,
        members: Vec::new(),
    }
}

/// Returns a host that read for a second, with this many I/Os in each quarter of it, each taking about `middle`
/// ns. Its jobs started `skew_us` late.
pub(crate) fn host(name: &str, ios: u64, middle: u64, skew_us: i64) -> HostRunReport {
    let reads = direction(4 * ios, 4096, 1000, middle, None);
    let points = (1..=4).map(|number| {
        let figures = TimelineFigures::of(4096 * ios, ios, &recorded(latencies(middle, ios)).histogram);
        let nothing = TimelineFigures::default();
        TimelinePoint {
            end_ms: 250 * number,
            directions: PerDirection::new([figures, nothing.clone(), nothing]),
        }
    });
    let mut report = report(vec![job("work", 1, [reads, Default::default(), Default::default()])]);
    report.timeline = Some(Timeline {
        interval_ms: 250,
        entries: vec![TimelineEntry { name: "work".into(), group_id: 0, points: points.collect() }],
    });
    let done_ms = 1000 + skew_us.unsigned_abs() / 1000;
    HostRunReport {
        name: name.into(),
        host_name: format!("{name}.example.org"),
        transport: "ssh".into(),
        clock: ClockReport {
            before: Some(ClockOffset { offset_ns: -5_000_000, bound_ns: 40_000 }),
            after: Some(ClockOffset { offset_ns: -5_001_000, bound_ns: 55_000 }),
            wall_clock_jump_ns: 0,
        },
        start_skew_ns: Some(skew_us * 1000),
        first_done_ms: Some(done_ms),
        last_done_ms: Some(done_ms + 3),
        report: Some(Box::new(report)),
        ..HostRunReport::default()
    }
}

/// Returns nine hosts: one is slow, one has slow reads, one was lost, and one never started.
pub(crate) fn hosts() -> Vec<HostRunReport> {
    let mut hosts = vec![
        host("a1", 260, 60_000, 300),
        host("a2", 262, 60_000, -1200),
        host("b-with-a-long-name", 261, 60_000, 10),
        host("a3", 90, 60_000, 2000),
        host("b2", 260, 60_000, 40),
        host("b3", 258, 400_000, 50),
        host("b4", 100, 60_000, 50),
        host("b5", 1, 60_000, 0),
        host("b6", 259, 60_000, 0),
    ];
    hosts[0].groups = vec!["left".into()];
    hosts[4].report.as_mut().expect("it has one").jobs[0].error =
        Some(JobError { code: 5, text: "file:a, func=read, error=Input/output error".into() });
    hosts[4].report.as_mut().expect("it has one").notes = vec!["job work ended early".into()];
    let reason = "nothing was heard of it for 10 s".into();
    hosts[6].end = HostEnd::Lost { reason, snapshot_ms: Some(750) };
    (hosts[6].first_done_ms, hosts[6].last_done_ms) = (None, None);
    let end = HostEnd::NeverBegan { reason: "no route to host".into() };
    hosts[7] = HostRunReport { name: "b5".into(), transport: "tls".into(), end, ..HostRunReport::default() };
    hosts
}
