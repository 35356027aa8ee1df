//! Checks that merging hosts is equivalent to counting all clones together.

use super::*;
use crate::block_errors::BlockErrorReport;
use crate::interval::{IntervalJob, IntervalReport};
use crate::limits::{GroupLimits, ProcessorLimit};
use crate::mounts::MountReport;
use crate::report::*;
use crate::series::SampleStats;
use crate::slices::{Slice, SliceReport};
use crate::timeline::{MOST_POINTS, Timeline, TimelineEntry, TimelineFigures, TimelinePoint};
use crate::{Direction, Histogram};
use proptest::prelude::*;

fn host(name: &str, report: RunReport) -> HostRunReport {
    HostRunReport { name: name.to_owned(), report: Some(Box::new(report)), ..HostRunReport::default() }
}

fn merged(hosts: &[HostRunReport]) -> RunReport {
    merge(HostsReport { hosts: hosts.to_vec(), overlap: None, ..HostsReport::default() })
}

prop_compose! {
    /// Returns the report of one clone. Fractions are halves, so that sums do not depend on their order.
    fn clone_report()(
        name in "[ab]", group_id in 0u32..3, latencies in prop::collection::vec((0usize..3, 0u64..1 << 42), 0..12),
        runtime_ms in 1u64..5000, error in prop::option::weighted(0.2, 1i32..5), tolerated in prop::option::of(0u64..3),
        halves in 0u32..1000, samples in 0u64..5, priority in 0u8..3, zone_resets in prop::option::of(0u64..9),
        failed_blocks in prop::option::of(0u64..9),
    ) -> JobReport {
        let mut job = JobReport {
            name, group_id, clones: 1, runtime_total_ms: runtime_ms, elapsed_seconds: runtime_ms / 1000, zone_resets,
            error: error.map(|code| JobError { code, text: format!("error={code}") }),
            tolerated_errors: tolerated.map(|total| ToleratedErrors { total, first: total as i32 }),
            block_errors: failed_blocks.map(|count| BlockErrorReport { states: [7, 0, 1, 0, count], trims: Histogram::default() }),
            ..JobReport::default()
        };
        for (direction, ns) in latencies {
            let direction = &mut job.directions[Direction::ALL[direction]];
            direction.clat.record(ns);
            direction.lat.record(ns + 100);
            direction.io_bytes += 4096;
            direction.issued += 1;
            direction.total_ios += 1;
            direction.runtime_ms = runtime_ms;
            direction.bw = SampleStats { samples, min: 1, max: 9, mean: f64::from(halves) / 2.0, squared_distances: 0.5 };
        }
        for direction in job.directions.values_mut().filter(|direction| direction.total_ios > 0) {
            direction.priorities = vec![PriorityReport { class: priority, latency: direction.clat.clone(), ..Default::default() }];
        }
        job.engine.count("opens", runtime_ms);
        job
    }
}

/// Returns a host's report of its clones, with one entry per job and group, or one per clone.
fn report_of(clones: &[JobReport], is_grouped: bool) -> RunReport {
    let mut report = RunReport { version: "fio-3.42".into(), ..RunReport::default() };
    for clone in clones {
        let same = |job: &&mut JobReport| (job.group_id, &job.name) == (clone.group_id, &clone.name);
        match report.jobs.iter_mut().find(same).filter(|_| is_grouped) {
            Some(job) => job.merge(clone),
            None => report.jobs.push(clone.clone()),
        }
    }
    report.jobs.sort_by_key(|job| job.group_id);
    let last = clones.iter().map(|clone| clone.group_id).max().unwrap_or(0);
    let of_group = |id| GroupReport::from_clones(id, clones.iter().filter(|clone| clone.group_id == id));
    report.groups = (0..=last).map(of_group).collect();
    report
}

