//! The block devices that a path stands for: a device, its disk if it is a partition, the members of dm and md devices, and what a
//! file system is on. Everything is asked of sysfs and the list of mounts; no device is opened.

use fathom_errors::plain;
use fathom_sys::block_device::members;
use fathom_sys::mount_list::{self, MountLine};
use fathom_trace::Device;
use fathom_trace::side::RecordedDevice;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Levels of devices on devices; more are a loop.
const MOST_LEVELS: usize = 16;

/// Why a path stands for no device.
#[derive(Debug, Error)]
pub enum NoDevice {
    /// It cannot be looked up.
    #[error("{path}: {error}", path = .path.display(), error = plain(.error))]
    Path {
        /// The path.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Its file system has no device.
    #[error("{path} is on {kind}, which is not on a block device of this machine: name the device or a file on it", path = .path.display())]
    NotOnDevice {
        /// The path.
        path: PathBuf,
        /// The type of the file system.
        kind: String,
    },
    /// The kernel does not know the device.
    #[error("{path}: the kernel has no block device {number}: is /sys mounted?", path = .path.display())]
    Unknown {
        /// The path.
        path: PathBuf,
        /// Major and minor number.
        number: String,
    },
    /// Devices on devices without an end.
    #[error("{path}: more than {MOST_LEVELS} levels of devices below it", path = .path.display())]
    TooDeep {
        /// The path.
        path: PathBuf,
    },
}

/// A device below a path, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    directory: PathBuf,
    /// First sector, and the sector after the last.
    sectors: (u64, u64),
}

/// The devices that these paths stand for, each once, by number.
pub fn below(paths: &[PathBuf]) -> Result<Vec<RecordedDevice>, NoDevice> {
    let mut found: BTreeMap<Device, RecordedDevice> = BTreeMap::new();
    for path in paths {
        for part in parts_of(path)? {
            let Some(device) = describe(&part) else { continue };
            // Several ranges of one device are merged into the smallest range that covers them all.
            let known = found.entry(device.device).or_insert_with(|| device.clone());
            known.recorded.0 = known.recorded.0.min(device.recorded.0);
            known.recorded.1 = known.recorded.1.max(device.recorded.1);
        }
    }
    Ok(found.into_values().collect())
}

/// The disk that has this device number, or of which it is a partition, and the first sector of that. Unlike
/// [`below`], it does not descend to the members of dm and md devices. `None` if the kernel does not know it.
pub fn disk_of(device: u64) -> Option<(RecordedDevice, u64)> {
    let directory = fs::canonicalize(format!("/sys/dev/block/{}", numbers(device))).ok()?;
    let part = part_of(directory);
    let whole = Part { sectors: (0, u64::MAX), directory: part.directory };
    Some((describe(&whole)?, part.sectors.0))
}

/// True if this file is on one of the devices: what is written to it is recorded, too.
pub fn holds(devices: &[RecordedDevice], path: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let own = below(&[parent.to_owned()]).unwrap_or_default();
    own.iter().any(|own| devices.iter().any(|device| device.device == own.device))
}

fn parts_of(path: &Path) -> Result<Vec<Part>, NoDevice> {
    let failed = |error| NoDevice::Path { path: path.to_owned(), error };
    let metadata = fs::metadata(path).map_err(failed)?;
    let devices = match metadata.file_type().is_block_device() {
        true => vec![metadata.rdev()],
        false => file_system_devices(path, &metadata)?,
    };
    let mut leaves = Vec::new();
    for device in devices {
        let number = numbers(device);
        let directory = fs::canonicalize(format!("/sys/dev/block/{number}"))
            .map_err(|_| NoDevice::Unknown { path: path.to_owned(), number })?;
        descend(path, directory, 0, &mut leaves)?;
    }
    Ok(leaves)
}

fn numbers(device: u64) -> String {
    format!("{}:{}", libc::major(device), libc::minor(device))
}

