//! Transport through a remote shell: `ssh HOST fathom agent --stdio`, or any command that runs another one on a
//! host (`kubectl exec -i`, `ip netns exec`, `docker exec -i`). This opens no port, and the site's own rules
//! decide on access.

use super::Pipe;
use fathom_errors::plain;
use fathom_sys::file::set_nonblocking;
use fathom_sys::process;
use fathom_sys::socket::Awaited;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The default shell. It must not ask for passwords, because a run may have a hundred hosts.
const SSH: &str = "ssh -T -o BatchMode=yes {host}";
/// Maximum number of bytes of a shell's standard error that are kept.
const MOST_WORDS: usize = 4096;
/// Maximum time for which a shell may run after its agent has ended.
const END_PATIENCE: Duration = Duration::from_millis(500);
/// Maximum time for which a shell may run if it has to remove a pushed program, or was told to end.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(5);

/// Why hosts cannot be reached through a shell.
#[derive(Debug, Error)]
pub enum ShellError {
    /// The command is empty or malformed.
    #[error("--remote-shell={0}: expected a command such as ssh, quotes closed")]
    NoCommand(String),
    /// The program to push cannot be read.
    #[error("--push: this program cannot be read: {error}", error = plain(.0))]
    NoProgram(io::Error),
}

/// Settings for reaching hosts through a shell.
#[derive(Clone, Debug)]
pub struct Shell {
    /// Words of the command, in which `{host}` is replaced by the host.
    words: Vec<String>,
    /// True if the shell passes the command to another shell, so that it must be quoted twice.
    quotes: bool,
    /// Path of the program on the hosts.
    program: String,
    /// This program's content, if it is pushed to the hosts.
    push: Option<Arc<Vec<u8>>>,
}

impl Shell {
    /// Settings for a command (default `ssh`) and a program on the hosts (default `fathom`).
    pub fn new(command: Option<&str>, program: Option<&str>, push: bool) -> Result<Shell, ShellError> {
        let text = command.unwrap_or(SSH);
        let mut words = shlex::split(text)
            .filter(|words| !words.is_empty())
            .ok_or_else(|| ShellError::NoCommand(text.to_owned()))?;
        if !words.iter().any(|word| word.contains("{host}")) {
            words.push("{host}".to_owned());
        }
        let name = words[0].rsplit('/').next().unwrap_or("");
        let quotes = matches!(name, "ssh" | "rsh" | "remsh" | "dbclient");
        let push = match push {
            true => Some(Arc::new(fs::read("/proc/self/exe").map_err(ShellError::NoProgram)?)),
            false => None,
        };
        Ok(Shell { words, quotes, program: program.unwrap_or("fathom").to_owned(), push })
    }

    /// Starts the shell for a host.
    pub fn connect(&self, host: &str) -> io::Result<ShellPipe> {
        let mut words = self.words.iter().map(|word| word.replace("{host}", host));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        match self.quotes {
            true => {
                command.arg(self.agent_words().iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
            }
            false => command.args(self.agent_words()),
        };
        // The shell gets its own process group, because the controller handles Ctrl-C itself and stops the
        // agents in order.
        command.process_group(0);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        for descriptor in [
            child.stdin.as_ref().map(AsRawFd::as_raw_fd),
            child.stdout.as_ref().map(AsRawFd::as_raw_fd),
            child.stderr.as_ref().map(AsRawFd::as_raw_fd),
        ]
        .into_iter()
        .flatten()
        {
            set_nonblocking(descriptor)?;
        }
        let program = self.push.clone().map(|bytes| (bytes, 0));
        let was_pushed = program.is_some();
        Ok(ShellPipe { child, program, was_pushed, said: VecDeque::new(), is_closed: false })
    }

    /// The command that runs on the host.
    fn agent_words(&self) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match &self.push {
            None => words(&[&self.program, "agent", "--stdio"]),
            Some(program) => words(&["sh", "-c", &push_script(program)]),
        }
    }
}

