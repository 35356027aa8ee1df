//! `below-device`: a stacked device reported more reads than the devices below it. The remaining reads did not
//! reach a disk: they were of blocks that had never been written, or a cache served them.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures;
use fathom_results::model::DiskResult;

/// Share of the reads below which most of them did not reach the devices below.
const MOST: f64 = 0.5;
/// Minimum difference in sectors that is reported.
const LEAST_SECTORS: u64 = 2048;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let disks: Vec<&DiskResult> = evidence.disks().collect();
    let tops = || disks.iter().filter(|disk| !disk.is_member);
    tops().filter_map(|disk| of_disk(disk, &disks).or_else(|| of_loop(evidence, disk))).collect()
}

/// Finds a loop device that reported more reads than the whole disk that holds its file.
fn of_loop(evidence: &Evidence<'_>, top: &DiskResult) -> Option<Found> {
    let facts = evidence.run.facts.as_ref()?.devices.iter().find(|device| device.name == top.name)?;
    let below = facts.read_below_bytes?;
    // Reads of holes have their own check.
    if evidence.run.facts.iter().flat_map(|facts| &facts.holes).any(|holes| holes.device == top.name) {
        return None;
    }
    let own = top.read_sectors.saturating_mul(512);
    if top.read_sectors < LEAST_SECTORS || below as f64 >= MOST * own as f64 {
        return None;
    }
    let host = evidence.run.host.as_ref();
    let files = host.iter().flat_map(|host| &host.devices).flat_map(|device| &device.loop_files);
    // Files in memory have their own check.
    let file = files.into_iter().find(|file| file.device == top.name);
    let name = file.map_or_else(|| "its file".to_owned(), |file| file.file.clone());
    let found = Found::new(
        Severity::Doubtful,
        format!(
            "{} read {}, but the disk that holds {name} read only {} in total: holes of that file, or its page cache, answered the rest",
            top.name,
            figures::size(own),
            figures::size(below)
        ),
        "write the whole device first, and measure the disk itself",
    );
    let evidence = [("device_bytes", own as f64), ("below_bytes", below as f64)];
    Some(found.in_direction(0).with(&evidence).weighing(own as f64 / below.max(1) as f64))
}

fn of_disk(top: &DiskResult, all: &[&DiskResult]) -> Option<Found> {
    let below: Vec<&&DiskResult> =
        all.iter().filter(|disk| disk.is_member && top.below.contains(&disk.name)).collect();
    let is_right_below =
        |disk: &&&&DiskResult| !below.iter().any(|between| between.below.contains(&disk.name));
    let parts: Vec<&&&DiskResult> = below.iter().filter(is_right_below).collect();
    let sectors: u64 = parts.iter().map(|disk| disk.read_sectors).sum();
    if parts.is_empty()
        || top.read_sectors < LEAST_SECTORS
        || sectors as f64 >= MOST * top.read_sectors as f64
    {
        return None;
    }
    let names: Vec<&str> = parts.iter().map(|disk| disk.name.as_str()).collect();
    let (own, theirs) = (top.read_sectors.saturating_mul(512), sectors.saturating_mul(512));
    let found = Found::new(
        Severity::Doubtful,
        format!(
            "{} read {}, but {} below it only {}: blocks that were never written, or a cache between them",
            top.name,
            figures::size(own),
            names.join(", "),
            figures::size(theirs)
        ),
        "write the whole device first, then read it",
    );
    let evidence = [("device_bytes", own as f64), ("below_bytes", theirs as f64)];
    Some(found.in_direction(0).with(&evidence).weighing(own as f64 / theirs.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn reads_that_never_come_down_are_told() {
        let of = |below: u32| {
            let disks = format!(
                r#""disk_util":[{{"name":"dm-1","read_ios":90,"read_sectors":80000,"aggr_read_ios":9,"aggr_write_ios":0}},
                {{"name":"sda","read_ios":9,"read_sectors":{below}}}]"#
            );
            of_job(find, &run("", r#""read":{"total_ios":1,"io_bytes":1}"#, &disks))
        };
        is_told(&of(100), Severity::Doubtful, "dm-1 read 39.1 MiB, but sda below it only 50 KiB");
        assert_eq!(of(80_000), []);
        let of_loop = |below: &str| {
            let more = format!(
                r#""disk_util":[{{"name":"loop0","read_ios":90,"read_sectors":80000}}],
                "fathom facts":{{"devices":[{{"name":"loop0","counts_io":true{below}}}]}}"#
            );
            of_job(find, &run("", r#""read":{"total_ios":1,"io_bytes":1}"#, &more))
        };
        is_told(
            &of_loop(r#","read_below_bytes":4096"#),
            Severity::Doubtful,
            "loop0 read 39.1 MiB, but the disk that holds",
        );
        assert_eq!((of_loop(r#","read_below_bytes":99000000"#), of_loop("")), (Vec::new(), Vec::new()));
        let plain = r#""disk_util":[{"name":"sda","read_ios":9,"read_sectors":80000}]"#;
        assert_eq!(of_job(find, &run("", "", plain)), []);
    }
}
