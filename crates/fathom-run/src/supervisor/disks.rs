//! What the kernel counts for the block devices below the files, from sysfs: reading it never touches the device.

use crate::region::WorkerBlock;
use fathom_spec::JobSpec;
use fathom_stats::report::DiskReport;
use fathom_sys::clock::monotonic_ns;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// The devices of a run and their counters at its start.
#[derive(Default)]
pub(super) struct DiskWatch {
    disks: Vec<Disk>,
}

struct Disk {
    directory: PathBuf,
    name: String,
    before: Counters,
    since_ns: u64,
    members: Vec<Disk>,
}

/// The first eleven fields of a `stat` file, see Documentation/block/stat.rst.
#[derive(Clone, Copy, Default)]
struct Counters {
    fields: [u64; 11],
}

impl DiskWatch {
    /// Adds the devices that a worker found below its files.
    pub(super) fn add(&mut self, block: &WorkerBlock, job: &JobSpec) {
        if !job.measurement.disk_util {
            return;
        }
        for device in
            block.devices.iter().map(|device| device.load(Relaxed)).take_while(|&device| device != 0)
        {
            let Some(directory) = directory_of(device) else { continue };
            if !self.disks.iter().any(|disk| disk.directory == directory) {
                self.disks.extend(Disk::open(directory));
            }
        }
    }

    /// Where sysfs tells about them.
    pub(super) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.disks.iter().map(|disk| disk.directory.as_path())
    }

    /// What was counted since.
    pub(super) fn report(&self) -> Vec<DiskReport> {
        self.disks.iter().filter_map(Disk::report).collect()
    }
}

/// The sysfs directory of a device number; for a partition, that of its disk.
fn directory_of(device: u64) -> Option<PathBuf> {
    let link = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    let directory = fs::canonicalize(link).ok()?;
    if directory.join("partition").exists() {
        directory.parent().map(Path::to_path_buf)
    } else {
        Some(directory)
    }
}

impl Disk {
    fn open(directory: PathBuf) -> Option<Disk> {
        let members = fs::read_dir(directory.join("slaves"))
            .map(|entries| {
                entries
                    .flatten()
                    .filter_map(|entry| Disk::open(fs::canonicalize(entry.path()).ok()?))
                    .collect()
            })
            .unwrap_or_default();
        Some(Disk {
            name: directory.file_name()?.to_string_lossy().into_owned(),
            before: Counters::read(&directory)?,
            since_ns: monotonic_ns(),
            directory,
            members,
        })
    }

    fn report(&self) -> Option<DiskReport> {
        let now = Counters::read(&self.directory)?;
        let delta = |field: usize| now.fields[field].wrapping_sub(self.before.fields[field]);
        let elapsed_ms = (monotonic_ns() - self.since_ns) as f64 / 1e6;
        let busy = delta(9) as f64 / elapsed_ms.max(1.0) * 100.0;
        Some(DiskReport {
            name: self.name.clone(),
            ios: [delta(0), delta(4)],
            merges: [delta(1), delta(5)],
            sectors: [delta(2), delta(6)],
            ticks_ms: [delta(3), delta(7)],
            in_queue_ms: delta(10),
            util_percent: busy.min(100.0),
            members: self.members.iter().filter_map(Disk::report).collect(),
        })
    }
}

impl Counters {
    fn read(directory: &Path) -> Option<Counters> {
        let text = fs::read_to_string(directory.join("stat")).ok()?;
        let mut counters = Counters::default();
        for (place, word) in counters.fields.iter_mut().zip(text.split_whitespace()) {
            *place = word.parse().ok()?;
        }
        Some(counters)
    }
}