prop_compose! {
    fn point()(bytes in 0u64..1000, ios in 0u64..10, bin in 0u16..40) -> TimelineFigures {
        TimelineFigures { io_bytes: bytes, total_ios: ios, bins: [(bin, ios)].into_iter().filter(|(_, count)| *count > 0).collect() }
    }
}

prop_compose! {
    fn timeline()(
        doublings in 0u32..3, names in prop_oneof![Just(&["a", "b"][..]), Just(&["a"][..]), Just(&["all jobs"][..])],
        figures in prop::collection::vec(point(), 0..30), early_ms in 0u64..200,
    ) -> Timeline {
        let interval_ms = 250 << doublings;
        let mut timeline = Timeline { interval_ms, entries: Vec::new() };
        for name in names {
            let points = figures.iter().zip(1..).map(|(point, number)| TimelinePoint {
                // The last point is shorter than the others.
                end_ms: number * interval_ms - if number == figures.len() as u64 { early_ms } else { 0 },
                directions: PerDirection::new([point.clone(), TimelineFigures::default(), point.clone()]),
            });
            timeline.entries.push(TimelineEntry { name: (*name).to_owned(), group_id: 0, points: points.collect() });
        }
        timeline
    }
}

prop_compose! {
    fn any_host()(
        name in "[a-z]{3}", clones in prop::collection::vec(clone_report(), 0..5), timeline in prop::option::of(timeline()),
        is_grouped in any::<bool>(), skew_ns in prop::option::of(-300_000_000i64..900_000_000), has_report in prop::bool::weighted(0.9),
        number in 0u64..4, notes in prop::collection::vec("[xy]", 0..3), is_lost in any::<bool>(),
    ) -> HostRunReport {
        let mut report = report_of(&clones, is_grouped);
        let of_interval = |job: &JobReport| IntervalJob::between(&JobReport::default(), job);
        report.interval = Some(IntervalReport { number, end_us: number * 10, jobs: report.jobs.iter().map(of_interval).collect(), ..Default::default() });
        report.disks = vec![DiskReport { name: "sda".into(), ..DiskReport::default() }];
        report.timeline = timeline;
        report.notes = notes;
        let mut host = host(&name, report);
        host.start_skew_ns = skew_ns;
        if is_lost {
            host.end = HostEnd::Lost { reason: "gone".into(), snapshot_ms: Some(number) };
        }
        host.report = host.report.filter(|_| has_report);
        host
    }
}

/// Merges hosts in a tree split at `cuts`, with a round trip through JSON at each node.
fn in_a_tree(hosts: &[HostRunReport], cuts: &[usize], window: Option<&OverlapWindow>) -> Merged {
    let mut tree = Merged::default();
    match hosts {
        [] => {}
        [host] => {
            tree.add(host.clone());
            window.into_iter().for_each(|window| tree.shorten(window));
        }
        _ => {
            let (cut, rest) =
                cuts.split_first().map_or((1, cuts), |(cut, rest)| (1 + cut % (hosts.len() - 1), rest));
            let (left, right) = hosts.split_at(cut);
            tree = in_a_tree(left, rest, window);
            tree.merge(in_a_tree(right, rest, window));
        }
    }
    let text = serde_json::to_string(&tree).expect("it can be written");
    serde_json::from_str(&text).expect("it can be read")
}

