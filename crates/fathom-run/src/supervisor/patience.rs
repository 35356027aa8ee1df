//! How long the supervisor waits for a worker that should have ended, and what it looks at meanwhile.

use super::progress::{Closer, Look};
use super::{Observer, Supervisor, disks, stack};
use crate::mounts::{mount_of_device, mounts};
use crate::region::{Stage, WorkerBlock};
use crate::unit::Unit;
use fathom_sys::task::Task;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

/// I/O that makes no progress for so long after the end of its job is given up.
const PATIENCE_NS: u64 = 30_000_000_000;
/// The same once the user has asked for the end.
const PATIENCE_AFTER_SIGNAL_NS: u64 = 10_000_000_000;
/// A device that has been slow before is not stuck for being slow again: it has this many times its longest latency.
const LATENCY_FACTOR: u64 = 4;
/// But not longer than this for that reason.
const LONGEST_FOR_LATENCY_NS: u64 = 300_000_000_000;
/// What is queued gets the time that it takes at this rate, in bytes a second: that of slow memory cards and links.
const SLOWEST_RATE: u64 = 1 << 20;
/// But not longer than this for that reason.
const LONGEST_FOR_QUEUE_NS: u64 = 3_600_000_000_000;

impl<O: Observer> Supervisor<'_, O> {
    /// Since when a worker should have ended, monotonic ns: its run time is over, or it was told to stop.
    pub(super) fn overdue_since(&mut self, index: usize, now: u64) -> Option<u64> {
        let block = self.region.worker(index);
        let deadline = block.deadline_ns.load(Relaxed);
        let by_time = (deadline != 0 && now > deadline && block.stage() >= Stage::Ready).then_some(deadline);
        let tracked = &mut self.tracked[index];
        if block.should_stop() {
            tracked.told_to_stop_ns.get_or_insert(now);
        }
        [by_time, tracked.told_to_stop_ns].into_iter().flatten().min()
    }

    /// What is to be seen of a worker now.
    pub(super) fn look_at(&mut self, index: usize, closely: bool) -> Look {
        let devices = if closely { self.device_counters(index) } else { 0 };
        let block = self.region.worker(index);
        let (ended, stage) = (ended(block), block.stage());
        let closer = closely.then(|| Closer {
            task: Task::look(block.pid.load(Relaxed), block.thread_id.load(Relaxed)),
            devices,
            logs: self.region.logs().map_or(0, |logs| logs.progress()),
            in_flight: self.region.units(index).iter().any(Unit::is_in_flight),
        });
        Look { ended, stage, closer }
    }

    /// How long a worker may wait without anything moving.
    pub(super) fn patience_ns(&self, index: usize) -> u64 {
        let usual = if self.signal.is_some() { PATIENCE_AFTER_SIGNAL_NS } else { PATIENCE_NS };
        let own =
            self.options.patience.map_or(usual, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let block = self.region.worker(index);
        let latencies = block.samples.directions.iter().map(|direction| direction.clat.max_ns());
        let longest = latencies.chain([block.samples.sync.max_ns()]).max().unwrap_or(0);
        let for_latency = longest.saturating_mul(LATENCY_FACTOR).min(LONGEST_FOR_LATENCY_NS);
        let for_queue = (self.queued_bytes(index) as u128 * 1_000_000_000 / u128::from(SLOWEST_RATE))
            .min(u128::from(LONGEST_FOR_QUEUE_NS)) as u64;
        own.max(for_latency).max(for_queue)
    }

    /// Bytes that a worker waits for: those in flight, and in its final sync what it wrote that may still be in memory.
    /// Where a device can be watched, the sync itself needs no such allowance.
    fn queued_bytes(&self, index: usize) -> u64 {
        let in_flight = self.region.units(index).iter().filter(|unit| unit.is_in_flight());
        let of_units: u64 =
            in_flight.map(|unit| u64::from(unit.length() - unit.done().min(unit.length()))).sum();
        let block = self.region.worker(index);
        let is_watched = self.tracked[index].devices.as_ref().is_some_and(|devices| !devices.is_empty());
        if block.stage() != Stage::FinalSync || is_watched {
            return of_units;
        }
        let written = block.samples.directions[1].bytes.load(Relaxed);
        of_units.saturating_add(written.min(unwritten_bytes()))
    }

    /// A number that changes whenever a device below a worker's files has done something.
    fn device_counters(&mut self, index: usize) -> u64 {
        let block = self.region.worker(index);
        let devices = self.tracked[index].devices.get_or_insert_with(|| devices_below(block));
        devices.iter().map(|directory| counters(directory)).fold(0, u64::wrapping_add)
    }
}

/// I/Os of a worker that have ended, of any kind.
fn ended(block: &WorkerBlock) -> u64 {
    let moved = block.samples.directions.iter().map(|direction| direction.completed.load(Relaxed));
    moved.sum::<u64>() + block.samples.sync.count() + block.verification.checked_reads.load(Relaxed)
}

/// Directories of sysfs of all devices that a worker's files lie on, those below other devices included.
fn devices_below(block: &WorkerBlock) -> Vec<PathBuf> {
    let mounts = mounts();
    let mut found: Vec<PathBuf> = Vec::new();
    for number in block.devices.iter().map(|device| device.load(Relaxed)).take_while(|&number| number != 0) {
        // A file system over several devices has a number of its own; its mount names one of them.
        let own = disks::directory_of(number).or_else(|| {
            let name = mount_of_device(&mounts, number)?.report.source.strip_prefix("/dev/")?.to_owned();
            disks::disk_of(&PathBuf::from("/sys/class/block").join(name))
        });
        let Some(own) = own else { continue };
        let below =
            stack::below(&own, &mounts).into_iter().map(|name| PathBuf::from("/sys/class/block").join(name));
        found.extend(below);
        found.push(own);
    }
    found
}

/// Sum of what only grows when I/O ends: numbers and sectors of reads, writes, discards and flushes. Times in the queue grow
/// while a device hangs, too (Documentation/block/stat.rst).
fn counters(directory: &std::path::Path) -> u64 {
    const OF_ENDED_IO: [usize; 9] = [0, 1, 2, 4, 5, 6, 11, 13, 15];
    let text = fs::read_to_string(directory.join("stat")).unwrap_or_default();
    let fields: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    OF_ENDED_IO.iter().filter_map(|&field| fields.get(field)).fold(0, |sum, value| sum.wrapping_add(*value))
}

/// Bytes in the machine's memory that are still to be written to some device.
fn unwritten_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let of = |line: &str| {
        let value =
            ["Dirty:", "Writeback:", "NFS_Unstable:"].iter().find_map(|key| line.strip_prefix(key))?;
        value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    text.lines().filter_map(of).sum::<u64>() << 10
}
