//! The page cache: measures how much of an open file the kernel holds in memory, and drops it.

use crate::errno::{Errno, check};
use crate::memory::{Mapping, page_size};
use crate::{block_device, credentials, file, file_system};
use std::ops::Range;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

// From asm-generic/unistd.h, the same number on every architecture; since Linux 6.5.
const SYS_CACHESTAT: libc::c_long = 451;

/// Number of bytes covered by a mincore(2) call, which returns a byte per page.
const WINDOW: u64 = 1 << 30;

/// Page cache state of a range, in whole pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// Bytes of the range that are in memory.
    pub resident: u64,
    /// Bytes of these that have not reached the storage: dirty, or under writeback.
    pub unwritten: u64,
}

/// From linux/mman.h: `struct cachestat_range`.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

/// From linux/mman.h: `struct cachestat`, in pages.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Returns the page cache state of a range of a file or block device (cachestat(2)). ENOSYS before Linux 6.5;
/// EPERM for a file that the caller can neither write to nor owns.
pub fn cached(fd: RawFd, range: &Range<u64>) -> Result<Cached, Errno> {
    let pages = whole_pages(range);
    // A DAX file has no page cache, and kernels crash when queried about it.
    if file_system::is_direct_access(fd)? {
        return Ok(Cached::default());
    }
    let asked = CachestatRange { offset: pages.start, length: pages.end - pages.start };
    if asked.length == 0 {
        return Ok(Cached::default());
    }
    let mut found = Cachestat::default();
    // SAFETY: both structures have the kernel's layout and live for the whole call.
    let result = unsafe { libc::syscall(SYS_CACHESTAT, fd, &asked, &mut found, 0) };
    check(result)?;
    let bytes = |pages: u64| pages.saturating_mul(page_size() as u64);
    Ok(Cached { resident: bytes(found.cached), unwritten: bytes(found.dirty + found.writeback) })
}

/// Counts the bytes of a range in memory by mapping it (mincore(2)). This is slower, but works on every kernel,
/// and is correct for stacked file systems (overlayfs), whose own inode has no pages. The kernel reports all
/// pages as resident if the caller can neither write to the file nor owns it.
pub fn resident_by_mapping(fd: RawFd, range: &Range<u64>) -> Result<u64, Errno> {
    let pages = whole_pages(range);
    let page = page_size() as u64;
    let mut resident = 0;
    let mut start = pages.start;
    while start < pages.end {
        let length = (pages.end - start).min(WINDOW);
        let mapping = Mapping::file(fd, start, length as usize, true, false, true)?;
        let mut answer = vec![0u8; length.div_ceil(page) as usize];
        // SAFETY: the range is this mapping, and the answer has a byte for each of its pages.
        let result =
            unsafe { libc::mincore(mapping.address().cast(), mapping.len(), answer.as_mut_ptr().cast()) };
        check(i64::from(result))?;
        resident += page * answer.iter().filter(|page| **page & 1 != 0).count() as u64;
        start += length;
    }
    Ok(resident)
}

/// Drops the clean pages of a range that no process has mapped or locked, including partially covered ones.
pub fn drop_clean(fd: RawFd, range: &Range<u64>) -> Result<(), Errno> {
    let pages = whole_pages(range);
    match pages.end - pages.start {
        // `posix_fadvise` takes a length of 0 as "to the end", so an empty range needs no call.
        0 => Ok(()),
        length => file::advise(fd, pages.start, length, libc::POSIX_FADV_DONTNEED),
    }
}

/// Writes the dirty pages of a range to the storage and waits for them. Also returns errors of earlier writes
/// that were not reported yet. The storage's own cache is not flushed.
pub fn write_back(fd: RawFd, range: &Range<u64>) -> Result<(), Errno> {
    let flags =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let pages = whole_pages(range);
    match pages.end - pages.start {
        0 => Ok(()),
        length => file::sync_range(fd, pages.start, length, flags),
    }
}

/// Returns a write error that the kernel has recorded since the file was opened and not reported yet. Does not
/// wait.
pub fn take_write_error(fd: RawFd) -> Result<(), Errno> {
    // The range is the last possible page of a file. It never holds data, so there is nothing to wait for, but
    // the call returns the error of the whole file.
    let last = (i64::MAX as u64) / page_size() as u64 * page_size() as u64 - page_size() as u64;
    file::sync_range(fd, last, 1, libc::SYNC_FILE_RANGE_WAIT_BEFORE)
}

