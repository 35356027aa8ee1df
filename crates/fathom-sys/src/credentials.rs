//! User and group of the calling thread.
//!
//! The C library would change all threads of a process. Here each clone of a job has its own user, also where clones are
//! threads, so the kernel is asked directly: it keeps credentials per thread.

use crate::errno::{Errno, check};

/// The user by whose rights the thread does what it does.
pub fn effective_user() -> u32 {
    // SAFETY: no memory is passed, and the call cannot fail.
    unsafe { libc::geteuid() }
}

/// Makes the thread that of another user, for good.
pub fn set_user(id: u32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::syscall(libc::SYS_setresuid, id, id, id) }).map(|_| ())
}

/// Makes the thread that of another group, for good.
pub fn set_group(id: u32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::syscall(libc::SYS_setresgid, id, id, id) }).map(|_| ())
}
