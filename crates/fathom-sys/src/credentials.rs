//! User and group of the calling thread. The C library's functions change all threads of a process, but each
//! clone of a job has its own user even if clones are threads. So the system calls are made directly: the
//! kernel keeps credentials per thread.

use crate::errno::{Errno, check};

/// Returns the effective user of the thread.
pub fn effective_user() -> u32 {
    // SAFETY: no memory is passed, and the call cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns the effective groups of the thread.
pub fn groups() -> Vec<u32> {
    // SAFETY: no memory is passed, and the call cannot fail.
    let own = unsafe { libc::getegid() };
    // SAFETY: with a length of 0 nothing is written; the number of groups is returned.
    let count = unsafe { libc::getgroups(0, std::ptr::null_mut()) };
    let mut list = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: there is room for `count` groups.
    let written = unsafe { libc::getgroups(count.max(0), list.as_mut_ptr()) };
    list.truncate(usize::try_from(written).unwrap_or(0));
    list.push(own);
    list
}

/// Permanently changes the user of the thread.
pub fn set_user(id: u32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::syscall(libc::SYS_setresuid, id, id, id) }).map(|_| ())
}

/// Permanently changes the group of the thread.
pub fn set_group(id: u32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::syscall(libc::SYS_setresgid, id, id, id) }).map(|_| ())
}
