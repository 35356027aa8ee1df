//! What makes a figure of `quick` doubtful, in plain sentences.

use super::grid::Test;
use crate::evidence::{Evidence, device_share};
use crate::figures;

/// Below this share of the depth asked for, a test was not what it says.
const DEPTH_REACHED: f64 = 0.75;
/// From this share of a processor on, percent, the tester may have been the limit.
const PROCESSOR_FULL: f64 = 90.0;
/// A device that moved less than this of what the tests moved had help from a cache.
const DEVICE_SHARE: f64 = 0.9;
/// A device that moved more than this had other work, too.
const OTHERS_SHARE: f64 = 1.25;

/// The doubts about one test.
pub(super) fn of_test(test: &Test, evidence: &Evidence<'_>) -> Vec<String> {
    let mut doubts = Vec::new();
    if evidence.job.error != 0 {
        doubts.push(format!("it failed with error {}", evidence.job.error));
    }
    if let Some(trend) = evidence.trend(test.direction) {
        let (first, last) = (figures::bandwidth(trend.first), figures::bandwidth(trend.last));
        if trend.fell() {
            doubts.push(format!(
                "the rate fell from {first} to {last} during the test: throttled, or a cache of the device filled up; \
                 a longer --time shows where it ends"
            ));
        }
        if trend.rose() {
            doubts.push(format!(
                "the rate was still rising, from {first} to {last}: warming up; a longer --time shows where it ends"
            ));
        }
    }
    if let Some(reached) = evidence.depth_reached()
        && reached < DEPTH_REACHED * f64::from(test.depth)
    {
        doubts.push(format!(
            "depth {} was asked for and {} reached on average, so this is the figure of a smaller depth",
            test.depth,
            figures::three_figures(reached)
        ));
    }
    if let Some(wait) = evidence.processor_wait() {
        if wait.is_worth_telling() {
            doubts.push(format!(
                "the tester was {}: an idle machine shows what the storage can do",
                wait.told()
            ));
        }
        if wait.is_stolen_from() {
            doubts.push(format!("the {}", wait.told_of_stolen()));
        }
    }
    let (user, system) = evidence.processor();
    if user + system >= PROCESSOR_FULL {
        doubts.push(format!(
            "the tester used {} of a processor, so the storage may be faster than this",
            figures::percent(user + system)
        ));
    }
    doubts
}

/// The doubts about all of it.
pub(super) fn of_run(evidence: &Evidence<'_>, is_direct: bool) -> Vec<String> {
    let mut doubts = Vec::new();
    if !is_direct {
        doubts.push(
            "this file system has no direct I/O: the figures are those of the page cache in memory, not of a disk".to_owned(),
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
                _ => "others used it, or the file system writes more than it is given",
            };
            doubts.push(format!(
                "the device moved {} where the tests' {name} moved {}: {why}",
                amounts.1, amounts.0
            ));
        }
    }
    let systems = evidence.run.host.iter().flat_map(|host| &host.file_systems);
    if systems.into_iter().any(|system| matches!(system.kind.as_str(), "tmpfs" | "ramfs")) {
        doubts.push("this file system lives in memory: no disk was measured".to_owned());
    } else if evidence.run.disk_util.is_empty() {
        doubts.push(
            "the kernel counts no block device below this file system, so nothing can be compared with it"
                .to_owned(),
        );
    }
    doubts.extend(
        evidence.run.host.iter().flat_map(|host| &host.devices).filter_map(|device| of_device(&device.name)),
    );
    doubts.extend(evidence.run.notes.iter().cloned());
    doubts
}

/// Devices that are no disks.
fn of_device(name: &str) -> Option<String> {
    let begins = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    if begins("loop") {
        return Some(format!(
            "{name} is a file of another file system: memory may have answered for the disk below it"
        ));
    }
    ["zram", "ram", "brd", "nullb"]
        .into_iter()
        .any(begins)
        .then(|| format!("{name} lives in memory: no disk was measured"))
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

    #[test]
    fn devices_that_are_no_disks() {
        assert!(of_device("loop0").is_some_and(|doubt| doubt.contains("another file system")));
        assert!(of_device("zram1").is_some_and(|doubt| doubt.contains("memory")));
        assert_eq!((of_device("nvme0n1"), of_device("sda"), of_device("loopy")), (None, None, None));
    }
}
