//! The machine of the workers, and the devices and file systems that hold their files: read only from /proc and
//! /sys, which never touches a target. Also the parts of the machine that a run changes or measures: control
//! groups and processor idleness.

use super::disks::directory_of;
use super::facts::FactWatch;
use super::spawn::become_child;
use super::{LocalCrew, identity, stack};
use crate::crew::{GroupFailure, IdlenessError, Machine};
use crate::exhausted;
use crate::files::names;
use crate::idleness::IdleProcess;
use crate::mounts::{Daemon, Mount, mount_of, mount_of_device, mounts};
use fathom_errors::plain;
use fathom_spec::engines::StorageKind;
use fathom_stats::facts::{HoleFacts, RunFacts};
use fathom_stats::host::{DeviceReport, FileSystemReport, HostReport};
use fathom_stats::live::LiveDisk;
use fathom_stats::mounts::MountReport;
use fathom_stats::report::{DiskReport, IdlenessReport};
use fathom_sys::Errno;
use fathom_sys::clock::monotonic_ns;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

impl Machine for LocalCrew<'_> {
    fn make_control_groups(&mut self) -> Vec<GroupFailure> {
        let mut failures = Vec::new();
        for worker in self.plan.workers.iter().filter(|worker| worker.subjob == 0) {
            if let Err(error) = self.groups.make(worker) {
                let (errno, message) = (error.errno, error.message);
                failures.push(GroupFailure { job: worker.job, errno, message });
            }
        }
        failures
    }

    fn remove_control_groups(&mut self) -> Vec<String> {
        let stays = |(path, error): (std::path::PathBuf, std::io::Error)| {
            format!("the control group {} stays: {error}", path.display(), error = plain(&error))
        };
        self.groups.remove().into_iter().map(stays).collect()
    }

    fn measure_idleness(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<(), IdlenessError> {
        let in_child = || become_child(&self.blocked_signals);
        // SAFETY: the owner of a crew promises to have a single thread.
        match unsafe { IdleProcess::start(in_child, interrupted) } {
            Ok(idle) => self.idle = Some(idle),
            Err(Errno(libc::EINTR)) => {}
            Err(Errno(libc::EAGAIN)) => {
                return Err(IdlenessError::NoProcesses { advice: exhausted::processes(Errno(libc::EAGAIN)) });
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn idleness(&self, of_each_processor: bool) -> Option<IdlenessReport> {
        self.idle.as_ref().map(|idle| idle.report(of_each_processor))
    }

    fn watch_disks(&mut self, worker: usize) {
        let block = self.region.worker(worker);
        self.disks.add(block.devices());
        // Device numbers without a block device belong to file systems such as NFS or tmpfs.
        if block.devices().any(|device| libc::major(device) == 0) {
            let mounts = mounts();
            for mount in block.devices().filter_map(|device| mount_of_device(&mounts, device)) {
                self.mounts.add(mount);
            }
        }
    }

    fn disks(&self) -> Vec<DiskReport> {
        self.disks.report()
    }

    fn end_stage_of_disks(&mut self) -> Vec<DiskReport> {
        self.disks.end_stage()
    }

    fn mounts(&self) -> Vec<MountReport> {
        self.mounts.report()
    }

    fn end_stage_of_mounts(&mut self) -> Vec<MountReport> {
        self.mounts.end_stage()
    }

    fn look_at_disks(&mut self) -> Vec<LiveDisk> {
        self.disks.look()
    }

    fn devices_of(&self, worker: usize) -> BTreeSet<String> {
        self.region.worker(worker).devices().filter_map(name_of).collect()
    }

    fn host(&self) -> HostReport {
        let mounts = mounts();
        HostReport {
            devices: self.disks.directories().filter_map(|directory| device(directory, &mounts)).collect(),
            file_systems: self.file_systems(&mounts),
            ..machine()
        }
    }

    fn begin_facts(&mut self) {
        self.facts = Some(FactWatch::begin(self.clock));
        self.stops.begin(monotonic_ns());
    }

    fn look_at_facts(&mut self, late_ns: u64) {
        if let Some(facts) = &mut self.facts {
            facts.look(late_ns);
        }
    }

    fn facts(&self) -> Option<RunFacts> {
        let facts = self.facts.as_ref()?.report(self.disks.facts());
        Some(RunFacts { stops: self.stops.report(monotonic_ns()), holes: self.holes(), ..facts })
    }
}

impl LocalCrew<'_> {
    /// Holes that workers found in the backing files of their loop devices.
    fn holes(&self) -> Vec<HoleFacts> {
        let mut found: Vec<HoleFacts> = Vec::new();
        for (index, worker) in self.plan.workers.iter().enumerate() {
            let Some((device, part_bytes, hole_bytes)) = self.region.worker(index).holes.found() else {
                continue;
            };
            let Some(device) = name_of(device) else { continue };
            // Clones of a job may use the same loop devices, so each device is listed once.
            match found.iter_mut().find(|own| own.job == worker.name && own.device == device) {
                Some(own) => {
                    own.part_bytes += part_bytes;
                    own.hole_bytes += hole_bytes;
                }
                None => found.push(HoleFacts { job: worker.name.clone(), device, part_bytes, hole_bytes }),
            }
        }
        found
    }

    fn file_systems(&self, mounts: &[Mount]) -> Vec<FileSystemReport> {
        let current = std::env::current_dir().unwrap_or_default();
        let mut found: Vec<FileSystemReport> = Vec::new();
        for (index, worker) in self.plan.workers.iter().enumerate() {
            if worker.storage != StorageKind::Files || worker.background.is_some() {
                continue;
            }
            let paths = names::planned_paths(&worker.files.names);
            // The mount is found from the text of the path, because a system call on the file might hang.
            let by_path = paths.iter().filter_map(|path| mount_of(mounts, &current.join(path)));
            let mut below: Vec<&Mount> = by_path.filter(|mount| mount.report.kind != "devtmpfs").collect();
            // Files below /proc, and behind symbolic links to a file system without a device, are on another
            // mount than their path suggests; their mounts are found by the device numbers that the worker has
            // reported.
            let numbers: Vec<u64> = self.region.worker(index).devices().collect();
            let mut by_number: Vec<&Mount> =
                numbers.iter().filter_map(|&number| mount_of_device(mounts, number)).collect();
            if below.iter().any(|mount| mount.report.kind == "proc") {
                below = by_number;
            } else {
                by_number.retain(|mount| {
                    mount.has_no_device() && below.iter().all(|known| known.device != mount.device)
                });
                if !by_number.is_empty() {
                    below.retain(|mount| numbers.iter().any(|&number| mount.is_on(number)));
                    below.append(&mut by_number);
                }
            }
            for mount in below {
                if !found.contains(&mount.report) {
                    found.push(mount.report.clone());
                }
            }
        }
        for system in &mut found {
            system.daemon = self.mounts.daemon(&system.directory).and_then(Daemon::report);
        }
        found
    }
}

/// Kernel name of a block device by its number; that of the disk for a partition.
fn name_of(device: u64) -> Option<String> {
    Some(directory_of(device)?.file_name()?.to_string_lossy().into_owned())
}

fn machine() -> HostReport {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let line = |path: &str| text(path).trim().to_owned();
    let processors = text("/proc/cpuinfo");
    HostReport {
        name: line("/proc/sys/kernel/hostname"),
        kernel: format!("{} {}", line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease")),
        processor: value_after(&processors, "model name").unwrap_or_default(),
        processors: processors_in(&text("/proc/stat")),
        memory_bytes: value_after(&text("/proc/meminfo"), "MemTotal")
            .and_then(|value| value.trim_end_matches("kB").trim().parse::<u64>().ok())
            .map_or(0, |kib| kib << 10),
        ..HostReport::default()
    }
}

/// Number of online processors, regardless of control groups and affinity, from /proc/stat, which has one line
/// per processor.
fn processors_in(stat: &str) -> u32 {
    let number = |line: &str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    stat.lines().filter(|line| number(line)).count() as u32
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
        firmware: identity::firmware(directory),
        serial: identity::serial(directory),
        size_bytes: text("size").parse::<u64>().unwrap_or(0) * 512,
        rotational: text("queue/rotational") == "1",
        scheduler: chosen.map_or("", |(chosen, _)| chosen).to_owned(),
        write_cache: text("queue/write_cache"),
        loop_files: stack::loop_files(directory, mounts),
        below: stack::below(directory, mounts),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_those_of_the_machine() {
        assert_eq!(processors_in("cpu  1 2 3\ncpu0 1 2\ncpu11 3 4\nintr 5\n"), 2);
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let host = machine();
        assert!(host.kernel.starts_with("Linux "), "{host:?}");
        assert!(host.memory_bytes > 1 << 20 && host.processors > 0, "{host:?}");
    }
}