/// Ignores the text that hosts add to errors.
fn without_errors(mut jobs: Vec<JobReport>) -> Vec<JobReport> {
    jobs.iter_mut().for_each(|job| job.error = None);
    jobs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn hosts_are_all_their_clones(clones_of_hosts in prop::collection::vec(prop::collection::vec(clone_report(), 0..5), 1..5)) {
        let hosts: Vec<HostRunReport> =
            clones_of_hosts.iter().map(|clones| host("h", report_of(clones, true))).collect();
        let result = merged(&hosts);
        let all: Vec<JobReport> = clones_of_hosts.concat();
        let expected = report_of(&all, true);
        prop_assert_eq!(without_errors(result.jobs.clone()), without_errors(expected.jobs.clone()));
        for (job, expected) in result.jobs.iter().zip(&expected.jobs) {
            prop_assert_eq!(job.error.as_ref().map(|error| error.code), expected.error.as_ref().map(|error| error.code));
        }
        prop_assert_eq!(result.groups, expected.groups);
        prop_assert_eq!(result.hosts.map(|hosts| hosts.hosts), Some(hosts));
    }

    /// Checks that unmerged clones are merged with the same clone of other hosts.
    #[test]
    fn the_second_of_a_name_goes_to_the_second(counts in prop::collection::vec(0usize..4, 1..5)) {
        let clones = |count: usize, host: usize| -> Vec<JobReport> {
            let pid = |nth: usize| (10 * host + nth) as u32;
            (0..count).map(|nth| JobReport { name: "a".into(), clones: 1, pid: pid(nth), runtime_total_ms: 1 << nth, ..Default::default() }).collect()
        };
        let hosts: Vec<HostRunReport> = counts.iter().enumerate()
            .map(|(index, &count)| host("h", report_of(&clones(count, index), false))).collect();
        let result = merged(&hosts);
        prop_assert_eq!(result.jobs.len(), counts.iter().copied().max().unwrap_or(0));
        for (nth, job) in result.jobs.iter().enumerate() {
            let having = counts.iter().filter(|count| **count > nth).count();
            prop_assert_eq!((job.clones as usize, job.runtime_total_ms), (having, (having as u64) << nth));
        }
    }

    #[test]
    fn a_tree_gives_the_same(hosts in prop::collection::vec(any_host(), 0..7), cuts in prop::collection::vec(0usize..7, 0..7)) {
        prop_assert_eq!(in_a_tree(&hosts, &cuts, None).finish(), merged(&hosts));
    }

    /// Checks that the result does not depend on the parts that the hosts drop from their own reports.
    #[test]
    fn short_hosts_give_the_same(hosts in prop::collection::vec(any_host(), 1..7), cuts in prop::collection::vec(0usize..7, 0..7)) {
        let hosts: Vec<HostRunReport> =
            hosts.into_iter().map(|host| HostRunReport { first_done_ms: Some(1000), ..host }).collect();
        let mut window = OverlapWindow::default();
        hosts.iter().for_each(|host| window.merge(OverlapWindow::of(host)));
        let (mut result, mut expected) = (in_a_tree(&hosts, &cuts, Some(&window)).finish(), merged(&hosts));
        let (short, whole) = (result.hosts.take().expect("hosts"), expected.hosts.take().expect("hosts"));
        prop_assert_eq!(result, expected);
        let (short_rows, whole_rows) = (rows(&short.hosts), rows(&whole.hosts));
        for (short, whole) in short_rows.iter().zip(&whole_rows) {
            prop_assert_eq!((short.errors, short.straggling.len()), (whole.errors, whole.straggling.len()));
            for (short, whole) in short.directions.values().zip(whole.directions.values()) {
                prop_assert_eq!((short.total_ios, short.percentiles, short.max_ns), (whole.total_ios, whole.percentiles, whole.max_ns));
                // JSON does not preserve the last bit, so the comparison allows a small error.
                prop_assert!((short.iops - whole.iops).abs() <= 1e-9 * whole.iops);
            }
        }
        prop_assert!(short.hosts.iter().flat_map(|host| &host.report).all(|report| report.jobs.is_empty()));
        let times = |overlap: &Option<Overlap>| overlap.as_ref().map(|overlap| (overlap.begin_ms, overlap.end_ms));
        prop_assert_eq!(times(&short.overlap), times(&whole.overlap));
        for (short, whole) in short.overlap.iter().zip(&whole.overlap) {
            for (short, whole) in short.directions.values().zip(whole.directions.values()) {
                // The order of summation differs, so the comparison allows a small error.
                prop_assert!((short.iops - whole.iops).abs() <= 1e-9 * whole.iops.max(1.0));
            }
        }
    }

    #[test]
    fn timelines_keep_their_sums_and_their_times(hosts in prop::collection::vec(any_host(), 1..5)) {
        let sums = |timeline: &Timeline| {
            let points = timeline.entries.iter().flat_map(|entry| &entry.points);
            points.fold((0, 0, 0), |(bytes, ios, bins), point| {
                let read = &point.directions[Direction::Read];
                (bytes + read.io_bytes, ios + read.total_ios, bins + read.bins.values().sum::<u64>())
            })
        };
        let own = hosts.iter().filter_map(|host| host.report.as_ref()?.timeline.as_ref());
        let expected = own.clone().map(sums).fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        let result = merged(&hosts);
        let Some(timeline) = &result.timeline else {
            prop_assert_eq!(own.count(), 0);
            return Ok(());
        };
        prop_assert_eq!(sums(timeline), expected);
        prop_assert!(timeline.interval_ms >= own.map(|timeline| timeline.interval_ms).max().unwrap_or(0));
        for entry in &timeline.entries {
            prop_assert!(entry.points.len() <= MOST_POINTS);
            for (index, point) in entry.points.iter().enumerate() {
                let begin_ms = index as u64 * timeline.interval_ms;
                prop_assert!(point.end_ms > begin_ms && point.end_ms <= begin_ms + timeline.interval_ms);
                prop_assert!(index + 1 == entry.points.len() || point.end_ms == begin_ms + timeline.interval_ms);
            }
        }
    }
}

