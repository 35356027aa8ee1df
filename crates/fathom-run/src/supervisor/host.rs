//! What machine this is, and what devices and file systems the files of a run lie on: from /proc and /sys alone, which
//! never touches a target.

use super::{Observer, Supervisor, stack};
use crate::files::names;
use crate::plan::moves_no_data;
use fathom_stats::host::{DeviceReport, FileSystemReport, HostReport};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// A line of /proc/self/mountinfo, see proc_pid_mountinfo(5).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Its device number, `8:1`.
    pub(super) device: String,
    report: FileSystemReport,
}

impl<O: Observer> Supervisor<'_, O> {
    /// The machine and the storage of this run.
    pub(super) fn host(&self) -> HostReport {
        HostReport {
            devices: self.disks.directories().filter_map(|directory| device(directory, &mounts())).collect(),
            file_systems: self.file_systems(),
            ..machine()
        }
    }

    fn file_systems(&self) -> Vec<FileSystemReport> {
        let mounts = mounts();
        let current = std::env::current_dir().unwrap_or_default();
        let mut found: Vec<FileSystemReport> = Vec::new();
        for (index, worker) in self.plan.workers.iter().enumerate() {
            let job = self.plan.job_of(worker);
            if worker.diskless || moves_no_data(job) {
                continue;
            }
            let paths = names::planned_paths(worker, job);
            // The text of a path decides: asking the file itself might hang.
            let by_path = paths.iter().filter_map(|path| mount_of(&mounts, &current.join(path)));
            // Files below /proc lie elsewhere; the worker has told on which device.
            let devices = self.region.worker(index).devices.iter().map(|device| device.load(Relaxed));
            let of_device = |device| mounts.iter().find(|mount| mount.is_on(device));
            let mut below: Vec<&Mount> = by_path.filter(|mount| mount.report.kind != "devtmpfs").collect();
            if below.iter().any(|mount| mount.report.kind == "proc") {
                below = devices.take_while(|&device| device != 0).filter_map(of_device).collect();
            }
            for mount in below {
                if !found.contains(&mount.report) {
                    found.push(mount.report.clone());
                }
            }
        }
        found
    }
}

impl Mount {
    fn is_on(&self, device: u64) -> bool {
        self.device == format!("{}:{}", libc::major(device), libc::minor(device))
    }
}

fn machine() -> HostReport {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let line = |path: &str| text(path).trim().to_owned();
    let processors = text("/proc/cpuinfo");
    HostReport {
        name: line("/proc/sys/kernel/hostname"),
        kernel: format!("{} {}", line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease")),
        processor: value_after(&processors, "model name").unwrap_or_default(),
        processors: std::thread::available_parallelism().map_or(0, |count| count.get() as u32),
        memory_bytes: value_after(&text("/proc/meminfo"), "MemTotal")
            .and_then(|value| value.trim_end_matches("kB").trim().parse::<u64>().ok())
            .map_or(0, |kib| kib << 10),
        ..HostReport::default()
    }
}

/// The value of the first line `key : value`.
fn value_after(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn device(directory: &Path, mounts: &[Mount]) -> Option<DeviceReport> {
    let text = |name: &str| fs::read_to_string(directory.join(name)).unwrap_or_default().trim().to_owned();
    let scheduler = text("queue/scheduler");
    let chosen = scheduler.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Some(DeviceReport {
        name: directory.file_name()?.to_string_lossy().into_owned(),
        model: text("device/model"),
        size_bytes: text("size").parse::<u64>().unwrap_or(0) * 512,
        rotational: text("queue/rotational") == "1",
        scheduler: chosen.map_or("", |(chosen, _)| chosen).to_owned(),
        write_cache: text("queue/write_cache"),
        below: stack::below(directory, mounts),
    })
}

fn mounts() -> Vec<Mount> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let device = place.next()?.to_owned();
    let directory = plain(place.nth(1)?);
    let options = place.next()?;
    let mut kind = kind.split(' ');
    Some(Mount {
        device,
        report: FileSystemReport {
            directory,
            kind: kind.next()?.to_owned(),
            source: plain(kind.next()?),
            options: format!("{options} {}", kind.next().unwrap_or_default()).trim_end().to_owned(),
        },
    })
}

/// Blanks and backslashes are written as octal numbers.
fn plain(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, character)| text.replace(code, character))
}

/// The mount that a path lies on: the longest prefix, and of several mounts on one directory the last.
pub(super) fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let holds = |mount: &&Mount| path.starts_with(&mount.report.directory);
    mounts.iter().filter(holds).max_by_key(|mount| mount.report.directory.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_their_mount() {
        let text = "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard\n\
                    40 22 259:3 / /mnt/fast\\040disk rw,noatime shared:7 master:2 - xfs /dev/nvme0n1p3 rw,attr2\n\
                    41 22 0:5 / /proc rw - proc proc rw";
        let mounts: Vec<Mount> = text.lines().filter_map(parse_mount).collect();
        let kind = |path: &str| mount_of(&mounts, Path::new(path)).map(|mount| mount.report.kind.clone());
        assert_eq!(kind("/mnt/fast disk/data/file").as_deref(), Some("xfs"));
        assert_eq!(kind("/mnt/fast disks").as_deref(), Some("ext4"));
        assert_eq!(kind("/proc/self/fd/3").as_deref(), Some("proc"));
        assert_eq!(mounts[1].report.options, "rw,noatime rw,attr2");
        assert_eq!(mounts[1].device, "259:3");
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let host = machine();
        assert!(host.kernel.starts_with("Linux "), "{host:?}");
        assert!(host.memory_bytes > 1 << 20 && host.processors > 0, "{host:?}");
    }
}
