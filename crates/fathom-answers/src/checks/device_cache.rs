//! `device-cache`: written data may still be in the volatile cache of the device, because nothing flushed it.

use super::{Found, Severity};
use crate::evidence::Evidence;
use fathom_stats::Direction;

/// Options that make the job flush the device.
const FLUSHING: [&str; 7] =
    ["fsync", "fdatasync", "end_fsync", "fsync_on_close", "sync", "sync_file_range", "write_barrier"];

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let (Some(host), false) = (&evidence.run.host, evidence.run.hosts.is_some()) else { return Vec::new() };
    let writes: u64 = evidence.neighbours().map(|job| job.io_bytes(Direction::Write)).sum();
    let disks: Vec<&str> = evidence.disks().map(|disk| disk.name.as_str()).collect();
    let caching = host
        .devices
        .iter()
        .filter(|device| device.write_cache.contains("back") && disks.contains(&device.name.as_str()));
    // The kernel's count of flushes is the best evidence; without it, the options decide.
    let flushes = |name: &str| {
        let devices = evidence.run.facts.iter().flat_map(|facts| &facts.devices);
        devices.into_iter().find(|device| device.name == name)?.flushes
    };
    let is_asked = evidence.neighbours().any(|job| {
        FLUSHING.iter().any(|option| {
            evidence.run.option(job, option).is_some_and(|value| !matches!(value.trim(), "0" | "none"))
        })
    });
    let kept: Vec<&str> = caching
        .filter(|device| flushes(&device.name).map_or(!is_asked, |count| count == 0))
        .map(|device| device.name.as_str())
        .collect();
    if writes == 0 || kept.is_empty() || evidence.skips_writes() {
        return Vec::new();
    }
    let found = Found::new(
        Severity::Note,
        format!(
            "{} has a volatile write cache (write back), and nothing flushed it: a part of the writes may have been fast only because \
             they were not on the disk yet",
            kept.join(", ")
        ),
        "end_fsync=1 includes one flush, sync=1 or fdatasync=1 one per write",
    );
    vec![found.with(&[("written_bytes", writes as f64)]).in_direction(1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn caches_that_are_not_flushed_are_told() {
        let of = |options: &str, cache: &str, facts: &str| {
            let more = format!(
                r#""disk_util":[{{"name":"sda","write_ios":1,"write_sectors":8}}],
                "fathom host":{{"devices":[{{"name":"sda","write_cache":"{cache}"}}]}}{facts}"#
            );
            of_job(find, &run(options, r#""write":{"total_ios":1,"io_bytes":4096}"#, &more))
        };
        let counted =
            |flushes: u32| format!(r#","fathom facts":{{"devices":[{{"name":"sda","flushes":{flushes}}}]}}"#);
        is_told(&of("", "write back", ""), Severity::Note, "sda has a volatile write cache");
        is_told(&of(r#""end_fsync":"1""#, "write back", &counted(0)), Severity::Note, "sda has");
        assert_eq!(of(r#""end_fsync":"1""#, "write back", ""), []);
        assert_eq!(of("", "write back", &counted(3)), []);
        assert_eq!(of("", "write through", ""), []);
    }
}
