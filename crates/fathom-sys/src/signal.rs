//! Signals as readable events, and waiting for several descriptors.

use crate::errno::{Errno, check};
use crate::forbidden::Refused;
use crate::span::timespec;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Signals from users: Ctrl-C, a request to end, and a request for a report.
pub const OF_USERS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1];

/// Delivers signals through a descriptor instead of handlers. Dropping it restores the previous state: pending
/// signals then have their usual effect, or go to an enclosing queue for the same signal. Queues must be
/// dropped on the thread that created them, in reverse order.
pub struct SignalQueue {
    fd: OwnedFd,
    /// The signal mask before this queue was created.
    before: libc::sigset_t,
}

impl SignalQueue {
    /// Blocks these signals for the calling thread (and its future threads) and queues them here.
    pub fn new(signals: &[i32]) -> Result<SignalQueue, Refused> {
        SignalQueue::open(signals).map_err(|errno| Refused::new(errno, "signalfd4"))
    }

    fn open(signals: &[i32]) -> Result<SignalQueue, Errno> {
        let set = signal_set(signals);
        let mut before = signal_set(&[]);
        // SAFETY: the set is valid for the whole call.
        let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) };
        check(i64::from(fd))?;
        // SAFETY: the call just returned this descriptor, and nothing else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: both sets are valid; the old mask is written to the second.
        check(i64::from(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &set, &mut before) }))?;
        Ok(SignalQueue { fd, before })
    }

    /// Returns the next signal that asks to end, if one has arrived; earlier signals of other kinds are
    /// discarded.
    pub fn asked_to_end(&self) -> Option<i32> {
        std::iter::from_fn(|| self.next()).find(|signal| matches!(*signal, libc::SIGINT | libc::SIGTERM))
    }

    /// Returns the next signal that has arrived, if any.
    pub fn next(&self) -> Option<i32> {
        let mut info = std::mem::MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = std::mem::size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has room for exactly one record.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if read != size as isize {
            return None;
        }
        // SAFETY: the kernel has filled the whole record.
        Some(unsafe { info.assume_init() }.ssi_signo as i32)
    }

    /// For [`wait_readable`].
    pub fn descriptor(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Drop for SignalQueue {
    fn drop(&mut self) {
        // SAFETY: the set is the mask that the kernel returned; the old mask is not requested.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// Unblocks signals in a forked worker, which uses their default effects.
pub fn unblock(signals: &[i32]) {
    let set = signal_set(signals);
    // SAFETY: the set is valid; the old mask is not requested.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut()) };
}

/// Ignores a signal.
pub fn ignore(signal: i32) {
    // SAFETY: SIG_IGN is a valid disposition and no handler is installed.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Restores the default effect of a signal.
pub fn restore_default(signal: i32) {
    // SAFETY: SIG_DFL is a valid disposition and no handler is installed.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Ends the process with this signal, which was taken from the queue.
pub fn die_of(signal: i32) -> ! {
    restore_default(signal);
    unblock(&[signal]);
    // SAFETY: no memory is passed.
    unsafe { libc::raise(signal) };
    crate::process::exit_now(128 + signal)
}

/// Stops the process like Ctrl-Z; returns when it is continued.
pub fn stop_here() {
    // SAFETY: no memory is passed.
    unsafe { libc::raise(libc::SIGSTOP) };
}

fn signal_set(signals: &[i32]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: sigemptyset initialises the set; sigaddset then only sets bits in it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// Waits until one of the descriptors is readable or the time has elapsed.
pub fn wait_readable(descriptors: &[RawFd], timeout: Duration) {
    let mut entries: Vec<libc::pollfd> =
        descriptors.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let time = timespec(timeout);
    // SAFETY: the entries and the time outlive the call; the signal mask is left unchanged.
    unsafe { libc::ppoll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, &time, std::ptr::null()) };
}

/// Creates a pipe with a non-blocking read end: (read, write).
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors.
    check(i64::from(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) }))?;
    // SAFETY: two new descriptors without another owner.
    let (read, write) = unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) };
    // SAFETY: plain flag change on our own descriptor.
    check(i64::from(unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }))?;
    Ok((read, write))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the blocked signals of the calling thread, as reported by the kernel.
    fn blocked() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/status").expect("the thread is there");
        let mask = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("it is told");
        u64::from_str_radix(mask.trim(), 16).expect("a number")
    }

    #[test]
    fn a_queue_leaves_signals_as_it_found_them() {
        let bit = |signal: i32| 1 << (signal - 1);
        let before = blocked();
        assert_eq!(before & (bit(libc::SIGINT) | bit(libc::SIGTERM)), 0);
        let outer = SignalQueue::new(&OF_USERS).expect("signals can be queued");
        {
            let inner = SignalQueue::new(&[libc::SIGINT, libc::SIGCHLD]).expect("signals can be queued");
            assert_ne!(blocked() & bit(libc::SIGCHLD), 0);
            assert_eq!(inner.next(), None);
            // SAFETY: no memory is passed.
            unsafe { libc::raise(libc::SIGUSR1) };
            // SAFETY: no memory is passed.
            unsafe { libc::raise(libc::SIGINT) };
        }
        assert_eq!(blocked() & bit(libc::SIGCHLD), 0);
        // The inner queue does not contain the signal, so the outer one gets it.
        assert_eq!(outer.asked_to_end(), Some(libc::SIGINT));
        assert_eq!(outer.asked_to_end(), None);
        drop(outer);
        assert_eq!(blocked(), before);
    }
}
