//! Forbidden system calls, which filters of containers and security modules reject with misleading errors.

use crate::Errno;
use std::fmt::{self, Display, Formatter};

/// Returns advice for calls rejected with this error; `None` for unrelated errors.
pub fn advice(errno: Errno, calls: &str) -> Option<String> {
    matches!(errno.0, libc::EPERM | libc::EACCES | libc::ENOSYS).then(|| {
        format!(
            "a system call filter (seccomp, as in containers) or a security module forbids {calls}; allow \
            that in its profile (or, as a test, --security-opt seccomp=unconfined)"
        )
    })
}

/// System calls that the async runtime of HTTP engines and servers uses to wait for events.
pub const OF_EVENT_LOOPS: &str = "epoll_create1, epoll_ctl, epoll_wait or eventfd2";

/// An error of system calls that may be forbidden, with advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The system error.
    pub errno: Errno,
    calls: &'static str,
}

impl Refused {
    /// Creates an error of these system calls.
    pub const fn new(errno: Errno, calls: &'static str) -> Refused {
        Refused { errno, calls }
    }

    /// Returns advice if the calls are forbidden.
    pub fn advice(&self) -> Option<String> {
        advice(self.errno, self.calls)
    }
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.advice() {
            Some(advice) => write!(f, "{}: {advice}", self.errno),
            None => write!(f, "{}", self.errno),
        }
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_filters_answer_is_called_forbidden() {
        let told = |errno| Refused::new(Errno(errno), "signalfd4").to_string();
        assert!(told(libc::EPERM).contains("forbids signalfd4; allow that"), "{}", told(libc::EPERM));
        assert!(told(libc::ENOSYS).contains("forbids signalfd4"), "{}", told(libc::ENOSYS));
        assert_eq!(told(libc::EMFILE), "Too many open files");
    }
}
