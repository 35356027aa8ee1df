//! Opens files and devices for the run, and prepares them.

use super::layout;
use crate::files::{FileEntry, FileError, FileKind};
use crate::plan::WorkerPlan;
use crate::plan::model::files::{Advice, OpenPlan};
use crate::storage::OpenFile;
use fathom_spec::options::io_type::SyncMode;
use fathom_sys::memory::{Mapping, page_size};
use fathom_sys::{Errno, block_device, file};
use std::os::fd::OwnedFd;

/// Opens one target as the job requires.
pub(super) fn open(plan: &WorkerPlan, entry: &FileEntry) -> Result<OwnedFd, FileError> {
    let mut flags = if plan.changes_data() { libc::O_RDWR } else { libc::O_RDONLY };
    if plan.changes_data() && entry.kind == FileKind::Regular && plan.files.layout.creates {
        flags |= libc::O_CREAT;
        layout::create_parents(&entry.path)
            .map_err(|errno| FileError::of_call(errno, "mkdir", &entry.path))?;
    }
    if plan.files.opening.direct {
        flags |= libc::O_DIRECT;
    }
    flags |= match plan.files.opening.sync {
        SyncMode::None => 0,
        SyncMode::Sync => libc::O_SYNC,
        SyncMode::Dsync => libc::O_DSYNC,
    };
    // Reads must not update the access time. The kernel allows O_NOATIME only to the owner and to root, so the
    // second attempt omits it.
    let attempts = [flags | libc::O_NOATIME, flags];
    let mut last = Errno(libc::EIO);
    for flags in attempts {
        match file::open(&entry.path, flags, 0o600) {
            Ok(descriptor) => return Ok(descriptor),
            Err(errno) => last = errno,
        }
        if last != Errno(libc::EPERM) {
            break;
        }
    }
    if last == Errno(libc::EACCES) && plan.changes_data() && !plan.reads_data() {
        // The last attempt opens a target that grants only write permission.
        let write_only = (flags & !libc::O_RDWR) | libc::O_WRONLY;
        if let Ok(descriptor) = file::open(&entry.path, write_only, 0o600) {
            return Ok(descriptor);
        }
    }
    let mut error = FileError::of_call(last, "open", &entry.path);
    if last == Errno(libc::EINVAL) && flags & libc::O_DIRECT != 0 {
        let name = entry.path.display();
        error.message = Some(format!(
            "fio: looks like your file system does not support direct=1/buffered=0 ({name}); leave out direct=1"
        ));
    }
    Err(error)
}

/// Drops cached data and passes the job's hints to the kernel.
pub(super) fn settle(plan: &OpenPlan, entry: &FileEntry, fd: i32) -> Result<(), FileError> {
    if plan.invalidates {
        // Dropping the cache needs privileges on some targets; its failure is ignored, because the run is
        // useful without it.
        let _ = match entry.kind {
            FileKind::Block => block_device::flush_buffers(fd),
            FileKind::Regular => file::advise(fd, entry.start, entry.size, libc::POSIX_FADV_DONTNEED),
            _ => Ok(()),
        };
    }
    if let Some(hint) = plan.write_hint {
        file::set_write_hint(fd, hint)
            .map_err(|errno| FileError::of_call(errno, "fcntl write hint", &entry.path))?;
    }
    if let Some(advice) = plan.advice.filter(|_| matches!(entry.kind, FileKind::Regular | FileKind::Block)) {
        let advice = match advice {
            Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
            Advice::Random => libc::POSIX_FADV_RANDOM,
            Advice::NoReuse => libc::POSIX_FADV_NOREUSE,
        };
        file::advise(fd, entry.start, entry.size, advice)
            .map_err(|errno| FileError::of_call(errno, "fadvise", &entry.path))?;
    }
    Ok(())
}

/// Reads the used part of a file into the cache, until `stopped` returns true.
pub(super) fn read_all(file: &OpenFile, stopped: &dyn Fn() -> bool) -> Result<(), Errno> {
    // Reads are page-aligned and whole pages, because the descriptor may be opened for direct I/O.
    let buffer = Mapping::private(1 << 20)?;
    let fd = file.handle.descriptor();
    let mut offset = file.start;
    let end = file.start + file.size;
    while offset < end && !stopped() {
        let wanted = (end - offset).min(buffer.len() as u64) as usize;
        let length = wanted.next_multiple_of(page_size()).min(buffer.len());
        // SAFETY: the buffer has room for `length` bytes.
        let read = unsafe { libc::pread(fd, buffer.address().cast(), length, offset as libc::off_t) };
        match read {
            ..0 => return Err(Errno::last()),
            // A short read means the end of the file.
            _ if (read as usize) < length => break,
            _ => offset += read as u64,
        }
    }
    Ok(())
}
