//! Processor and I/O priority of the calling thread, and its name.

use crate::errno::{Errno, check};

/// Sets the nice value (-20..=19).
pub fn set_nice(value: i32) -> Result<(), Errno> {
    // SAFETY: no memory is passed; 0 is the caller.
    let result = check(i64::from(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) })).map(|_| ());
    result.map_err(|errno| if errno == Errno(libc::EACCES) { Errno(libc::EPERM) } else { errno })
}

/// Sets the I/O priority: class 0..=3, level 0..=7, hint 0..=1023 (linux/ioprio.h).
pub fn set_io_priority(class: u32, level: u32, hint: u32) -> Result<(), Errno> {
    const CLASS_SHIFT: u32 = 13;
    const HINT_SHIFT: u32 = 3;
    const WHO_PROCESS: libc::c_long = 1;
    let value = (class << CLASS_SHIFT) | (hint << HINT_SHIFT) | level;
    // SAFETY: no memory is passed; 0 is the calling thread.
    check(unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, value) }).map(|_| ())
}

/// Names the calling thread (at most 15 bytes are kept).
pub fn set_name(name: &str) {
    let mut bytes: Vec<u8> = name.bytes().take(15).filter(|&b| b != 0).collect();
    bytes.push(0);
    // SAFETY: a NUL-terminated string of at most 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
}

/// Reduces the timer slack of the calling thread to a microsecond instead of the usual 50.
pub fn set_precise_sleep() {
    const SLACK_NS: libc::c_ulong = 1;
    // SAFETY: no memory is passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
}
