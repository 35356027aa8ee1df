//! Time spans for system calls.

use std::time::Duration;

/// Converts a time span to a `timespec`.
pub fn timespec(span: Duration) -> libc::timespec {
    let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    libc::timespec { tv_sec: seconds, tv_nsec: span.subsec_nanos().into() }
}
