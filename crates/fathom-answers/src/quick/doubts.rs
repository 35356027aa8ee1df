//! Why a figure of `quick` is doubtful, in plain sentences.

use super::grid::Test;
use crate::evidence::mounts::{Mount, Passage};
use crate::evidence::{Evidence, device_share, whole_latency_ns};
use crate::explain::is_memory_device;
use crate::figures;
use fathom_results::model::QuickDoubt;

/// Below this share of the requested depth, a test is not what it claims.
const DEPTH_REACHED: f64 = 0.75;
/// From this share of a processor on, percent, the tester may have been the limit.
const PROCESSOR_FULL: f64 = 90.0;
/// If the device moved less than this share of what the tests moved, a cache helped.
const DEVICE_SHARE: f64 = 0.9;
/// A device that moved more than this also had other work.
const OTHERS_SHARE: f64 = 1.25;
/// From this share of the time that I/Os took in the device on, percent, others disturbed a test.
const OTHERS_TIME: f64 = 30.0;
/// A device below this, percent, was idle for most of a test.
const HARDLY_BUSY: f64 = 40.0;
/// Below this share of an I/O's time, the device is not where it went; shorter waits, ns, are those of every I/O.
const DEVICE_TIME: f64 = 0.25;
const LEAST_WAIT_NS: f64 = 200_000.0;
/// A submission below this, ns, only hands an I/O over.
const LEAST_SUBMISSION_NS: f64 = 10_000.0;

/// A doubt of a kind; if several tests share a kind, the heaviest one represents them all.
fn doubt(kind: &str, weight: f64, text: String) -> QuickDoubt {
    QuickDoubt { kind: kind.to_owned(), weight, text }
}

/// The doubts about one test.
pub(super) fn of_test(test: &Test, evidence: &Evidence<'_>) -> Vec<QuickDoubt> {
    let mut doubts = Vec::new();
    if evidence.job.error != 0 {
        doubts.push(doubt("failed", 1.0, format!("it failed with error {}", evidence.job.error)));
    }
    doubts.extend(of_course(test, evidence));
    let above = above_the_device(test, evidence);
    if let Some(reached) = evidence.depth_reached()
        && reached < DEPTH_REACHED * f64::from(test.depth)
    {
        doubts.push(doubt(
            "depth",
            f64::from(test.depth) / reached.max(0.01),
            format!(
                "the queue depth was {1} on average instead of {0}, so this is the figure of a smaller depth",
                test.depth,
                figures::three_figures(reached)
            ),
        ));
    }
    doubts.extend(above);
    doubts.extend(in_submission(test, evidence));
    if let Some(wait) = evidence.processor_wait() {
        if wait.is_worth_telling() {
            let text =
                format!("the job {}: measure on an idle machine to see what the storage can do", wait.told());
            doubts.push(doubt("processor wait", wait.share, text));
        }
        if wait.is_stolen_from() {
            doubts.push(doubt("stolen", wait.stolen, format!("the {}", wait.told_of_stolen())));
        }
    }
    let (user, system) = evidence.processor();
    if user + system >= PROCESSOR_FULL {
        doubts.push(doubt(
            "processor",
            user + system,
            format!(
                "the tester used {} of a CPU, so the storage may be faster than this",
                figures::percent(user + system)
            ),
        ));
    }
    doubts
}

/// How the rate changed over time.
fn of_course(test: &Test, evidence: &Evidence<'_>) -> Option<QuickDoubt> {
    let trend = evidence.trend(test.direction)?;
    let (first, last) = (figures::bandwidth(trend.first), figures::bandwidth(trend.last));
    if trend.fell() {
        return Some(doubt(
            "falling",
            trend.first / trend.last.max(1.0),
            format!(
                "the rate fell from {first} to {last} during the test: throttling, or a full device cache; \
                 a longer --time shows where it settles"
            ),
        ));
    }
    let rose = format!(
        "the rate was still rising, from {first} to {last}: warming up; a longer --time shows where it settles"
    );
    trend.rose().then(|| doubt("rising", trend.last / trend.first.max(1.0), rose))
}

/// The call that should only submit an I/O waits for it, so that completion latencies leave the wait out.
fn in_submission(test: &Test, evidence: &Evidence<'_>) -> Option<QuickDoubt> {
    let direction = evidence.job.directions()[test.direction]?;
    let (slat, clat) = (direction.slat.mean_ns, direction.clat.mean_ns);
    (slat >= LEAST_SUBMISSION_NS && slat > clat).then(|| {
        doubt(
            "submission",
            slat / clat.max(1.0),
            format!(
                "submitting an I/O took {} on average, its completion only {} after that: the percentiles leave most of the wait out",
                figures::duration(slat),
                figures::duration(clat)
            ),
        )
    })
}

