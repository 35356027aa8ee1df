//! Locks around individual I/Os (`lockfile`), respected by all jobs that set the option. They are `flock` locks
//! on separate descriptors, so they also exclude jobs in other processes, and other programs that use `flock`.

use fathom_sys::{Errno, file};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// Result of an attempt to lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The lock is acquired.
    Locked,
    /// Another I/O of this job holds the lock.
    HeldByThisJob,
    /// Another job holds the lock.
    HeldByAnother,
}

/// The locks of a worker; each allows one I/O per file at a time.
pub(crate) struct FileLocks {
    files: Vec<Lock>,
    /// True if reads share the lock with reads of other jobs.
    readers_share: bool,
}

#[derive(Default)]
struct Lock {
    descriptor: Option<OwnedFd>,
    held: bool,
}

impl FileLocks {
    pub(crate) fn new(files: usize, readers_share: bool) -> FileLocks {
        FileLocks { files: (0..files).map(|_| Lock::default()).collect(), readers_share }
    }

    /// Tries to lock a file for one I/O.
    pub(crate) fn try_lock(&mut self, index: usize, path: &str, reads: bool) -> Result<Attempt, Errno> {
        let lock = &mut self.files[index];
        if lock.held {
            return Ok(Attempt::HeldByThisJob);
        }
        let descriptor = match &lock.descriptor {
            Some(descriptor) => descriptor,
            None => lock.descriptor.insert(file::open(Path::new(path), libc::O_RDONLY, 0)?),
        };
        let shared = reads && self.readers_share;
        match file::try_lock(descriptor.as_raw_fd(), shared) {
            Ok(()) => {
                lock.held = true;
                Ok(Attempt::Locked)
            }
            Err(Errno(libc::EWOULDBLOCK)) => Ok(Attempt::HeldByAnother),
            Err(errno) => Err(errno),
        }
    }

    /// Releases a lock.
    pub(crate) fn unlock(&mut self, index: usize) {
        let lock = &mut self.files[index];
        if lock.held
            && let Some(descriptor) = &lock.descriptor
        {
            file::unlock(descriptor.as_raw_fd());
            lock.held = false;
        }
    }
}
