//! The purge: what brings a device as close as possible to the state in which it was made.
//!
//! That is a discard of all its blocks (BLKDISCARD). The specification has secure erase, format and sanitize in mind, which reach
//! further; they are commands of the kinds of devices, and some of them erase more than what was named, such as all namespaces of a
//! controller. So they are left to the programs of the vendors and to nvme-cli and hdparm, with `--no-purge` afterwards.

use super::plan::TestTarget;
use super::signatures;
use crate::running::Stop;
use fathom_command::Failure;
use fathom_sys::{Errno, block_device, file};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Bytes that are discarded between two looks at signals.
const PIECE: u64 = 1 << 30;
/// What holds the marks of file systems and partitions, at both ends.
const ENDS: u64 = 2 << 20;

/// What became of it.
pub(super) enum Purged {
    /// How, or why not.
    Done(String),
    /// A signal ended it.
    Stopped(i32),
}

/// Purges the target as far as it can be.
pub(super) fn purge(target: &TestTarget, is_wanted: bool, stop: &Stop<'_>) -> Result<Purged, Failure> {
    let path = &target.path;
    let fail = |error: io::Error| Failure::file(path, &error);
    let opened = OpenOptions::new().read(true).write(true).open(path).map_err(fail)?;
    if !target.is_device() {
        empty(&opened, target.bytes).map_err(fail)?;
        return Ok(Purged::Done(
            "none: the file was emptied and its blocks allocated anew, which purges no device below it"
                .to_owned(),
        ));
    }
    forget_content(&opened, target.bytes).map_err(fail)?;
    if !is_wanted {
        return Ok(Purged::Done("none by fathom (--no-purge)".to_owned()));
    }
    let mut offset = 0;
    while offset < target.bytes {
        if let Some(signal) = stop.asked() {
            return Ok(Purged::Stopped(signal));
        }
        let length = PIECE.min(target.bytes - offset);
        match block_device::discard(opened.as_raw_fd(), offset, length) {
            Ok(()) => offset += length,
            Err(errno) if errno.is_unsupported() => {
                return Ok(Purged::Done("none: the device cannot discard".to_owned()));
            }
            Err(errno) => return Err(Failure::new(format!("{}: discard: {errno}", path.display()))),
        }
    }
    Ok(Purged::Done("discard of all blocks (BLKDISCARD)".to_owned()))
}

/// Removes the marks of what the device held, so that nobody takes what is left of it for a file system, and lets the kernel forget
/// partitions and what it has in memory.
fn forget_content(device: &File, bytes: u64) -> io::Result<()> {
    if !signatures::found(device, bytes)?.is_empty() {
        let zeros = vec![0; ENDS.min(bytes / 2) as usize];
        device.write_all_at(&zeros, 0)?;
        device.write_all_at(&zeros, bytes - zeros.len() as u64)?;
    }
    device.sync_all()?;
    block_device::flush_buffers(device.as_raw_fd())?;
    match block_device::reread_partitions(device.as_raw_fd()) {
        // A device that has none, a partition, or somebody who looks at it: nothing depends on it.
        Ok(()) | Err(Errno(_)) => Ok(()),
    }
}

/// Gives all blocks of a file back and takes as many: what is left of the disk must suffice before anything is measured.
fn empty(opened: &File, bytes: u64) -> io::Result<()> {
    opened.set_len(0)?;
    opened.set_len(bytes)?;
    match file::fallocate(opened.as_raw_fd(), 0, 0, bytes) {
        Err(errno) if errno.is_unsupported() => Ok(()),
        result => Ok(result?),
    }
}