/// Returns a timeline with these numbers of I/Os in each 250 ms span.
fn steady(ios: &[u64]) -> Timeline {
    let points = ios.iter().zip(1..).map(|(&total_ios, number)| {
        let read = TimelineFigures { io_bytes: total_ios * 512, total_ios, bins: Default::default() };
        TimelinePoint {
            end_ms: 250 * number,
            directions: PerDirection::new([read, Default::default(), Default::default()]),
        }
    });
    let entry = TimelineEntry { name: "a".into(), group_id: 0, points: points.collect() };
    Timeline { interval_ms: 250, entries: vec![entry] }
}

fn host_with_timeline(name: &str, ios: &[u64], skew_ms: i64) -> HostRunReport {
    let report = RunReport { timeline: Some(steady(ios)), ..RunReport::default() };
    HostRunReport {
        start_skew_ns: Some(skew_ms * 1_000_000),
        first_done_ms: Some((250 * ios.len() as i64 + skew_ms) as u64),
        ..host(name, report)
    }
}

fn ios(report: &RunReport) -> Vec<(u64, u64)> {
    let points = &report.timeline.as_ref().expect("there is one").entries[0].points;
    points.iter().map(|point| (point.end_ms, point.directions[Direction::Read].total_ios)).collect()
}

#[test]
fn points_stand_where_they_were_by_one_clock() {
    let late = host_with_timeline("b", &[10, 20], 500);
    let result = merged(&[host_with_timeline("a", &[1, 2, 3], 0), late.clone()]);
    assert_eq!(ios(&result), [(250, 1), (500, 2), (750, 13), (1000, 20)]);
    // After a small delay, points stay within the same span.
    let result = merged(&[host_with_timeline("a", &[1, 2, 3], 0), host_with_timeline("b", &[10, 20], 3)]);
    assert_eq!(ios(&result), [(250, 11), (500, 22), (750, 3)]);
    // The time before the first point has no I/Os.
    assert_eq!(ios(&merged(&[late])), [(250, 0), (500, 0), (750, 10), (1000, 20)]);
}

