//! The kernel's counters of the block devices below the files, read from sysfs, which never touches the device.

use super::stack::{self, disk_of};
use crate::mounts::mounts;
use fathom_stats::facts::DeviceFacts;
use fathom_stats::live::LiveDisk;
use fathom_stats::report::DiskReport;
use fathom_sys::block_device::members;
use fathom_sys::clock::monotonic_ns;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of a sector in the kernel's counters, whatever the device's sector size.
const SECTOR: u64 = 512;

/// The devices of a run and their counters at its start.
#[derive(Default)]
pub(super) struct DiskWatch {
    disks: Vec<Disk>,
}

struct Disk {
    directory: PathBuf,
    name: String,
    /// The time at which the device was first seen.
    start: Moment,
    /// The time at which the first job that uses this device started in the current stage; `None` if none has.
    stage_start: Option<Moment>,
    /// The time of the last query by a live view.
    last_look: Moment,
    members: Vec<Disk>,
    /// For a loop device: the disk that holds its file, and its counters at the start.
    below_loop: Option<(PathBuf, Counters)>,
}

/// Counters and the time of their reading.
#[derive(Clone, Copy)]
struct Moment {
    counters: Counters,
    monotonic_ns: u64,
}

/// The fields of a `stat` file, see Documentation/block/stat.rst. Older kernels provide only the first eleven.
#[derive(Clone, Copy, Default)]
struct Counters {
    fields: [u64; 17],
    /// Number of fields.
    count: usize,
}

/// Indices of sectors read, sectors trimmed, and flushes.
const READ_SECTORS: usize = 2;
const TRIMMED_SECTORS: usize = 13;
const FLUSHES: usize = 15;

impl DiskWatch {
    /// Adds devices by their kernel numbers (`dev_t`).
    pub(super) fn add(&mut self, devices: impl IntoIterator<Item = u64>) {
        for device in devices {
            let Some(directory) = directory_of(device) else { continue };
            match self.disks.iter_mut().find(|disk| disk.directory == directory) {
                Some(disk) => disk.begin_stage(),
                None => self.disks.extend(Disk::open(directory)),
            }
        }
    }

    /// The sysfs directories of the watched devices.
    pub(super) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.disks.iter().map(|disk| disk.directory.as_path())
    }

    /// The change of each device's counters since the start.
    pub(super) fn report(&self) -> Vec<DiskReport> {
        self.disks.iter().filter_map(|disk| disk.report(&|disk| Some(disk.start))).collect()
    }

    /// Counters since the first job of the finished stage began, for the devices that the stage used.
    pub(super) fn end_stage(&mut self) -> Vec<DiskReport> {
        let found = self.disks.iter().filter_map(|disk| disk.report(&|disk| disk.stage_start)).collect();
        self.disks.iter_mut().for_each(Disk::end_stage);
        found
    }

    /// Further statistics settings of the kernel for each device, such as whether I/O accounting is enabled.
    pub(super) fn facts(&self) -> Vec<DeviceFacts> {
        self.disks.iter().filter_map(Disk::facts).collect()
    }

    /// The change of the counters since the last call. Member devices follow the array or volume that they
    /// belong to.
    pub(super) fn look(&mut self) -> Vec<LiveDisk> {
        let mut found = Vec::new();
        for disk in &mut self.disks {
            disk.look(false, &mut found);
        }
        found
    }
}

/// The sysfs directory of a device number; for a partition, that of its disk.
pub(super) fn directory_of(device: u64) -> Option<PathBuf> {
    let link = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    disk_of(Path::new(&link))
}

impl Disk {
    fn open(directory: PathBuf) -> Option<Disk> {
        let members = members(&directory).filter_map(Disk::open).collect();
        let start = Moment::now(&directory)?;
        let is_loop = directory.join("loop").exists();
        let below_loop = is_loop.then(|| stack::disk_below_loop(&directory, &mounts())).flatten();
        Some(Disk {
            below_loop: below_loop.and_then(|disk| Some((disk.clone(), Counters::read(&disk)?))),
            name: directory.file_name()?.to_string_lossy().into_owned(),
            start,
            stage_start: Some(start),
            last_look: start,
            directory,
            members,
        })
    }

