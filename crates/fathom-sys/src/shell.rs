//! Commands of the user, run by a shell beside a worker.

use crate::{process, signal};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often an unfinished command and the wish to stop it are looked at.
const POLL: Duration = Duration::from_millis(5);

/// Runs a command with `sh -c`; what it prints goes to `output`. Ends it, and all that it started in its process group,
/// when `stopped` says so.
pub fn run(command: &str, output: &File, stopped: impl Fn() -> bool) -> std::io::Result<ExitStatus> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    shell.process_group(0);
    // SAFETY: runs between fork and exec; it makes system calls only.
    unsafe {
        shell.pre_exec(|| {
            // Workers leave these to the supervisor; a command has the usual behaviour.
            for ignored in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGXFSZ] {
                signal::restore_default(ignored);
            }
            let _ = process::die_with_parent();
            Ok(())
        });
    }
    let mut child = shell.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stopped() {
            return end(&mut child);
        }
        std::thread::sleep(POLL);
    }
}

/// Starts a command with `sh -c` as the leader of a process group; it prints where this process prints. Whoever collects ended
/// children sees it end.
pub fn start(command: &str) -> std::io::Result<u32> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).process_group(0);
    // SAFETY: runs between fork and exec; it makes system calls only.
    unsafe {
        shell.pre_exec(|| {
            for ignored in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGXFSZ] {
                signal::restore_default(ignored);
            }
            Ok(())
        });
    }
    Ok(shell.spawn()?.id())
}

fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    process::kill_group(child.id(), libc::SIGKILL);
    child.wait()
}