/// A script that reads the program from standard input, verifies it, runs it and removes it. `head` leaves the
/// rest of the input to the agent.
fn push_script(program: &[u8]) -> String {
    let sum: String = Sha256::digest(program).iter().map(|byte| format!("{byte:02x}")).collect();
    let (length, machine) = (program.len(), std::env::consts::ARCH);
    format!(
        "m=$(uname -m); [ \"$m\" = arm64 ] && m=aarch64; \
         if [ \"$m\" != {machine} ]; then echo \"fathom --push: this program is for {machine}, the host is $m\" >&2; exit 1; fi; \
         d=$(mktemp -d) || exit 1; trap 'trap \"\" HUP INT TERM; rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT TERM; \
         head -c {length} >\"$d/fathom\" && chmod 700 \"$d/fathom\" || exit 1; \
         echo \"{sum}  $d/fathom\" | sha256sum -c >/dev/null 2>&1 || \
         {{ echo 'fathom --push: the program arrived damaged' >&2; exit 1; }}; \
         \"$d/fathom\" agent --stdio"
    )
}

/// Quotes a word for another shell.
fn quoted(word: &str) -> String {
    // Quoting fails only for a NUL, which no argument contains.
    shlex::try_quote(word).map_or_else(|_| String::new(), |word| word.into_owned())
}

/// A running shell.
pub struct ShellPipe {
    child: Child,
    /// The program to push, and the number of bytes that have been sent.
    program: Option<(Arc<Vec<u8>>, usize)>,
    /// True if a program was pushed, which is removed at the end.
    was_pushed: bool,
    /// The last part of the shell's standard error.
    said: VecDeque<u8>,
    is_closed: bool,
}

impl ShellPipe {
    fn listen(&mut self) {
        let Some(errors) = &mut self.child.stderr else { return };
        let mut bytes = [0; 1024];
        loop {
            match errors.read(&mut bytes) {
                Ok(0) => self.child.stderr = None,
                Ok(count) => {
                    self.said.extend(&bytes[..count]);
                    let excess = self.said.len().saturating_sub(MOST_WORDS);
                    self.said.drain(..excess);
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.child.stderr = None,
            }
            return;
        }
    }

    /// Waits for at most this long for the shell to end; its exit status may explain why.
    fn exit_status(&mut self, patience: Duration) -> Option<String> {
        let deadline = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return None,
                Ok(Some(status)) => return Some(status.to_string()),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }
}

impl Pipe for ShellPipe {
    fn transport(&self) -> &'static str {
        "shell"
    }

    fn shows_keys(&self) -> bool {
        true
    }

    fn descriptors(&self, to_send: bool) -> Vec<Awaited> {
        let to_send = to_send || self.program.is_some();
        let output =
            self.child.stdout.as_ref().map(|pipe| Awaited { socket: pipe.as_raw_fd(), to_send: false });
        let errors =
            self.child.stderr.as_ref().map(|pipe| Awaited { socket: pipe.as_raw_fd(), to_send: false });
        let input = self.child.stdin.as_ref().filter(|_| to_send);
        let input = input.map(|pipe| Awaited { socket: pipe.as_raw_fd(), to_send: true });
        output.into_iter().chain(errors).chain(input).collect()
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.listen();
        match &mut self.child.stdout {
            Some(output) => output.read(bytes),
            None => Ok(0),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(input) = &mut self.child.stdin else { return Err(io::ErrorKind::BrokenPipe.into()) };
        while let Some((program, sent)) = &mut self.program {
            match input.write(&program[*sent..])? {
                0 => return Ok(0),
                count => *sent += count,
            }
            if *sent == program.len() {
                self.program = None;
            }
        }
        if bytes.is_empty() { Ok(0) } else { input.write(bytes) }
    }

    fn is_flushed(&self) -> bool {
        self.program.is_none()
    }

    fn last_words(&mut self) -> String {
        let status = self.exit_status(END_PATIENCE);
        self.listen();
        let said: Vec<u8> = self.said.iter().copied().collect();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join("; ");
        match status {
            Some(status) if last.is_empty() => status,
            Some(status) => format!("{last} ({status})"),
            None => last,
        }
    }

    fn close(&mut self) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        // The agent notices the end of its input and stops.
        self.child.stdin = None;
        self.child.stdout = None;
    }
}

impl Drop for ShellPipe {
    fn drop(&mut self) {
        self.close();
        let patience = if self.was_pushed { REMOVAL_PATIENCE } else { END_PATIENCE };
        if self.exit_status(patience).is_none() && matches!(self.child.try_wait(), Ok(None)) {
            process::kill_group(self.child.id(), libc::SIGTERM);
            let _ = self.exit_status(REMOVAL_PATIENCE);
            let _ = self.child.kill();
        }
        // The shell has ended or was just killed, so this does not block.
        let _ = self.child.wait();
    }
}
