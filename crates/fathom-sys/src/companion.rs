//! A child program that runs alongside a worker, with its whole process group.

use crate::errno::{Errno, check};
use crate::{process, signal};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Poll interval for the end of a program, if the kernel cannot notify of it.
const POLL: Duration = Duration::from_millis(20);

/// A running program, which is killed on drop.
#[derive(Debug)]
pub struct Companion {
    child: Child,
    /// Descriptor that becomes readable when the program ends; `None` before Linux 5.3.
    end: Option<OwnedFd>,
    status: Option<ExitStatus>,
}

impl Companion {
    /// Starts a program, without a shell, as the leader of a process group. Its standard input is empty, its
    /// output goes to these two files, and it is killed when the calling thread ends.
    pub fn start(words: &[String], (output, errors): (File, File)) -> Result<Companion, Errno> {
        let [program, arguments @ ..] = words else { return Err(Errno(libc::EINVAL)) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        let parent = process::own_pid();
        // SAFETY: runs between fork and exec; it makes system calls only.
        unsafe {
            command.pre_exec(move || {
                for changed in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGXFSZ, libc::SIGPIPE] {
                    signal::restore_default(changed);
                }
                let _ = process::die_with_parent();
                // If the parent ended before prctl, the kernel sends no signal, so the child checks its parent
                // itself.
                match libc::getppid() as u32 == parent {
                    true => Ok(()),
                    false => Err(std::io::Error::from_raw_os_error(libc::ECHILD)),
                }
            });
        }
        let child = command.spawn().map_err(Errno::from)?;
        let end = descriptor_of(child.id()).ok();
        Ok(Companion { child, end, status: None })
    }

    /// Waits for the program's end, with a time limit; returns how it ended.
    pub fn wait(&mut self, span: Duration) -> Option<ExitStatus> {
        let limit = Instant::now() + span;
        loop {
            if self.status.is_none() && process::has_ended(self.child.id()) {
                // The program's descendants may still run in its group, whose ID is not reused before the
                // program is reaped.
                process::kill_group(self.child.id(), libc::SIGKILL);
                self.status = self.child.wait().ok();
            }
            let left = limit.saturating_duration_since(Instant::now());
            if self.status.is_some() || left.is_zero() {
                return self.status;
            }
            match &self.end {
                Some(end) => wait_readable(end, left),
                None => std::thread::sleep(left.min(POLL)),
            }
        }
    }

    /// Asks the program's process group to end, and kills the remaining processes after this time. Returns true
    /// if the program itself had to be killed.
    pub fn end(&mut self, grace: Duration) -> bool {
        if self.status.is_some() || self.wait(Duration::ZERO).is_some() {
            return false;
        }
        let leader = self.child.id();
        process::kill_group(leader, libc::SIGTERM);
        if self.wait(grace).is_some() {
            return false;
        }
        process::kill_group(leader, libc::SIGKILL);
        self.status = self.child.wait().ok();
        true
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

fn descriptor_of(pid: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: no memory is passed; the descriptor is new.
    unsafe {
        let descriptor = check(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
        Ok(OwnedFd::from_raw_fd(descriptor as i32))
    }
}

fn wait_readable(descriptor: &OwnedFd, span: Duration) {
    let mut wanted = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let span = i32::try_from(span.as_millis()).unwrap_or(i32::MAX).max(1);
    // SAFETY: one entry, which lives through the call.
    unsafe { libc::poll(&mut wanted, 1, span) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(words: &str) -> Companion {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        Companion::start(&words, nowhere()).expect("it starts")
    }

    fn nowhere() -> (File, File) {
        (tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file"))
    }

    #[test]
    fn the_end_is_noticed_and_brought_about() {
        let mut quick = started("true");
        assert!(quick.wait(Duration::from_secs(60)).is_some_and(|status| status.success()));
        assert!(!quick.end(Duration::ZERO), "over before");
        let mut slow = started("sleep 1000");
        assert_eq!(slow.wait(Duration::from_millis(30)), None);
        assert!(!slow.end(Duration::from_secs(60)), "SIGTERM is enough");
        let words = ["nothing of this name".to_owned()];
        assert_eq!(Companion::start(&words, nowhere()).err(), Some(Errno(libc::ENOENT)));
    }
}
