//! Makes the next reads of a file or device come from its medium: dirty data is written back, cached data is
//! dropped, and what stays in memory is counted.

use super::in_use::device_number;
use crate::files::{FileEntry, FileKind};
use crate::mounts::{mount_of, mounts};
use crate::storage::ReadBack;
use fathom_sys::block_device::members;
use fathom_sys::memory::page_size;
use fathom_sys::{Errno, block_device, file, file_system, page_cache};
use std::fs;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum nesting of devices on files on other devices; deeper nesting indicates a loop in the kernel's
/// tables.
const MOST_LEVELS: usize = 16;

/// Drops cached data of a range of a target, and of the `backing` files of loop devices below it. Returns the
/// bytes that stay in memory; `None` if the kernel does not report them.
pub(super) fn forget(entry: &FileEntry, fd: RawFd, backing: &[PathBuf], wanted: &ReadBack) -> Option<u64> {
    if !is_cached_kind(entry) {
        return Some(0);
    }
    let own = match wanted.is_cached {
        true => page_cache::forget(fd, &wanted.range, wanted.drops),
        false => Some(0),
    };
    let below = backing.iter().map(|path| forget_file(path, wanted.drops));
    // Data cached on both levels is read from memory only once, so the larger number counts.
    below.fold(own, |most, file| Some(most?.max(file?.min(wanted.range.end - wanted.range.start))))
}

/// Writes a range back. If the file system cannot write back a range, the whole file is synced.
pub(super) fn write_back(entry: &FileEntry, fd: RawFd, range: &Range<u64>) -> Result<(), Errno> {
    if !is_cached_kind(entry) {
        return Ok(());
    }
    match page_cache::write_back(fd, range) {
        Err(Errno(libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL | libc::ESPIPE)) => file::sync_data(fd),
        result => result,
    }
}

/// Switches direct I/O on or off for an open descriptor.
pub(super) fn read_past_cache(entry: &FileEntry, fd: RawFd, on: bool, alignment: u64) -> bool {
    let unit = match entry.kind {
        FileKind::Block => block_device::logical_block_size(fd).unwrap_or(u64::MAX),
        FileKind::Regular => page_size() as u64,
        _ => return false,
    };
    (!on || alignment.is_multiple_of(unit)) && file::set_direct(fd, on).is_ok()
}

/// Dirty bytes of a target in the page cache, including those under writeback.
pub(super) fn unwritten(entry: &FileEntry, fd: RawFd) -> Result<Option<u64>, Errno> {
    if !is_cached_kind(entry) || file_system::is_in_memory(fd) == Ok(true) && entry.kind == FileKind::Regular
    {
        return Ok(None);
    }
    match page_cache::take_write_error(fd) {
        // These errors mean that the kernel does not support the call.
        Ok(()) | Err(Errno(libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL | libc::ESPIPE | libc::EPERM)) => {}
        Err(errno) => return Err(errno),
    }
    let range = entry.start..entry.start + entry.size;
    Ok(page_cache::cached(fd, &range).ok().map(|cached| cached.unwritten.min(entry.size)))
}

fn is_cached_kind(entry: &FileEntry) -> bool {
    matches!(entry.kind, FileKind::Regular | FileKind::Block)
}

/// Like [`forget`], for the whole backing file of a loop device. Only clean pages are dropped, so the content
/// stays.
fn forget_file(path: &Path, drops: bool) -> Option<u64> {
    let opened = file::open(path, libc::O_RDONLY | libc::O_NOATIME, 0)
        .or_else(|_| file::open(path, libc::O_RDONLY, 0))
        .ok()?;
    let fd = opened.as_raw_fd();
    let is_device = fs::metadata(path).ok()?.mode() & libc::S_IFMT == libc::S_IFBLK;
    let size = if is_device { block_device::size(fd).ok()? } else { fs::metadata(path).ok()?.len() };
    page_cache::forget(fd, &(0..size), drops)
}

/// The backing files of loop devices below a target that are read through the page cache.
pub(super) fn backing_files(entry: &FileEntry) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut devices: Vec<u64> = device_of(&entry.path).into_iter().collect();
    for _ in 0..MOST_LEVELS {
        let mut next = Vec::new();
        for device in devices {
            look_below(device, &mut next, &mut found);
        }
        if next.is_empty() {
            break;
        }
        devices = next;
    }
    found
}

/// The device that holds a file, or that a device file refers to.
fn device_of(path: &Path) -> Option<u64> {
    let found = fs::metadata(path).ok()?;
    let is_device = found.mode() & libc::S_IFMT == libc::S_IFBLK;
    let device = if is_device { found.rdev() } else { found.dev() };
    if libc::major(device) != 0 {
        return Some(device);
    }
    // A file on btrfs has a device number that belongs to no block device; the list of mounts names the file
    // system's first device.
    let mounts = mounts();
    let source = &mount_of(&mounts, &fs::canonicalize(path).ok()?)?.report.source;
    let device = fs::metadata(source).ok().filter(|_| source.starts_with("/dev/"))?.rdev();
    (device != 0).then_some(device)
}

/// Adds the devices directly below a device.
fn look_below(device: u64, devices: &mut Vec<u64>, files: &mut Vec<PathBuf>) {
    let link = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    let Ok(directory) = fs::canonicalize(link) else { return };
    if directory.join("partition").exists() {
        devices.extend(directory.parent().and_then(device_number));
    }
    devices.extend(members(&directory).filter_map(|member| device_number(&member)));
    let Ok(path) = fs::read_to_string(directory.join("loop/backing_file")) else { return };
    let path = PathBuf::from(path.trim_end_matches('\n'));
    devices.extend(device_of(&path));
    let is_direct = fs::read_to_string(directory.join("loop/dio")).is_ok_and(|text| text.trim() == "1");
    if !is_direct && !files.contains(&path) {
        files.push(path);
    }
}