/// What limited the test above the device: known limits, kernel threads without a CPU, others on the device, or something that
/// shows only in the time that I/Os spent outside the device.
fn above_the_device(test: &Test, evidence: &Evidence<'_>) -> Option<QuickDoubt> {
    if let Some(limited) = evidence.io_limited() {
        return Some(doubt(
            "io limit",
            1.0,
            format!("{}: the figure shows the limit, not the storage", limited.told()),
        ));
    }
    if let Some(throttled) = evidence.throttled() {
        return Some(doubt("cpu limit", throttled.share(), throttled.told()));
    }
    let util = evidence.busiest_device().map(|device| (device.name.as_str(), device.util));
    if let Some(others) = evidence.other_io().filter(|others| others.time_share >= OTHERS_TIME) {
        return Some(doubt("others", others.time_share, format!("the device did {}", others.told())));
    }
    let idle = util.filter(|(_, util)| *util < HARDLY_BUSY);
    let wait = evidence.processor_wait().filter(|wait| wait.is_machine_full());
    if let (Some((name, util)), Some(wait)) = (idle, wait) {
        return Some(doubt(
            "starved kernel",
            wait.others,
            format!(
                "{name} was busy for only {} of the time while {}: kernel threads that pass I/O on waited for a CPU",
                figures::percent(util),
                wait.told_of_others()
            ),
        ));
    }
    let latency = whole_latency_ns(evidence.job.directions()[test.direction]?);
    let device = evidence.device_ns_at_most(test.direction)?;
    let is_held = evidence.is_direct() && device < DEVICE_TIME * latency && latency - device > LEAST_WAIT_NS;
    is_held.then(|| {
        doubt(
            "above",
            latency / device.max(1.0),
            format!(
                "each I/O took {}, of which at most {} in the device: something above the device held it back (a limit that is not \
                 visible here, the file system, or the machine)",
                figures::duration(latency),
                figures::duration(device)
            ),
        )
    })
}

/// The doubts about the whole run.
pub(super) fn of_run(evidence: &Evidence<'_>, is_direct: bool) -> Vec<String> {
    let mut doubts = Vec::new();
    if !is_direct {
        doubts.push(
            "this file system has no direct I/O: the figures show the page cache in memory, not a disk"
                .to_owned(),
        );
    }
    for (direction, name) in ["reads", "writes"].into_iter().enumerate() {
        let Some(share) = device_share(evidence.run, direction).filter(|_| is_direct) else { continue };
        let amounts = (figures::size(share.job_bytes), figures::size(share.device_bytes));
        if share.ratio() < DEVICE_SHARE {
            doubts.push(format!(
                "cached: the tests' {name} moved {}, the device {}; a cache above the device answered the rest",
                amounts.0, amounts.1
            ));
        }
        if share.ratio() > OTHERS_SHARE {
            let why = match direction {
                0 => "others used it",
                _ => "others used it, or write amplification in the file system",
            };
            doubts.push(format!(
                "the device moved {} but the tests' {name} only {}: {why}",
                amounts.1, amounts.0
            ));
        }
    }
    let systems = evidence.run.host.iter().flat_map(|host| &host.file_systems);
    if systems.into_iter().any(|system| matches!(system.kind.as_str(), "tmpfs" | "ramfs")) {
        doubts.push("this file system is in memory: no disk was measured".to_owned());
    } else if let Some(mount) = Mount::of_run(evidence.run) {
        doubts.extend(of_mount(evidence, &mount, is_direct));
    } else if evidence.run.disk_util.is_empty() {
        doubts.push(
            "the kernel has no block device counters for this file system, so the figures cannot be checked against a device"
                .to_owned(),
        );
    }
    doubts.extend(
        evidence.run.host.iter().flat_map(|host| &host.devices).filter_map(|device| of_device(&device.name)),
    );
    doubts.extend(evidence.run.notes.iter().cloned());
    doubts
}