#[test]
fn coarse_points_make_all_coarse() {
    let mut coarse = steady(&[100, 200]);
    coarse.interval_ms = 500;
    coarse.entries[0].points.iter_mut().for_each(|point| point.end_ms *= 2);
    let report = RunReport { timeline: Some(coarse), ..RunReport::default() };
    let result = merged(&[host_with_timeline("a", &[1, 2, 3], 0), host("b", report)]);
    assert_eq!(ios(&result), [(500, 103), (1000, 203)]);
    // A single entry for all jobs absorbs separate entries.
    let mut all = steady(&[100]);
    all.entries[0].name = "all jobs".into();
    let report = RunReport { timeline: Some(all), ..RunReport::default() };
    let result = merged(&[host_with_timeline("a", &[1, 2], 0), host("b", report)]);
    assert_eq!(
        (result.timeline.as_ref().map(|timeline| timeline.entries.len()), ios(&result)),
        (Some(1), vec![(250, 101), (500, 2)])
    );
}

#[test]
fn a_long_timeline_stays_short() {
    let full = [1; MOST_POINTS];
    let result = merged(&[host_with_timeline("a", &full, 0), host_with_timeline("b", &full, 250)]);
    let points = ios(&result);
    assert_eq!((points.len(), points[0], points[1]), (MOST_POINTS / 2 + 1, (500, 3), (1000, 4)));
    assert_eq!(points.last(), Some(&(60_250, 1)));
}

#[test]
fn all_were_running_between_the_last_start_and_the_first_end() {
    let hosts = [host_with_timeline("a", &[1000; 8], 0), host_with_timeline("b", &[500; 8], 500)];
    let overlap = overlap(&hosts).expect("they met");
    assert_eq!((overlap.begin_ms, overlap.end_ms), (500, 2000));
    let read = overlap.directions[Direction::Read];
    assert!(
        (read.iops - 6000.0).abs() < 1e-6 && (read.bytes_per_second - 6000.0 * 512.0).abs() < 1e-3,
        "{read:?}"
    );
    // A point of which half is in the window counts half.
    let hosts = [host_with_timeline("a", &[1000; 8], 0), host_with_timeline("b", &[500; 8], 125)];
    let overlap = super::overlap(&hosts).expect("they met");
    assert!((overlap.directions[Direction::Read].iops - 6000.0).abs() < 1e-6, "{overlap:?}");
    let apart = [host_with_timeline("a", &[1; 2], 0), host_with_timeline("b", &[1; 2], 500)];
    assert_eq!(super::overlap(&apart), None);
    // A host that never started does not shorten the window, but a lost host ends it.
    let mut lost = host_with_timeline("b", &[500; 4], 0);
    (lost.first_done_ms, lost.end) = (None, HostEnd::Lost { reason: "gone".into(), snapshot_ms: Some(1000) });
    let never =
        HostRunReport { end: HostEnd::NeverBegan { reason: "no".into() }, ..HostRunReport::default() };
    let overlap = super::overlap(&[hosts[0].clone(), lost, never]).expect("they met");
    assert_eq!((overlap.begin_ms, overlap.end_ms), (0, 1000));
}