    fn look(&mut self, is_member: bool, found: &mut Vec<LiveDisk>) {
        let Some(now) = Moment::now(&self.directory) else { return };
        let before = std::mem::replace(&mut self.last_look, now);
        let span_ns = now.monotonic_ns.saturating_sub(before.monotonic_ns).max(1);
        let per_second = |field: usize, unit: u64| {
            let amount = u128::from(now.counters.since(&before.counters, field)) * u128::from(unit);
            (amount * 1_000_000_000 / u128::from(span_ns)) as u64
        };
        found.push(LiveDisk {
            name: self.name.clone(),
            is_member,
            util_percent: now.busy_percent_since(&before),
            iops: [per_second(0, 1), per_second(4, 1)],
            bytes_per_second: [per_second(2, SECTOR), per_second(6, SECTOR)],
        });
        for member in &mut self.members {
            member.look(true, found);
        }
    }

    fn begin_stage(&mut self) {
        if self.stage_start.is_none() {
            self.stage_start = Moment::now(&self.directory);
        }
        self.members.iter_mut().for_each(Disk::begin_stage);
    }

    fn end_stage(&mut self) {
        self.stage_start = None;
        self.members.iter_mut().for_each(Disk::end_stage);
    }

    fn facts(&self) -> Option<DeviceFacts> {
        let now = Counters::read(&self.directory)?;
        let since = |field: usize| (field < now.count).then(|| now.since(&self.start.counters, field));
        let counts = fs::read_to_string(self.directory.join("queue/iostats"));
        // Some drivers never count, even if `iostats` is enabled: with NVMe multipath, the paths count instead
        // of the head device.
        let has_counted = now.fields[0] + now.fields[4] > 0;
        Some(DeviceFacts {
            name: self.name.clone(),
            counts_io: has_counted && counts.is_ok_and(|text| text.trim() != "0"),
            flushes: since(FLUSHES),
            trimmed_bytes: since(TRIMMED_SECTORS).map(|sectors| sectors * SECTOR),
            read_below_bytes: self
                .below_loop
                .as_ref()
                .and_then(|(disk, before)| Some(Counters::read(disk)?.since(before, READ_SECTORS) * SECTOR)),
        })
    }

    /// The change of the counters since the moment that `since` selects.
    fn report(&self, since: &dyn Fn(&Disk) -> Option<Moment>) -> Option<DiskReport> {
        let start = since(self)?;
        let now = Moment::now(&self.directory)?;
        let delta = |field: usize| now.counters.since(&start.counters, field);
        Some(DiskReport {
            name: self.name.clone(),
            ios: [delta(0), delta(4)],
            merges: [delta(1), delta(5)],
            sectors: [delta(2), delta(6)],
            ticks_ms: [delta(3), delta(7)],
            in_queue_ms: delta(10),
            util_percent: now.busy_percent_since(&start),
            members: self.members.iter().filter_map(|member| member.report(since)).collect(),
        })
    }
}

impl Moment {
    fn now(directory: &Path) -> Option<Moment> {
        Some(Moment { counters: Counters::read(directory)?, monotonic_ns: monotonic_ns() })
    }

    fn busy_percent_since(&self, before: &Moment) -> f64 {
        let elapsed_ms = self.monotonic_ns.saturating_sub(before.monotonic_ns) as f64 / 1e6;
        let busy = self.counters.since(&before.counters, 9) as f64 / elapsed_ms.max(1.0) * 100.0;
        busy.min(100.0)
    }
}

impl Counters {
    fn since(&self, before: &Counters, field: usize) -> u64 {
        self.fields[field].wrapping_sub(before.fields[field])
    }

    fn read(directory: &Path) -> Option<Counters> {
        let text = fs::read_to_string(directory.join("stat")).ok()?;
        let mut counters = Counters::default();
        for (place, word) in counters.fields.iter_mut().zip(text.split_whitespace()) {
            *place = word.parse().ok()?;
            counters.count += 1;
        }
        Some(counters)
    }
}
