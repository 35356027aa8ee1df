//! External signs of a worker's progress: its thread in `/proc`, the devices below its files in `/sys`, the log writer.
//! Reading them never touches a target.

use super::{LocalCrew, disks, stack};
use crate::crew::{SignsOfLife, Stage};
use crate::mounts::{mount_of_device, mounts};
use crate::region::WorkerBlock;
use crate::unit::Unit;
use fathom_stats::Direction;
use fathom_sys::task::Task;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

impl LocalCrew<'_> {
    /// See [`Crew::signs_of_life`](crate::crew::Crew::signs_of_life).
    pub(super) fn look_for_life(&mut self, index: usize) -> SignsOfLife {
        let devices = self.device_counters(index);
        let block = self.region.worker(index);
        SignsOfLife {
            task: Task::look(block.pid.load(Relaxed), block.thread_id.load(Relaxed)),
            devices,
            logs: self.region.logs().map_or(0, |logs| logs.progress()),
            in_flight: self.region.units(index).iter().any(Unit::is_in_flight),
        }
    }

    /// See [`Crew::awaited_bytes`](crate::crew::Crew::awaited_bytes). A sync on an observable device counts as
    /// 0 bytes, because the device's counters already show its progress.
    pub(super) fn bytes_awaited_by(&self, index: usize) -> u64 {
        let in_flight = self.region.units(index).iter().filter(|unit| unit.is_in_flight());
        let of_units: u64 =
            in_flight.map(|unit| u64::from(unit.length() - unit.done().min(unit.length()))).sum();
        let block = self.region.worker(index);
        let is_watched = self.members[index].devices.as_ref().is_some_and(|devices| !devices.is_empty());
        if block.stage() != Stage::FinalSync || is_watched {
            return of_units;
        }
        let written = block.samples.directions[Direction::Write].bytes.load(Relaxed);
        of_units.saturating_add(written.min(unwritten_bytes()))
    }

    /// A number that changes with any activity on a device below the worker's files.
    fn device_counters(&mut self, index: usize) -> u64 {
        let block = self.region.worker(index);
        let devices = self.members[index].devices.get_or_insert_with(|| devices_below(block));
        devices.iter().map(|directory| counters(directory)).fold(0, u64::wrapping_add)
    }
}

/// sysfs directories of all devices below a worker's files, including those below other devices.
fn devices_below(block: &WorkerBlock) -> Vec<PathBuf> {
    let mounts = mounts();
    let mut found: Vec<PathBuf> = Vec::new();
    for number in block.devices() {
        // A file system over several devices has its own device number, which no block device has; its mount
        // names one of the devices.
        let own = disks::directory_of(number).or_else(|| {
            let name = mount_of_device(&mounts, number)?.report.source.strip_prefix("/dev/")?.to_owned();
            stack::disk_of(&PathBuf::from("/sys/class/block").join(name))
        });
        let Some(own) = own else { continue };
        let below =
            stack::below(&own, &mounts).into_iter().map(|name| PathBuf::from("/sys/class/block").join(name));
        found.extend(below);
        found.push(own);
    }
    found
}

/// Sum of the counters that grow only when I/O completes: requests and sectors of reads, writes, discards and
/// flushes. Queue times are left out, because they grow even while a device hangs
/// (Documentation/block/stat.rst).
fn counters(directory: &std::path::Path) -> u64 {
    const OF_ENDED_IO: [usize; 9] = [0, 1, 2, 4, 5, 6, 11, 13, 15];
    let text = fs::read_to_string(directory.join("stat")).unwrap_or_default();
    let fields: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    OF_ENDED_IO.iter().filter_map(|&field| fields.get(field)).fold(0, |sum, value| sum.wrapping_add(*value))
}

/// Dirty bytes in memory, summed over all devices of the machine.
fn unwritten_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let of = |line: &str| {
        let value =
            ["Dirty:", "Writeback:", "NFS_Unstable:"].iter().find_map(|key| line.strip_prefix(key))?;
        value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    text.lines().filter_map(of).sum::<u64>() << 10
}