#[test]
fn names_tell_the_host() {
    let report = |note: &str| RunReport {
        disks: vec![DiskReport {
            name: "md0".into(),
            members: vec![DiskReport { name: "sda".into(), ..DiskReport::default() }],
            ..DiskReport::default()
        }],
        mounts: vec![MountReport { directory: "/mnt".into(), ..MountReport::default() }],
        jobs: vec![JobReport {
            name: "a".into(),
            error: Some(JobError { code: 5, text: "file:x".into() }),
            devices: ["sda".to_owned()].into(),
            ..JobReport::default()
        }],
        verification: vec![VerificationReport {
            job: "a".into(),
            checked_reads: 2,
            listed_in: vec!["list".into()],
            ..Default::default()
        }],
        choices: vec![JobChoices {
            name: "a".into(),
            processor_wait_ms: Some(5),
            engine_features: vec!["polls".into(), note.into()],
            limits: GroupLimits {
                processors: vec![ProcessorLimit { group: "/g".into(), ..ProcessorLimit::default() }],
                ..GroupLimits::default()
            },
            ..JobChoices::default()
        }],
        notes: vec![note.to_owned(), "both".to_owned()],
        timestamp_ms: note.len() as u64,
        ..RunReport::default()
    };
    let result = merged(&[host("one", report("n")), host("two", report("longer"))]);
    let disks: Vec<&str> = result.disks.iter().map(|disk| &*disk.name).collect();
    assert_eq!((disks, &*result.disks[1].members[0].name), (vec!["one:md0", "two:md0"], "two:sda"));
    assert_eq!(result.mounts[1].directory, "two:/mnt");
    assert_eq!(result.jobs[0].error.as_ref().map(|error| &*error.text), Some("one: file:x"));
    assert!(result.jobs[0].devices.iter().eq(["one:sda", "two:sda"]), "{:?}", result.jobs[0].devices);
    assert_eq!((result.verification.len(), result.verification[0].checked_reads), (1, 4));
    assert_eq!(result.verification[0].listed_in, ["one:list", "two:list"]);
    assert_eq!((result.choices.len(), result.choices[0].processor_wait_ms), (1, Some(10)));
    assert_eq!(result.choices[0].engine_features, ["polls"]);
    assert_eq!(result.choices[0].limits.processors[1].group, "two:/g");
    assert_eq!(result.notes, ["one: n", "one, two: both", "two: longer"]);
    assert_eq!(result.timestamp_ms, 6);
}

#[test]
fn a_note_says_what_is_missing() {
    let reason = || "no answer for 10 s".to_owned();
    let lost = |snapshot_ms, report| HostRunReport {
        end: HostEnd::Lost { reason: reason(), snapshot_ms },
        report,
        ..host("a", RunReport::default())
    };
    let never = HostRunReport {
        end: HostEnd::NeverBegan { reason: "no such host".into() },
        report: None,
        ..lost(None, None)
    };
    let notes = merged(&[lost(Some(2500), Some(Box::default())), lost(None, None), never]).notes;
    assert_eq!(
        notes,
        [
            "a was lost: no answer for 10 s; the figures include only its first 2.5 s",
            "a was lost: no answer for 10 s; the figures are without it",
            "a never began: no such host; the figures are without it"
        ]
    );
    let same: Vec<HostRunReport> = ["a", "b", "c", "d"]
        .map(|name| host(name, RunReport { notes: vec!["n".into()], ..RunReport::default() }))
        .to_vec();
    assert_eq!(merged(&same).notes, ["all 4 hosts: n"]);
    assert_eq!(
        merged(&[same, vec![host("e", RunReport::default())]].concat()).notes,
        ["a, b and 2 more hosts: n"]
    );
}

#[test]
fn stages_are_those_of_all_hosts() {
    let disk = |name: &str| vec![DiskReport { name: name.into(), ..DiskReport::default() }];
    let stage = |group, name| StageReport { groups: vec![group], disks: disk(name), mounts: Vec::new() };
    let staged = RunReport { stages: vec![stage(0, "sda"), stage(1, "sdb")], ..RunReport::default() };
    // This host has jobs of the first stage only.
    let simple =
        RunReport { groups: vec![GroupReport::default()], disks: disk("sdc"), ..RunReport::default() };
    let result = merged(&[host("a", simple.clone()), host("b", staged)]);
    let names = |stage: &StageReport| stage.disks.iter().map(|disk| disk.name.clone()).collect::<Vec<_>>();
    assert_eq!(result.stages.iter().map(names).collect::<Vec<_>>(), [vec!["a:sdc", "b:sda"], vec!["b:sdb"]]);
    assert!(merged(&[host("a", simple)]).stages.is_empty());
}

