//! The purge returns a device as closely as possible to its factory state: it discards all its blocks
//! (BLKDISCARD). The specification intends secure erase, format and sanitize, which reset more of the drive.
//! These are device-specific commands, and some of them erase more than the named device, such as all
//! namespaces of a controller. They are therefore left to the vendors' programs, nvme-cli and hdparm; the test
//! is then started with `--no-purge`.

use super::plan::TestTarget;
use super::signatures;
use crate::running::Stop;
use fathom_command::Failure;
use fathom_sys::{Errno, block_device, file};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Number of bytes that are discarded between two checks for signals.
const PIECE: u64 = 1 << 30;
/// Size of the areas at both ends of a device that hold signatures of file systems and partition tables.
const ENDS: u64 = 2 << 20;

/// Result of a purge.
pub(super) enum Purged {
    /// The purge is done; holds the method, or the reason why there was no purge.
    Done(String),
    /// A signal ended the purge.
    Stopped(i32),
}

/// Purges the target as thoroughly as possible.
pub(super) fn purge(target: &TestTarget, is_wanted: bool, stop: &Stop<'_>) -> Result<Purged, Failure> {
    let path = &target.path;
    let fail = |error: io::Error| Failure::file(path, &error);
    let opened = OpenOptions::new().read(true).write(true).open(path).map_err(fail)?;
    if !target.is_device() {
        empty(&opened, target.bytes).map_err(fail)?;
        return Ok(Purged::Done(
            "none: the file was emptied and its blocks allocated again, which purges no device below it"
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

/// Removes the signatures of the old content, so that its remains are not mistaken for a file system, and makes
/// the kernel drop partitions and cached data.
fn forget_content(device: &File, bytes: u64) -> io::Result<()> {
    if !signatures::found(device, bytes)?.is_empty() {
        let zeros = vec![0; ENDS.min(bytes / 2) as usize];
        device.write_all_at(&zeros, 0)?;
        device.write_all_at(&zeros, bytes - zeros.len() as u64)?;
    }
    device.sync_all()?;
    block_device::flush_buffers(device.as_raw_fd())?;
    match block_device::reread_partitions(device.as_raw_fd()) {
        // This call fails if the device has no partitions, is one, or is open elsewhere. The failure is
        // harmless.
        Ok(()) | Err(Errno(_)) => Ok(()),
    }
}

/// Frees all blocks of a file and allocates them again, because the disk must have space for the file before
/// the measurement starts.
fn empty(opened: &File, bytes: u64) -> io::Result<()> {
    opened.set_len(0)?;
    opened.set_len(bytes)?;
    match file::fallocate(opened.as_raw_fd(), 0, 0, bytes) {
        Err(errno) if errno.is_unsupported() => Ok(()),
        result => Ok(result?),
    }
}
