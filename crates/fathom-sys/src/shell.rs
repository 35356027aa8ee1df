//! Runs users' commands in a shell for a worker.

use crate::{process, signal};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Interval at which a command's end and the stop condition are checked.
const POLL: Duration = Duration::from_millis(5);

/// Runs a command with `sh -c`; its output goes to `output`. Ends the command and its process group when
/// `stopped` returns true.
pub fn run(command: &str, output: &File, stopped: impl Fn() -> bool) -> std::io::Result<ExitStatus> {
    run_to_end(shell(command), output, stopped)
}

/// Runs a program with arguments in the same way, without a shell.
pub fn run_program(
    words: &[String],
    output: &File,
    stopped: impl Fn() -> bool,
) -> std::io::Result<ExitStatus> {
    let [program, arguments @ ..] = words else { return Err(std::io::ErrorKind::InvalidInput.into()) };
    let mut program = Command::new(program);
    program.args(arguments).stdin(Stdio::null()).process_group(0);
    run_to_end(program, output, stopped)
}

fn run_to_end(
    mut command: Command,
    output: &File,
    stopped: impl Fn() -> bool,
) -> std::io::Result<ExitStatus> {
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    // SAFETY: runs between fork and exec; it makes a system call only.
    unsafe {
        command.pre_exec(|| {
            let _ = process::die_with_parent();
            Ok(())
        });
    }
    let mut child = command.spawn()?;
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

/// Starts a command with `sh -c` as the leader of a process group; its output goes to the streams of this
/// process, or only to standard error with `only_on_errors`. The caller reaps it.
pub fn start(command: &str, only_on_errors: bool) -> std::io::Result<u32> {
    let mut shell = shell(command);
    if only_on_errors {
        shell.stdout(std::io::stderr());
    }
    Ok(shell.spawn()?.id())
}

/// Returns a command that runs `sh -c` as the leader of a process group, with default handling of the signals
/// that this program handles or ignores, as a shell expects.
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).process_group(0);
    // SAFETY: runs between fork and exec; it makes system calls only.
    unsafe {
        shell.pre_exec(|| {
            for changed in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGXFSZ] {
                signal::restore_default(changed);
            }
            Ok(())
        });
    }
    shell
}

fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    process::kill_group(child.id(), libc::SIGKILL);
    child.wait()
}
