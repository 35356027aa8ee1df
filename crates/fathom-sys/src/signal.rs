//! Signals as readable events, and waiting for several descriptors.

use crate::errno::{Errno, check};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Delivers signals through a descriptor instead of handlers.
pub struct SignalQueue {
    fd: OwnedFd,
}

impl SignalQueue {
    /// Blocks these signals for the calling thread (and all it makes later) and queues them here.
    pub fn new(signals: &[i32]) -> Result<SignalQueue, Errno> {
        let set = signal_set(signals);
        // SAFETY: the set is valid; the old mask is not asked for.
        check(i64::from(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) }))?;
        // SAFETY: the set is valid for the whole call.
        let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) };
        check(i64::from(fd))?;
        // SAFETY: a fresh descriptor that nobody else owns.
        Ok(SignalQueue { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The next signal that has arrived, if any.
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

/// Undoes the blocking of signals (in a forked worker, which wants the defaults back).
pub fn unblock(signals: &[i32]) {
    let set = signal_set(signals);
    // SAFETY: the set is valid; the old mask is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut()) };
}

/// Ignores a signal.
pub fn ignore(signal: i32) {
    // SAFETY: SIG_IGN is a valid disposition and no handler is installed.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Gives a signal its usual effect again.
pub fn restore_default(signal: i32) {
    // SAFETY: SIG_DFL is a valid disposition and no handler is installed.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Ends the process by this signal, which the queue has taken.
pub fn die_of(signal: i32) -> ! {
    restore_default(signal);
    unblock(&[signal]);
    // SAFETY: no memory is passed.
    unsafe { libc::raise(signal) };
    crate::process::exit_now(128 + signal)
}

/// Stops the process as Ctrl-Z does; returns when somebody continues it.
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

/// Waits until one of the descriptors can be read or the time is over.
pub fn wait_readable(descriptors: &[RawFd], timeout: Duration) {
    let mut entries: Vec<libc::pollfd> =
        descriptors.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let time = libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: timeout.subsec_nanos() as libc::c_long,
    };
    // SAFETY: the entries and the time live through the call; the signal mask is left as it is.
    unsafe { libc::ppoll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, &time, std::ptr::null()) };
}

/// A pipe whose reading end never blocks: (read, write).
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors.
    check(i64::from(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) }))?;
    // SAFETY: two fresh descriptors that nobody else owns.
    let (read, write) = unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) };
    // SAFETY: plain flag change on our own descriptor.
    check(i64::from(unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }))?;
    Ok((read, write))
}