/// Drops a range of a file or device from memory, so that it is read from its medium: dirty pages are written
/// back, clean ones dropped. If `drops` is false, the range is only checked. Returns the number of bytes that
/// stay in memory; `None` if the kernel does not report them. A file system in memory has no other medium, so
/// its result is 0.
pub fn forget(fd: RawFd, range: &Range<u64>, drops: bool) -> Option<u64> {
    let is_device = block_device::size(fd).is_ok();
    if !is_device && file_system::is_in_memory(fd) == Ok(true) {
        return Some(0);
    }
    if !drops {
        return resident(fd, range);
    }
    // Dropping is only a hint, so each attempt is followed by a check. The attempts are for pages that cannot
    // be dropped directly: dirty pages must be written back first, pages of NFS must be committed by the
    // server, which requires a sync, and the kernel keeps buffers until the device is flushed.
    let tries: [&dyn Fn() -> Result<(), Errno>; 4] =
        [&|| Ok(()), &|| write_back(fd, range), &|| file::sync(fd), &|| {
            if is_device { block_device::flush_buffers(fd) } else { Err(Errno(libc::EOPNOTSUPP)) }
        }];
    let mut left = None;
    for prepare in tries {
        if prepare().is_err() {
            continue;
        }
        // An error is ignored, because a range that was not dropped shows as bytes that remain.
        let _ = drop_clean(fd, range);
        left = resident(fd, range);
        if left.is_none_or(|bytes| bytes == 0) {
            break;
        }
    }
    left
}

/// Returns the number of bytes of a range in memory; `None` if the kernel does not report them.
fn resident(fd: RawFd, range: &Range<u64>) -> Option<u64> {
    let by_mapping = || resident_by_mapping(fd, range);
    let found = match file_system::is_overlay(fd) {
        Ok(true) => by_mapping(),
        _ => cached(fd, range).map(|cached| cached.resident).or_else(|_| match may_ask(fd) {
            true => by_mapping(),
            false => Err(Errno(libc::EPERM)),
        }),
    };
    // The kernel counts whole pages, which may exceed the range.
    found.ok().map(|bytes| bytes.min(range.end - range.start))
}

/// True if the caller can write to the file or owns it. For others, mincore(2) reports every page as resident.
fn may_ask(fd: RawFd) -> bool {
    let path = format!("/proc/thread-self/fd/{fd}");
    let own = credentials::effective_user();
    own == 0
        || std::fs::metadata(&path).is_ok_and(|found| found.uid() == own)
        || file::open(Path::new(&path), libc::O_WRONLY, 0).is_ok()
}

/// Returns the range of whole pages that contain a range.
fn whole_pages(range: &Range<u64>) -> Range<u64> {
    let page = page_size() as u64;
    if range.is_empty() {
        return 0..0;
    }
    range.start / page * page..range.end.checked_next_multiple_of(page).unwrap_or(range.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    /// Creates a file of 16 pages on a file system with a page cache. /tmp may be in memory; the build
    /// directory is not.
    fn written() -> std::fs::File {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a file");
        file.write_all(&vec![7; 16 * page_size()]).expect("written");
        file
    }

    #[test]
    fn written_pages_are_dirty_then_clean_then_gone() {
        let file = written();
        let fd = file.as_raw_fd();
        let whole = 0..16 * page_size() as u64;
        let at_first = match cached(fd, &whole) {
            Ok(found) => found,
            Err(Errno(libc::ENOSYS)) => return,
            Err(errno) => panic!("{errno}"),
        };
        assert_eq!((at_first.resident, resident_by_mapping(fd, &whole)), (whole.end, Ok(whole.end)));
        write_back(fd, &whole).expect("written back");
        assert_eq!(cached(fd, &whole), Ok(Cached { resident: whole.end, unwritten: 0 }));
        drop_clean(fd, &(page_size() as u64 + 1..2 * page_size() as u64 - 1)).expect("dropped");
        drop_clean(fd, &whole).expect("dropped");
        assert_eq!((cached(fd, &whole), resident_by_mapping(fd, &whole)), (Ok(Cached::default()), Ok(0)));
        take_write_error(fd).expect("no error");
        let mut text = Vec::new();
        (&file).read_to_end(&mut text).expect("read");
    }

    #[test]
    fn an_empty_range_is_no_whole_file() {
        let file = written();
        let fd = file.as_raw_fd();
        drop_clean(fd, &(5..5)).expect("nothing to drop");
        assert_eq!(resident_by_mapping(fd, &(5..5)), Ok(0));
        assert_eq!(resident_by_mapping(fd, &(0..1)), Ok(page_size() as u64));
    }

    #[test]
    fn a_range_is_made_of_the_pages_that_it_touches() {
        let page = page_size() as u64;
        assert_eq!(whole_pages(&(1..page + 1)), 0..2 * page);
        assert_eq!(whole_pages(&(page..2 * page)), page..2 * page);
    }
}
