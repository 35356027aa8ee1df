//! Processes: fork, wait, kill.

use crate::errno::{Errno, check};
use crate::usage::{self, Usage};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::unix::process::parent_id;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The last caller of [`fork`]; in a child, this is its parent at the time of the fork.
static FORKED_BY: AtomicU32 = AtomicU32::new(0);

/// The two sides of a fork.
pub enum Fork {
    /// In the new process.
    Child,
    /// In the original process, with the child's process ID.
    Parent(u32),
}

/// Forks the process.
///
/// # Safety
/// The calling process must have one thread only: locks that another thread holds would stay locked in the child.
pub unsafe fn fork() -> Result<Fork, Errno> {
    FORKED_BY.store(own_pid(), Relaxed);
    // SAFETY: the caller promises to be single-threaded.
    match unsafe { libc::fork() } {
        -1 => Err(Errno::last()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid as u32)),
    }
}

/// The number of threads of the calling process.
pub fn threads() -> Result<usize, Errno> {
    Ok(std::fs::read_dir("/proc/self/task").map_err(Errno::from)?.count())
}

/// Forks like [`fork`], but checks the number of threads first; with more than one the result is `EDEADLK`.
pub fn fork_without_threads() -> Result<Fork, Errno> {
    if threads()? != 1 {
        return Err(Errno(libc::EDEADLK));
    }
    // SAFETY: the only thread there is calls, and none can begin meanwhile.
    unsafe { fork() }
}

/// Ends the process immediately, without running exit handlers.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: never returns and needs nothing.
    unsafe { libc::_exit(status) }
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It exited with this status.
    Exited(i32),
    /// The signal that killed it.
    Killed(i32),
}

impl fmt::Display for Ended {
    /// Writes the end of a sentence about the child: `was killed by signal 9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exited(status) => write!(f, "ended with status {status}"),
            Ended::Killed(signal) => write!(f, "was killed by signal {signal}"),
        }
    }
}

/// Reaps one child that has ended, if there is one; returns its PID, how it ended and its resource usage.
pub fn reap_one() -> Option<(u32, Ended, Usage)> {
    let mut status = 0;
    let mut raw = usage::empty();
    // SAFETY: both out-pointers are valid for the whole call.
    let pid = unsafe { libc::wait4(-1, &mut status, libc::WNOHANG, &mut raw) };
    if pid <= 0 {
        return None;
    }
    let ended = if libc::WIFSIGNALED(status) {
        Ended::Killed(libc::WTERMSIG(status))
    } else {
        Ended::Exited(libc::WEXITSTATUS(status))
    };
    Some((pid as u32, ended, Usage::from_raw(&raw)))
}

/// A child was stopped or continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A signal stopped it.
    Stopped,
    /// It was continued.
    Continued,
}

/// Takes a notification that a child was stopped or continued, if there is one: its PID, and which of the two
/// happened.
pub fn take_stop() -> Option<(u32, Stop)> {
    let mut found = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WSTOPPED | libc::WCONTINUED | libc::WNOHANG;
    // SAFETY: the structure is written by the kernel, and all zero, which means that there is no notification, is a valid value of it.
    let (pid, code) = unsafe {
        if libc::waitid(libc::P_ALL, 0, found.as_mut_ptr(), options) != 0 {
            return None;
        }
        let found = found.assume_init();
        (found.si_pid(), found.si_code)
    };
    let stop = if code == libc::CLD_CONTINUED { Stop::Continued } else { Stop::Stopped };
    (pid > 0).then_some((pid as u32, stop))
}

/// True once a child has ended; it is not reaped yet, so its PID is still valid.
pub fn has_ended(pid: u32) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the structure is written by the kernel, and all zero, which means that no child has ended, is a
    // valid value of it.
    unsafe {
        libc::waitid(libc::P_PID, pid, found.as_mut_ptr(), options) == 0 && found.assume_init().si_pid() != 0
    }
}

/// Sends a signal to a process; if the process no longer exists, this is not an error.
pub fn kill(pid: u32, signal: i32) {
    // SAFETY: no memory is passed.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

/// True while the process exists.
pub fn exists(pid: u32) -> bool {
    // SAFETY: no memory is passed; signal 0 only asks.
    unsafe { libc::kill(pid as libc::pid_t, 0) == 0 || Errno::last() != Errno(libc::ESRCH) }
}

/// Sends a signal to a process group; if the group no longer exists, this is not an error.
pub fn kill_group(leader: u32, signal: i32) {
    // SAFETY: no memory is passed.
    unsafe { libc::kill(-(leader as libc::pid_t), signal) };
}

/// Makes the caller the leader of a new session, which the terminal's Ctrl-C does not reach.
pub fn new_session() {
    // An error is ignored: the call fails only if the caller already leads a session.
    let _ = rustix::process::setsid();
}

/// Asks the kernel to kill this process when its parent ends, so that no worker outlives a killed supervisor.
pub fn die_with_parent() -> Result<(), Errno> {
    signal_at_end_of_parent(libc::SIGKILL)
}

/// Asks the kernel for a signal when the thread that started this process ends; 0 requests none.
fn signal_at_end_of_parent(signal: i32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(i64::from(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) })).map(|_| ())
}

/// Relation of a process to the caller of [`interrupt_with_parent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The parent, whose end will be signalled.
    Parent,
    /// Another existing process.
    Stranger,
    /// No process has this ID.
    Gone,
}

/// Asks the kernel for SIGINT when the thread that started this process ends, if `parent` is the process of that thread.
pub fn interrupt_with_parent(parent: u32) -> Result<Relation, Errno> {
    signal_at_end_of_parent(libc::SIGINT)?;
    // The parent is checked after the request, because a parent that had already ended sends no signal.
    if parent_id() == parent {
        return Ok(Relation::Parent);
    }
    signal_at_end_of_parent(0)?;
    Ok(if exists(parent) { Relation::Stranger } else { Relation::Gone })
}

/// True in a child of [`fork`] whose parent has ended. A parent that ended before [`die_with_parent`] was
/// called sends no signal, so this must be checked afterwards.
pub fn parent_is_gone() -> bool {
    parent_id() != FORKED_BY.load(Relaxed)
}

/// Redirects a standard stream (0, 1 or 2), or another descriptor of this process, to /dev/null.
pub fn detach_stream(stream: i32) {
    // SAFETY: a valid C string; the descriptors are this process's own.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        if null >= 0 {
            libc::dup2(null, stream);
            if null > 2 {
                libc::close(null);
            }
        }
    }
}

/// Returns the caller's process ID.
pub fn own_pid() -> u32 {
    std::process::id()
}

/// Returns the ID of the calling thread.
pub fn own_thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}
