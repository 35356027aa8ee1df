//! `reads-missing` and `writes-missing`: by the kernel's counters, the devices moved fewer bytes than the jobs.
//! A cache served the rest, or blocks were read that had never been written.

use super::{Found, MANY, Severity};
use crate::evidence::{DeviceShare, Evidence};
use crate::figures;

/// Share below which part of the I/O bypassed the device.
const PARTLY: f64 = 0.9;
/// Share of direct I/O below which the devices did hardly any of it.
const HARDLY: f64 = 0.1;
/// Minimum difference in bytes; smaller ones may be due to merged requests or to requests that are not counted
/// yet.
const LEAST_BYTES: u64 = 1 << 20;
/// File systems that pass all direct I/O on to one device, so that I/O which the device did not count did not
/// happen.
const PASSING_ON: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "f2fs"];

pub(super) fn reads(evidence: &Evidence<'_>) -> Vec<Found> {
    find(evidence, 0)
}

pub(super) fn writes(evidence: &Evidence<'_>) -> Vec<Found> {
    find(evidence, 1)
}

fn find(evidence: &Evidence<'_>, direction: usize) -> Vec<Found> {
    // Without separate counters, and on clients of network file systems, other checks compare other figures.
    if evidence.shares_counters() || evidence.mount().is_some() || !counts(evidence) {
        return Vec::new();
    }
    // `verify_only` counts writes that it skips, so the device cannot have done them.
    if direction == 1 && evidence.skips_writes() {
        return Vec::new();
    }
    let Some(share) = evidence.share_of_storage(direction) else { return Vec::new() };
    if share.ratio() >= PARTLY || share.job_bytes < LEAST_BYTES {
        return Vec::new();
    }
    let is_direct = evidence.neighbours().all(|job| evidence.of_job(job).is_direct());
    let severity = match is_direct && share.ratio() < HARDLY && is_passed_on(evidence) {
        true => Severity::Wrong,
        false => Severity::Doubtful,
    };
    let text = format!(
        "the jobs' {} moved {}, the devices only {}: {}",
        MANY[direction],
        figures::size(share.job_bytes),
        figures::size(share.device_bytes),
        reason(evidence, direction, is_direct, share)
    );
    let found = Found::new(severity, text, advice(evidence, direction, is_direct)).in_direction(direction);
    let figures = [("job_bytes", share.job_bytes as f64), ("device_bytes", share.device_bytes as f64)];
    vec![found.with(&figures).weighing(1.0 - share.ratio())]
}

/// True if the kernel counts the devices' I/O. A result that does not say so is assumed to have counters.
fn counts(evidence: &Evidence<'_>) -> bool {
    let devices = evidence.run.facts.iter().flat_map(|facts| &facts.devices);
    devices.into_iter().all(|device| device.counts_io)
}

/// True if every byte of the jobs' direct I/O goes to a listed device, as far as the result shows. Only then
/// does missing device I/O prove missing I/O.
fn is_passed_on(evidence: &Evidence<'_>) -> bool {
    let (Some(host), Some(_)) = (&evidence.run.host, &evidence.run.facts) else { return false };
    let passes = |kind: &str, options: &str| {
        PASSING_ON.contains(&kind) && !options.split(',').any(|option| option.starts_with("dax"))
    };
    let is_listed = |name: &str| host.devices.iter().any(|device| device.name == name);
    // Other paths in /dev, such as /dev/zero or a symbolic link, may not lead to disks.
    let is_told = |target: &str| match target.strip_prefix("/dev/") {
        Some(name) => is_listed(name),
        None => !host.file_systems.is_empty(),
    };
    let targets = evidence.neighbours().filter_map(|job| evidence.run.option(job, "filename"));
    let mut names = targets.flat_map(|names| names.split(':'));
    names.all(is_told)
        && !host.devices.is_empty()
        && host.file_systems.iter().all(|system| passes(&system.kind, &system.options))
        && evidence.neighbours().all(|job| evidence.run.option(job, "read_iolog").is_none())
}

