//! Files: advice, preallocation, range syncs and the flags that std does not offer.

use crate::errno::{Errno, check};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::CString;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens a file with exactly these flags (`O_*`; `O_CLOEXEC` is added) and creation mode.
pub fn open(path: &Path, flags: i32, mode: u32) -> Result<OwnedFd, Errno> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))?;
    // SAFETY: the path is a valid C string for the whole call. rustix would call `open`, which not every sandbox knows, and not `openat`.
    let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode) };
    check(i64::from(fd))?;
    // SAFETY: the call just returned this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Raises the process's limit of open files to at least `wanted`, as far as the system allows.
pub fn raise_open_file_limit(wanted: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < wanted) {
        let current = Some(wanted.min(maximum.unwrap_or(u64::MAX)));
        // If the limit stays too low, opening a file reports the error.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    }
}

/// Closes a file. Some file systems write data back only then, and the error is that of the write.
pub fn close(descriptor: OwnedFd) -> Result<(), Errno> {
    // SAFETY: the descriptor was owned, and is closed by this call, whatever it returns.
    match check(i64::from(unsafe { libc::close(descriptor.into_raw_fd()) })) {
        // Linux has closed the descriptor in any case.
        Ok(_) | Err(Errno(libc::EINTR)) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Makes reads and writes of the descriptor non-blocking.
pub fn set_nonblocking(fd: RawFd) -> Result<(), Errno> {
    // SAFETY: plain flag changes on a descriptor of the caller; no memory is passed.
    unsafe {
        let flags = check(i64::from(libc::fcntl(fd, libc::F_GETFL)))?;
        check(i64::from(libc::fcntl(fd, libc::F_SETFL, flags as i32 | libc::O_NONBLOCK)))?;
    }
    Ok(())
}

/// Turns direct I/O (`O_DIRECT`) of the descriptor on or off. EINVAL if the file system does not support it.
pub fn set_direct(fd: RawFd, on: bool) -> Result<(), Errno> {
    // SAFETY: plain flag changes on a descriptor of the caller; no memory is passed.
    unsafe {
        let flags = check(i64::from(libc::fcntl(fd, libc::F_GETFL)))? as i32;
        let flags = if on { flags | libc::O_DIRECT } else { flags & !libc::O_DIRECT };
        check(i64::from(libc::fcntl(fd, libc::F_SETFL, flags)))?;
    }
    Ok(())
}

/// Tries to lock a file (`flock`), shared or exclusively; `EWOULDBLOCK` if it is locked elsewhere.
pub fn try_lock(fd: RawFd, shared: bool) -> Result<(), Errno> {
    let kind = if shared { libc::LOCK_SH } else { libc::LOCK_EX };
    // SAFETY: no memory is passed.
    check(i64::from(unsafe { libc::flock(fd, kind | libc::LOCK_NB) })).map(|_| ())
}

/// Releases a lock of [`try_lock`].
pub fn unlock(fd: RawFd) {
    // SAFETY: no memory is passed; unlocking does not fail.
    unsafe { libc::flock(fd, libc::LOCK_UN) };
}

/// Sets the expected lifetime of written data (`RWH_WRITE_LIFE_*`).
pub fn set_write_hint(fd: RawFd, hint: u64) -> Result<(), Errno> {
    // From linux/fcntl.h: F_LINUX_SPECIFIC_BASE + 12.
    const F_SET_RW_HINT: i32 = 1024 + 12;
    // SAFETY: the kernel reads one u64 through the pointer.
    check(i64::from(unsafe { libc::fcntl(fd, F_SET_RW_HINT, &hint) })).map(|_| ())
}

/// `fallocate` with `FALLOC_FL_*` flags.
pub fn fallocate(fd: RawFd, flags: i32, offset: u64, length: u64) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    let result = unsafe { libc::fallocate(fd, flags, offset as libc::off_t, length as libc::off_t) };
    check(i64::from(result)).map(|_| ())
}

/// `posix_fallocate`, which falls back to writing if the file system cannot preallocate.
pub fn posix_fallocate(fd: RawFd, offset: u64, length: u64) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    match unsafe { libc::posix_fallocate(fd, offset as libc::off_t, length as libc::off_t) } {
        0 => Ok(()),
        error => Err(Errno(error)),
    }
}

/// Returns the start of the next data from an offset on; ENXIO if there is none. File systems without hole
/// support report the whole file as data.
pub fn next_data(fd: RawFd, from: u64) -> Result<u64, Errno> {
    seek(fd, from, libc::SEEK_DATA)
}

/// Returns the start of the next hole from an offset on; the end of the file counts as a hole.
pub fn next_hole(fd: RawFd, from: u64) -> Result<u64, Errno> {
    seek(fd, from, libc::SEEK_HOLE)
}

fn seek(fd: RawFd, from: u64, what: i32) -> Result<u64, Errno> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::lseek(fd, from as libc::off_t, what) }).map(|place| place as u64)
}

/// Frees a range of a regular file, which reads as zeros afterwards. The size of the file stays.
pub fn punch_hole(fd: RawFd, offset: u64, length: u64) -> Result<(), Errno> {
    fallocate(fd, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, length)
}

/// Changes the size of a file.
pub fn truncate(fd: RawFd, size: u64) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(i64::from(unsafe { libc::ftruncate(fd, size as libc::off_t) })).map(|_| ())
}

/// `posix_fadvise` with one of `POSIX_FADV_*`; a length of 0 means up to the end of the file.
pub fn advise(fd: RawFd, offset: u64, length: u64, advice: i32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    match unsafe { libc::posix_fadvise(fd, offset as libc::off_t, length as libc::off_t, advice) } {
        0 => Ok(()),
        error => Err(Errno(error)),
    }
}

/// `fsync`.
pub fn sync(fd: RawFd) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(i64::from(unsafe { libc::fsync(fd) })).map(|_| ())
}

/// `fdatasync`.
pub fn sync_data(fd: RawFd) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(i64::from(unsafe { libc::fdatasync(fd) })).map(|_| ())
}

/// `sync_file_range` with `SYNC_FILE_RANGE_*` flags.
pub fn sync_range(fd: RawFd, offset: u64, length: u64, flags: u32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(i64::from(unsafe { libc::sync_file_range(fd, offset as _, length as _, flags) })).map(|_| ())
}

/// `syncfs`: writes back the whole file system of the file.
pub fn sync_file_system(fd: RawFd) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(i64::from(unsafe { libc::syncfs(fd) })).map(|_| ())
}