/// Adds the devices at the bottom of a stack.
fn descend(path: &Path, directory: PathBuf, level: usize, leaves: &mut Vec<Part>) -> Result<(), NoDevice> {
    if level > MOST_LEVELS {
        return Err(NoDevice::TooDeep { path: path.to_owned() });
    }
    let members: Vec<PathBuf> = members(&directory).collect();
    if !members.is_empty() {
        return members.into_iter().try_for_each(|member| descend(path, member, level + 1, leaves));
    }
    leaves.push(part_of(directory));
    Ok(())
}

/// The part of a disk that the device of this sysfs directory is.
fn part_of(directory: PathBuf) -> Part {
    let number =
        |name: &str| -> Option<u64> { fs::read_to_string(directory.join(name)).ok()?.trim().parse().ok() };
    let size = number("size").unwrap_or(u64::MAX);
    match (directory.join("partition").exists(), directory.parent()) {
        (true, Some(disk)) => {
            let start = number("start").unwrap_or(0);
            Part { directory: disk.to_owned(), sectors: (start, start.saturating_add(size)) }
        }
        _ => Part { sectors: (0, size), directory },
    }
}

fn describe(part: &Part) -> Option<RecordedDevice> {
    let text =
        |name: &str| fs::read_to_string(part.directory.join(name)).unwrap_or_default().trim().to_owned();
    let number = |name: &str| text(name).parse::<u64>().unwrap_or(0);
    let dev = text("dev");
    let (major, minor) = dev.split_once(':')?;
    let scheduler = text("queue/scheduler");
    let active = scheduler.split(['[', ']']).nth(1).unwrap_or(&scheduler);
    Some(RecordedDevice {
        device: Device { major: major.parse().ok()?, minor: minor.parse().ok()? },
        name: part.directory.file_name()?.to_string_lossy().replace('!', "/"),
        model: text("device/model"),
        sectors: number("size"),
        recorded: part.sectors,
        rotational: text("queue/rotational") == "1",
        block_size: number("queue/logical_block_size") as u32,
        scheduler: if active.is_empty() { "none".to_owned() } else { active.to_owned() },
        requests: number("queue/nr_requests") as u32,
        largest: number("queue/max_sectors_kb").saturating_mul(1024),
    })
}

/// The devices of the file system that holds a path.
fn file_system_devices(path: &Path, metadata: &fs::Metadata) -> Result<Vec<u64>, NoDevice> {
    if libc::major(metadata.dev()) != 0 {
        return Ok(vec![metadata.dev()]);
    }
    let mounts = mount_list::text();
    let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mounts = mounts.lines().filter_map(MountLine::parse);
    let mount = mount_list::holder(mounts, &canonical, |mount| mount_list::plain(mount.directory));
    let (kind, source) =
        mount.map(|mount| (mount.kind.to_owned(), mount_list::plain(mount.source))).unwrap_or_default();
    let not_on_device = || NoDevice::NotOnDevice { path: path.to_owned(), kind };
    // File systems over several devices have a separate number; the mount names one of the devices.
    let source = fs::metadata(&*source).ok().filter(|found| found.file_type().is_block_device());
    let device = source.ok_or_else(not_on_device)?.rdev();
    Ok(btrfs_devices(device).unwrap_or_else(|| vec![device]))
}

/// All devices of the btrfs that has this one.
fn btrfs_devices(device: u64) -> Option<Vec<u64>> {
    let own = fs::canonicalize(format!("/sys/dev/block/{}", numbers(device))).ok()?;
    for file_system in fs::read_dir("/sys/fs/btrfs").ok()?.flatten() {
        let members = fs::read_dir(file_system.path().join("devices")).into_iter().flatten().flatten();
        let members: Vec<PathBuf> = members.filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect();
        if members.contains(&own) {
            let device = |directory: &PathBuf| {
                let text = fs::read_to_string(directory.join("dev")).ok()?;
                let (major, minor) = text.trim().split_once(':')?;
                Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
            };
            return members.iter().map(device).collect();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_memory_stands_for_no_device() {
        let error = below(&["/proc/self".into()]).expect_err("not on a device").to_string();
        assert!(error.contains("is on proc"), "{error}");
        let error = below(&["/no/such/file".into()]).expect_err("not there").to_string();
        assert!(error.starts_with("/no/such/file: "), "{error}");
    }
}