fn reason(evidence: &Evidence<'_>, direction: usize, is_direct: bool, share: DeviceShare) -> String {
    match (direction, is_direct) {
        (0, false) => "the page cache in memory answered the rest".to_owned(),
        (0, true) => {
            "with direct I/O, the usual causes are blocks that were never written, or a cache above the device"
                .to_owned()
        }
        (_, true) => "something above the device kept or shrank the rest".to_owned(),
        (_, false) => {
            let dirty =
                evidence.run.facts.as_ref().map(|facts| {
                    facts.memory.dirty_after_bytes.saturating_sub(facts.memory.dirty_before_bytes)
                });
            let left = share.job_bytes - share.device_bytes.min(share.job_bytes);
            match dirty.filter(|&dirty| dirty > left / 2) {
                Some(dirty) => format!("{} still waited in memory when the run ended", figures::size(dirty)),
                None => "the rest was overwritten in memory, or still waited there".to_owned(),
            }
        }
    }
}

fn advice(evidence: &Evidence<'_>, direction: usize, is_direct: bool) -> &'static str {
    let is_synced =
        ["end_fsync", "fsync_on_close"].iter().any(|option| evidence.run.is_set(evidence.job, option));
    match (direction, is_direct) {
        (0, true) => "write the whole file or device first, then read it",
        (0, false) => "direct=1 measures the device",
        (_, true) => "compare with a run on the device itself, and with data that cannot be compressed",
        (_, false) if is_synced => "direct=1 measures the device",
        (_, false) => "direct=1 measures the device, and end_fsync=1 includes the time to write it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    const FACTS: &str = r#""fathom facts":{"devices":[{"name":"sda","counts_io":true}]}"#;

    /// A result of a job that read 8 MiB of a file, with this many sectors read from the device.
    fn after(options: &str, kind: &str, sectors: u64, facts: &str) -> Vec<(Severity, String)> {
        let more = format!(
            r#""disk_util":[{{"name":"sda","read_ios":9,"read_sectors":{sectors}}}],
            "fathom host":{{"devices":[{{"name":"sda"}}],"file_systems":[{{"directory":"/","kind":"{kind}","options":"rw"}}]}},{facts}"#
        );
        of_job(reads, &run(options, r#""read":{"total_ios":9,"io_bytes":8388608}"#, &more))
    }

    #[test]
    fn caches_and_holes_are_told_apart() {
        let direct = r#""direct":"1""#;
        is_told(
            &after("", "ext4", 20, FACTS),
            Severity::Doubtful,
            "the page cache in memory answered the rest",
        );
        is_told(
            &after(direct, "ext4", 20, FACTS),
            Severity::Wrong,
            "8 MiB, the devices only 10 KiB: with direct",
        );
        // Half of the reads missing proves nothing, because a compressing file system reads less.
        is_told(&after(direct, "ext4", 8192, FACTS), Severity::Doubtful, "never written");
        is_told(&after(direct, "btrfs", 20, FACTS), Severity::Doubtful, "never written");
        assert_eq!(after(direct, "ext4", 16384, FACTS), []);
        assert_eq!(after("", "ext4", 30000, FACTS), []);
    }

    #[test]
    fn what_is_not_counted_is_not_held_against_a_result() {
        let direct = r#""direct":"1""#;
        assert_eq!(after(direct, "ext4", 20, &FACTS.replace("true", "false")), []);
        let null = r#""direct":"1","filename":"/dev/zero:data""#;
        is_told(&after(null, "ext4", 20, FACTS), Severity::Doubtful, "never written");
        is_told(&after(direct, "ext4", 20, r#""x":1"#), Severity::Doubtful, "never written");
    }

    #[test]
    fn what_waits_in_memory_is_told() {
        let of = |options: &str, dirty: u64, sectors: u64| {
            let more = format!(
                r#""disk_util":[{{"name":"sda","write_ios":1,"write_sectors":{sectors}}}],
                "fathom facts":{{"memory":{{"dirty_after_bytes":{dirty}}},"devices":[{{"name":"sda","counts_io":true}}]}}"#
            );
            of_job(writes, &run(options, r#""write":{"total_ios":9,"io_bytes":8388608}"#, &more))
        };
        is_told(&of("", 8 << 20, 2), Severity::Doubtful, "8 MiB still waited in memory");
        is_told(&of("", 0, 2), Severity::Doubtful, "overwritten in memory");
        assert_eq!(of("", 8 << 20, 16384), []);
        // The job counts these writes, but skips them.
        assert_eq!(of(r#""verify_only":"""#, 0, 0), []);
    }
}
