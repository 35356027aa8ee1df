//! `in-memory`: the files were in memory, or on a device that is not a disk, so no disk was measured.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::evidence::mounts::Mount;
use crate::explain::is_memory_device;
use fathom_results::RunResult;
use fathom_results::model::DeviceReport;

pub(super) fn find(run: &RunResult) -> Vec<Found> {
    let Some(host) = &run.host else { return Vec::new() };
    let mut found = Vec::new();
    let mut kinds =
        host.file_systems.iter().filter(|system| matches!(system.kind.as_str(), "tmpfs" | "ramfs"));
    if let Some(system) = kinds.next() {
        found.push(Found::new(
            Severity::Doubtful,
            format!(
                "this file system is in memory ({} at {}): no disk was measured",
                system.kind, system.directory
            ),
            "use a directory on the storage to measure",
        ));
    } else if run.disk_util.is_empty() && has_files(run) && Mount::of_run(run).is_none() {
        found.push(Found::new(
            Severity::Note,
            "the kernel has no block device counters for this file system, so the figures cannot be checked against a device",
            "",
        ));
    }
    found.extend(host.devices.iter().filter_map(of_device));
    found
}

/// True if a job moved data in files on the machine.
fn has_files(run: &RunResult) -> bool {
    let host_has = run.host.as_ref().is_some_and(|host| !host.file_systems.is_empty());
    host_has && Evidence::all(run).iter().any(|job| job.is_on_this_machine() && !job.job.active().is_empty())
}

/// True for file systems without a disk.
fn is_in_memory(kind: &str) -> bool {
    matches!(kind, "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs")
}

/// Finds devices that are not disks.
fn of_device(device: &DeviceReport) -> Option<Found> {
    let name = &device.name;
    if let Some(file) = device.loop_files.iter().find(|file| is_in_memory(&file.kind)) {
        let on =
            if file.device == *name { String::new() } else { format!("{name} is on {}, and ", file.device) };
        return Some(Found::new(
            Severity::Doubtful,
            format!(
                "{on}{} is a file in memory ({} on {}): no disk was measured",
                file.device, file.file, file.kind
            ),
            "use a device on the storage to measure",
        ));
    }
    if let Some(below) = device.below.iter().find(|below| is_memory_device(below)) {
        return Some(Found::new(
            Severity::Doubtful,
            format!("{name} is on {below}, which is in memory: no disk was measured"),
            "",
        ));
    }
    let is_loop =
        name.strip_prefix("loop").is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()));
    if is_loop {
        return Some(Found::new(
            Severity::Note,
            format!(
                "{name} is a file on another file system: its page cache may have answered instead of the disk"
            ),
            "",
        ));
    }
    is_memory_device(name)
        .then(|| Found::new(Severity::Doubtful, format!("{name} is in memory: no disk was measured"), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, run, told};

    #[test]
    fn devices_that_are_no_disks() {
        let of = |host: &str| {
            told(find(&run(
                "",
                r#""read":{"total_ios":1,"io_bytes":1}"#,
                &format!("\"fathom host\":{{{host}}}"),
            )))
        };
        let device = |name: &str| format!(r#""devices":[{{"name":"{name}"}}]"#);
        is_told(&of(&device("loop0")), Severity::Note, "another file system");
        is_told(&of(&device("zram1")), Severity::Doubtful, "in memory");
        let with = |name: &str, more: &str| format!(r#""devices":[{{"name":"{name}",{more}}}]"#);
        let file =
            |kind: &str| format!(r#""loop_files":[{{"device":"loop3","file":"/x/i","kind":"{kind}"}}]"#);
        is_told(
            &of(&with("loop3", &file("tmpfs"))),
            Severity::Doubtful,
            "loop3 is a file in memory (/x/i on tmpfs)",
        );
        is_told(
            &of(&with("dm-0", &file("tmpfs"))),
            Severity::Doubtful,
            "dm-0 is on loop3, and loop3 is a file in memory",
        );
        is_told(&of(&with("loop3", &file("ext4"))), Severity::Note, "another file system");
        is_told(
            &of(&with("md0", r#""below":["sda","ram1"]"#)),
            Severity::Doubtful,
            "md0 is on ram1, which is in memory",
        );
        assert_eq!((of(&device("nvme0n1")), of(&device("loopy"))), (Vec::new(), Vec::new()));
        let system = |kind: &str| format!(r#""file_systems":[{{"directory":"/d","kind":"{kind}"}}]"#);
        is_told(&of(&system("tmpfs")), Severity::Doubtful, "this file system is in memory");
        is_told(&of(&system("zfs")), Severity::Note, "no block device counters");
    }
}
