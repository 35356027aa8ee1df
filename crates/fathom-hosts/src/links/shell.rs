//! A way through a remote shell: `ssh HOST fathom agent --stdio`, or any command that runs another one on a host (`kubectl exec -i`,
//! `ip netns exec`, `docker exec -i`). No port is opened, and who may do what is the site's own affair.

use super::Pipe;
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

/// The usual shell. It must not ask for a password: there may be a hundred of them.
const SSH: &str = "ssh -T -o BatchMode=yes {host}";
/// What is kept of what a shell says on its standard error.
const MOST_WORDS: usize = 4096;
/// How long a shell may take to end when its agent has.
const END_PATIENCE: Duration = Duration::from_millis(500);
/// How long it may take where it has a program to remove first, or was told to end.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(5);

/// Why hosts cannot be reached by a shell.
#[derive(Debug, Error)]
pub enum ShellError {
    /// No command.
    #[error("--remote-shell={0}: expected a command such as ssh, quotes closed")]
    NoCommand(String),
    /// Nothing to send.
    #[error("--push: this program cannot be read: {0}")]
    NoProgram(io::Error),
}

/// How to reach hosts by a shell.
#[derive(Clone, Debug)]
pub struct Shell {
    /// Words of the command, `{host}` where the host stands.
    words: Vec<String>,
    /// The shell gives the command to another one, so it has to be quoted once more.
    quotes: bool,
    /// The program on the hosts.
    program: String,
    /// This program, where it is to be sent first.
    push: Option<Arc<Vec<u8>>>,
}

impl Shell {
    /// By this command (`ssh` without one), for this program there (`fathom` without one).
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
        // Ctrl-C is the controller's to handle: it stops the agents in order.
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

    /// What runs on the host.
    fn agent_words(&self) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match &self.push {
            None => words(&[&self.program, "agent", "--stdio"]),
            Some(program) => words(&["sh", "-c", &push_script(program)]),
        }
    }
}

/// Takes the program from its standard input, checks it, runs it, removes it. What `head` leaves is the agent's.
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

/// A word as one for another shell.
fn quoted(word: &str) -> String {
    // Only a NUL cannot be quoted, and no word has one.
    shlex::try_quote(word).map_or_else(|_| String::new(), |word| word.into_owned())
}

/// A shell that runs.
pub struct ShellPipe {
    child: Child,
    /// The program to send first, and how much of it has been.
    program: Option<(Arc<Vec<u8>>, usize)>,
    /// There was a program to send, which is removed at the end.
    was_pushed: bool,
    /// What it said on standard error.
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

    /// Waits for the end of the shell, which tells why there is one. No longer than that.
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
        // The agent sees the end of its input, and stops.
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
        // It has ended, or was told to at once.
        let _ = self.child.wait();
    }
}