#[test]
fn slices_and_idleness_are_those_of_the_hosts() {
    let report = |reads: &[u64], system_percent| RunReport {
        slices: Some(SliceReport {
            slices: reads.iter().map(|&reads| Slice { reads, above: [1, 0, 0] }).collect(),
            ..SliceReport::default()
        }),
        idleness: Some(IdlenessReport {
            system_percent,
            per_cpu_percent: vec![1.0],
            unit_mean_us: 3.0,
            unit_stddev_us: 1.0,
        }),
        ..RunReport::default()
    };
    let hosts = [host("a", report(&[10, 20], 10.0)), host("b", report(&[1], 30.0))];
    let result = merged(&hosts);
    let slices = result.slices.expect("there are some");
    assert_eq!(slices.slices, [Slice { reads: 11, above: [2, 0, 0] }, Slice { reads: 20, above: [1, 0, 0] }]);
    assert!(!slices.is_interrupted && !slices.has_failed_jobs);
    let idleness = result.idleness.expect("it was asked for");
    assert_eq!(
        (idleness.system_percent, idleness.per_cpu_percent.len(), idleness.unit_mean_us),
        (20.0, 0, 3.0)
    );
    let lost = HostRunReport {
        end: HostEnd::Lost { reason: String::new(), snapshot_ms: None },
        ..host("c", RunReport::default())
    };
    assert!(
        merged(&[hosts.to_vec(), vec![lost]].concat()).slices.is_some_and(|slices| slices.is_interrupted)
    );
}

#[test]
fn an_interval_has_an_entry_for_each_job() {
    let report = |names: &[&str], number| RunReport {
        jobs: names
            .iter()
            .map(|&name| JobReport { name: name.into(), clones: 1, ..JobReport::default() })
            .collect(),
        interval: Some(IntervalReport {
            number,
            start_us: number,
            end_us: 100 * number,
            is_last: number == 2,
            jobs: names
                .iter()
                .map(|&name| IntervalJob { name: name.into(), clones_restarted: 1, ..Default::default() })
                .collect(),
            ..IntervalReport::default()
        }),
        ..RunReport::default()
    };
    let lost = HostEnd::Lost { reason: String::new(), snapshot_ms: Some(1) };
    let hosts = [
        HostRunReport { end: lost, ..host("a", report(&["x", "y"], 9)) },
        host("b", report(&["y"], 2)),
        host("c", report(&["y", "z"], 1)),
    ];
    let result = merged(&hosts);
    let interval = result.interval.expect("there is one");
    let jobs: Vec<(&str, u32)> = interval.jobs.iter().map(|job| (&*job.name, job.clones_restarted)).collect();
    assert_eq!(jobs, [("x", 0), ("y", 2), ("z", 1)]);
    assert_eq!((interval.number, interval.start_us, interval.end_us, interval.is_last), (2, 1, 200, false));
    assert_eq!(result.jobs.iter().map(|job| job.clones).collect::<Vec<_>>(), [1, 3, 1]);
}

#[test]
fn a_steady_state_is_that_of_one_host() {
    let report = |names: &[&str]| RunReport {
        jobs: names
            .iter()
            .map(|&name| JobReport {
                name: name.into(),
                steady_state: Some(Default::default()),
                ..JobReport::default()
            })
            .collect(),
        ..RunReport::default()
    };
    let result = merged(&[host("a", report(&["x", "y"])), host("b", report(&["y"]))]);
    assert_eq!(result.jobs.iter().map(|job| job.steady_state.is_some()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn the_skew_is_that_of_those_that_started() {
    let started = |skew_ns, bound_ns| HostRunReport {
        start_skew_ns: skew_ns,
        clock: ClockReport { after: Some(ClockOffset { offset_ns: 5, bound_ns }), ..ClockReport::default() },
        ..HostRunReport::default()
    };
    let hosts =
        [started(Some(-4000), 70), started(Some(1000), 90), started(Some(2000), 80), started(None, 20)];
    let skew = StartSkew { median_ns: 2000, largest_ns: 4000, clock_bound_ns: Some(90) };
    assert_eq!(start_skew(&hosts), Some(skew));
    assert_eq!(start_skew(&hosts[3..]), None);
}
