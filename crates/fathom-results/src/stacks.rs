//! Determines which devices of a result are stacked on which others, so that I/O is not counted at every level.
//! fathom reports the stacking of devices that hold files. fio lists the members of an md or dm device after it
//! without a mark, but prints their averages, which show how many of the following entries are members.

use crate::model::{DiskResult, HostReport, RunResult};

/// Marks stacked devices in all device lists.
pub(crate) fn find(result: &mut RunResult) {
    let host = result.host.as_ref();
    for disks in result.stages.iter_mut().map(|stage| &mut stage.disk_util).chain([&mut result.disk_util]) {
        find_members(disks);
        if let Some(host) = host {
            apply(host, disks);
        }
        mark_repeated(disks);
    }
}

/// Finds members by the order of the list and the averages.
fn find_members(disks: &mut [DiskResult]) {
    let mut at = 0;
    while at < disks.len() {
        at = end_of_stack(disks, at);
    }
}

/// Consumes the entry, its members, and the devices below those; returns the position of the next entry.
fn end_of_stack(disks: &mut [DiskResult], top: usize) -> usize {
    let (Some(reads), Some(writes)) = (disks[top].aggr_read_ios, disks[top].aggr_write_ios) else {
        return top + 1;
    };
    let (mut at, mut members, mut sums) = (top + 1, 0, [0; 2]);
    // The printed average may be truncated or rounded.
    let fits = |sum: u64, members: u64, average: f64| (sum as f64 / members as f64 - average).abs() < 1.0;
    while at < disks.len() {
        sums = [sums[0] + disks[at].read_ios, sums[1] + disks[at].write_ios];
        members += 1;
        at = end_of_stack(disks, at);
        if fits(sums[0], members, reads) && fits(sums[1], members, writes) {
            break;
        }
    }
    for member in top + 1..at {
        disks[member].is_member = true;
        let name = disks[member].name.clone();
        disks[top].below.push(name);
    }
    at
}

/// Applies the machine's own report, which is more reliable than the averages.
fn apply(host: &HostReport, disks: &mut [DiskResult]) {
    for disk in disks {
        match host.devices.iter().find(|device| device.name == disk.name) {
            Some(device) => {
                disk.is_member = false;
                if !device.below.is_empty() {
                    disk.below.clone_from(&device.below);
                }
            }
            None => disk.is_member = true,
        }
    }
}

/// Marks a device that is listed twice, because it holds files and is also a member of another device.
fn mark_repeated(disks: &mut [DiskResult]) {
    for at in 1..disks.len() {
        let (before, rest) = disks.split_at_mut(at);
        let own = &mut rest[0];
        own.is_member |= before.iter().any(|disk| {
            !disk.is_member && (&disk.name, &disk.host, disk.port) == (&own.name, &own.host, own.port)
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    fn told(disks: &str, more: &str) -> Vec<(String, bool, String)> {
        let run = parse(&format!(r#"{{"fio version":"fio-3.42","disk_util":[{disks}]{more}}}"#), "text")
            .expect("reads");
        let of_disk = |disk: crate::model::DiskResult| (disk.name, disk.is_member, disk.below.join(" "));
        run.disk_util.into_iter().map(of_disk).collect()
    }

    fn entry(name: &str, is_member: bool, below: &str) -> (String, bool, String) {
        (name.to_owned(), is_member, below.to_owned())
    }

    #[test]
    fn members_follow_their_device() {
        let disks = r#"{"name":"md0","read_ios":30,"write_ios":8,"aggr_read_ios":15,"aggr_write_ios":8},
            {"name":"dm-0","read_ios":10,"write_ios":8,"aggr_read_ios":10,"aggr_write_ios":8},
            {"name":"sda","read_ios":10,"write_ios":8},{"name":"sdb","read_ios":21,"write_ios":8},{"name":"sdc","read_ios":7}"#;
        let found = [
            entry("md0", false, "dm-0 sda sdb"),
            entry("dm-0", true, "sda"),
            entry("sda", true, ""),
            entry("sdb", true, ""),
            entry("sdc", false, ""),
        ];
        assert_eq!(told(disks, ""), found);
    }

    #[test]
    fn the_machine_knows_its_own() {
        let host = r#","fathom host":{"devices":[{"name":"dm-0","below":["sda2","sda"]},{"name":"sda"}]}"#;
        let disks = r#"{"name":"dm-0","aggr_read_ios":1,"aggr_write_ios":1},{"name":"sda2"},{"name":"sda"},{"name":"sda"}"#;
        let found = [
            entry("dm-0", false, "sda2 sda"),
            entry("sda2", true, ""),
            entry("sda", false, ""),
            entry("sda", true, ""),
        ];
        assert_eq!(told(disks, host), found);
    }
}
