//! The devices below a block device: members of md and dm devices, disks of partitions, the disk that holds the
//! file of a loop device. Reads only sysfs and the list of mounts, which never touches a device.

use crate::mounts::{Mount, mount_of};
use fathom_stats::host::LoopFileReport;
use fathom_sys::block_device::members;
use std::fs;
use std::path::{Path, PathBuf};

/// The sysfs directory that a link in sysfs leads to; for a partition, that of its disk.
pub(super) fn disk_of(link: &Path) -> Option<PathBuf> {
    let directory = fs::canonicalize(link).ok()?;
    if directory.join("partition").exists() {
        directory.parent().map(Path::to_path_buf)
    } else {
        Some(directory)
    }
}

/// Kernel names of all devices below the device with this sysfs directory, without duplicates.
pub(super) fn below(directory: &Path, mounts: &[Mount]) -> Vec<String> {
    let mut found = Vec::new();
    let mut to_visit = next(directory, mounts);
    while let Some(directory) = to_visit.pop() {
        let Some(name) = directory.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            continue;
        };
        if !found.contains(&name) {
            found.push(name);
            to_visit.extend(next(&directory, mounts));
        }
    }
    found
}

/// The backing files of the loop device with this sysfs directory, and of the loop devices below it.
pub(super) fn loop_files(directory: &Path, mounts: &[Mount]) -> Vec<LoopFileReport> {
    let below = below(directory, mounts).into_iter().map(|name| Path::new("/sys/class/block").join(name));
    std::iter::once(directory.to_owned()).chain(below).filter_map(|own| loop_file(&own, mounts)).collect()
}

fn loop_file(directory: &Path, mounts: &[Mount]) -> Option<LoopFileReport> {
    let file = backing_file(directory)?;
    let kind = mount_of(mounts, &file).map(|mount| mount.report.kind.clone()).unwrap_or_default();
    Some(LoopFileReport {
        device: directory.file_name()?.to_string_lossy().into_owned(),
        file: file.to_string_lossy().into_owned(),
        kind,
    })
}

/// The backing file of a loop device, as reported by the kernel.
pub(crate) fn backing_file(directory: &Path) -> Option<PathBuf> {
    let file = fs::read_to_string(directory.join("loop/backing_file")).ok()?;
    Some(PathBuf::from(file.trim_end_matches('\n')))
}

/// The sysfs directory of the disk that holds a loop device's backing file.
pub(super) fn disk_below_loop(directory: &Path, mounts: &[Mount]) -> Option<PathBuf> {
    backing_file(directory)?;
    next(directory, mounts).into_iter().next()
}

/// The devices directly below the given one.
fn next(directory: &Path, mounts: &[Mount]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = members(directory).collect();
    if directory.join("partition").exists() {
        found.extend(directory.parent().map(Path::to_path_buf));
    }
    if let Some(file) = backing_file(directory) {
        // The name of a device file in /dev is the kernel's name: the kernel resolved symbolic links when the
        // loop device was attached.
        let own_link = file.strip_prefix("/dev").ok().map(|name| Path::new("/sys/class/block").join(name));
        let link = own_link
            .filter(|link| link.exists())
            .or_else(|| Some(PathBuf::from(format!("/sys/dev/block/{}", mount_of(mounts, &file)?.device))));
        found.extend(link.and_then(|link| disk_of(&link)));
    }
    found
}
