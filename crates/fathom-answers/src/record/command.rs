//! The command of a recording: it is started, and waits until everything is ready to record it.

use fathom_command::Failure;
use fathom_errors::plain;
use fathom_sys::process::{self, Ended, Fork};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// SIGKILL.
const KILL: i32 = 9;

/// The process of the command.
pub(super) struct Child {
    pid: u32,
    program: OsString,
    /// A byte lets it go; the end of it, with the recorder, ends it.
    go: Option<OwnedFd>,
    /// The error number if the program cannot be run.
    refused: File,
    ended: Option<Ended>,
}

impl Child {
    /// Starts the process, which waits. The calling process must have one thread.
    pub(super) fn start(words: &[OsString]) -> Result<Option<Child>, Failure> {
        let Some((program, arguments)) = words.split_first() else { return Ok(None) };
        let failed = |error: io::Error| {
            Failure::new(format!("{}: {error}", program.to_string_lossy(), error = plain(&error)))
        };
        let (wait, go) = fathom_sys::pipe::pipe().map_err(|errno| failed(errno.into()))?;
        let (refused, refusal) = fathom_sys::pipe::pipe().map_err(|errno| failed(errno.into()))?;
        match process::fork_without_threads().map_err(|errno| failed(errno.into()))? {
            Fork::Parent(pid) => Ok(Some(Child {
                pid,
                program: program.clone(),
                go: Some(go),
                refused: File::from(refused),
                ended: None,
            })),
            Fork::Child => {
                drop(go);
                if File::from(wait).read_exact(&mut [0]).is_ok() {
                    let error = Command::new(program).args(arguments).exec();
                    let number = error.raw_os_error().unwrap_or(0).to_ne_bytes();
                    // The recorder learns of the end of the process even without the reason.
                    let _ = File::from(refusal).write_all(&number);
                }
                process::exit_now(127);
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.pid
    }

    /// Lets it run its program.
    pub(super) fn go(&mut self) -> Result<(), Failure> {
        let Some(go) = self.go.take() else { return Ok(()) };
        let failed = |error: io::Error| {
            Failure::new(format!("{}: {error}", self.program.to_string_lossy(), error = plain(&error)))
        };
        File::from(go).write_all(&[1]).map_err(failed)?;
        let mut number = Vec::new();
        self.refused.read_to_end(&mut number).map_err(failed)?;
        match number.first_chunk() {
            Some(number) => Err(failed(io::Error::from_raw_os_error(i32::from_ne_bytes(*number)))),
            None => Ok(()),
        }
    }

    /// How it has ended; `None` while it runs.
    pub(super) fn ended(&mut self) -> Option<Ended> {
        while self.ended.is_none() && process::has_ended(self.pid) {
            // It may be another child: the one that removes instances.
            let reaped = process::reap_one();
            self.ended = reaped.filter(|(pid, ..)| *pid == self.pid).map(|(_, ended, _)| ended);
        }
        self.ended
    }

    pub(super) fn kill(&self) {
        if self.ended.is_none() {
            process::kill(self.pid, KILL);
        }
    }

    /// Asks it to end.
    pub(super) fn terminate(&self, signal: i32) {
        if self.ended.is_none() {
            process::kill(self.pid, signal);
        }
    }
}