/// A file system of a server or in user space: what the figures are of, and which cache may have answered.
fn of_mount(evidence: &Evidence<'_>, mount: &Mount<'_>, is_direct: bool) -> Vec<String> {
    let client = mount.client();
    let mut doubts = vec![match &mount.system.transport {
        Some(transport) => format!(
            "{} is a file system of a server: the figures are those of {client}, the network ({transport}) and the server together",
            mount.system.kind
        ),
        None => format!(
            "{} is a file system in user space: the figures are those of {client} and what it uses",
            mount.system.kind
        ),
    }];
    let passages: Vec<Passage> = [0, 1]
        .into_iter()
        .filter_map(|direction| {
            let bytes = evidence.run.jobs.iter().map(|job| [&job.read, &job.write][direction].io_bytes);
            mount.passage(bytes.sum(), direction).filter(|passage| passage.network_bytes.is_some())
        })
        .collect();
    let cached: Vec<String> = passages
        .iter()
        .filter(|passage| mount.may_keep_data() && passage.stayed_partly(DEVICE_SHARE))
        .filter_map(|passage| {
            Some(format!("the tests' {}, and {}", passage.of_jobs(), passage.of_network()?))
        })
        .collect();
    if !cached.is_empty() {
        doubts.push(format!(
            "cached: {}; a cache on this machine took the rest. {}",
            cached.join("; "),
            mount.caches().trim_end_matches('.')
        ));
    }
    let is_known = !mount.is_in_user_space() || !passages.is_empty();
    if is_direct && !is_known {
        doubts.push(format!(
            "direct I/O passes by the page cache, but it is up to {client} what it means below: a cache of its own may have answered"
        ));
    }
    doubts
}

/// Devices that are not disks.
fn of_device(name: &str) -> Option<String> {
    let begins = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    if begins("loop") {
        return Some(format!(
            "{name} is a file on another file system: its page cache may have answered instead of the disk"
        ));
    }
    is_memory_device(name).then(|| format!("{name} is in memory: no disk was measured"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_seen_over_all_stages() {
        let text = r#"{"fio version":"fio-3.42","jobs":[{"jobname":"a","groupid":0,"read":{"total_ios":1,"io_bytes":4096}},
            {"jobname":"b","groupid":1,"write":{"total_ios":1,"io_bytes":8192}}],
            "disk_util":[{"name":"sda","read_sectors":8,"write_sectors":2}],"fathom host":{"devices":[{"name":"sda"}]},
            "fathom stages":[{"groups":[0],"disk_util":[{"name":"sda","read_sectors":8}]},
            {"groups":[1],"disk_util":[{"name":"sda","write_sectors":2}]}]}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        let doubts = of_run(&Evidence::of(&run, 0), true);
        assert!(
            doubts.iter().any(|doubt| doubt.contains("writes moved 8 KiB, the device 1 KiB")),
            "{doubts:?}"
        );
    }

    /// A test at depth 1 whose reads took 2 ms each.
    fn doubts_of(device_ticks: u64, surroundings: &str) -> Vec<(String, String)> {
        let text = format!(
            r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"read-rand-4k-d1","job_runtime":2000,
            "job options":{{"direct":"1","rw":"randread"}},
            "read":{{"total_ios":1000,"io_bytes":4096000,"iops":500,"runtime":2000,"bw_bytes":2048000,"lat_ns":{{"mean":2000000}}}}}}],
            "disk_util":[{{"name":"sda","read_ios":1000,"read_sectors":8000,"read_ticks":{device_ticks},"util":1.0}}],
            "fathom host":{{"processors":2}},"fathom jobs":[{{"jobname":"read-rand-4k-d1","processor_wait_ms":0{surroundings}}}]}}"#
        );
        let run = fathom_results::parse(&text, "text").expect("reads");
        let test = super::super::grid::TESTS[3];
        of_test(&test, &Evidence::of(&run, 0)).into_iter().map(|doubt| (doubt.kind, doubt.text)).collect()
    }

    #[test]
    fn what_holds_back_above_the_device_is_marked() {
        assert_eq!(doubts_of(1900, ""), []);
        let unseen = doubts_of(16, "");
        assert!(
            unseen[0].0 == "above" && unseen[0].1.contains("2.00 ms, of which at most 16.0 µs in the device"),
            "{unseen:?}"
        );
        let idle = r#","processors":{"user_ms":10,"busy_ms":40,"stolen_ms":0,"total_ms":4000}"#;
        let limit =
            r#","limits":{"io":[{"group":"/g","device":"sda","read_ios_per_second":500,"read_ios":1000}]}"#;
        let seen = doubts_of(16, &format!("{idle}{limit}"));
        assert!(seen[0].0 == "io limit" && seen[0].1.contains("io.max riops=500"), "{seen:?}");
        let full = r#","processors":{"user_ms":3900,"busy_ms":4000,"stolen_ms":0,"total_ms":4000}"#;
        let starved = doubts_of(16, full);
        assert!(starved[0].0 == "starved kernel" && starved[0].1.contains("1.95 of 2 CPUs"), "{starved:?}");
    }

    #[test]
    fn devices_that_are_no_disks() {
        assert!(of_device("loop0").is_some_and(|doubt| doubt.contains("another file system")));
        assert!(of_device("zram1").is_some_and(|doubt| doubt.contains("memory")));
        assert_eq!((of_device("nvme0n1"), of_device("sda"), of_device("loopy")), (None, None, None));
    }
}
