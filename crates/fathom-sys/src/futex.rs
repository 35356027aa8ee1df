//! Waits on a word of shared memory (the start gate, stop flags).

use crate::span::timespec;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Sleeps while `word` holds `value`, at most `timeout`. The call may return early for no reason, so callers
/// repeat it in a loop.
pub fn wait_while(word: &AtomicU32, value: u32, timeout: Option<Duration>) {
    let time = timeout.map(timespec);
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word and the timeout live through the call. The futex is shared (no PRIVATE flag) because
    // the word may be in memory shared between processes.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, time) };
}

/// Stores a value and wakes all threads waiting on the word.
pub fn set_and_wake(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
    // SAFETY: the word lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
