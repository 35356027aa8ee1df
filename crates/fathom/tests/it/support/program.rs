//! Runs a program to completion with a time limit.

use super::skip;
use super::{PATIENCE, processes};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Poll interval of a run's state.
const POLL: Duration = Duration::from_millis(5);

/// The program under test.
pub(crate) fn path() -> PathBuf {
    std::env::var_os("FATHOM_TEST_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_fathom").into(), PathBuf::from)
}

/// True if the tests are run on another program.
pub(crate) fn is_another() -> bool {
    std::env::var_os("FATHOM_TEST_PROGRAM").is_some()
}

/// The fio to compare with: the one named by `FATHOM_TEST_FIO`, or the installed one.
pub(crate) fn reference() -> Result<PathBuf, String> {
    match std::env::var_os("FATHOM_TEST_FIO") {
        Some(path) => Ok(path.into()),
        None => super::skip::tool("fio").map(|()| "fio".into()),
    }
}

/// The release of a fio, such as (3, 41).
pub(crate) fn version(fio: &Path) -> Option<(u32, u32)> {
    let output = Command::new(fio).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (major, minor) = text.trim().strip_prefix("fio-")?.split_once('.')?;
    let minor = minor.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The option that makes fathom write block headers in the format of this fio.
pub(crate) fn header_format_of(fio: &Path) -> &'static str {
    match version(fio) {
        Some(version) if version < (3, 41) => "--verify_header_format=first",
        _ => "",
    }
}

/// `Ok` unless the program under test reports one of the options as known but not built.
pub(crate) fn knows(words: &str) -> Result<(), String> {
    let finished = Launch::fathom(Path::new("/")).words("--parse-only").words(words).run();
    match finished.stderr.lines().find(|line| line.contains("known but not built yet")) {
        Some(line) => Err(line.to_string()),
        None => Ok(()),
    }
}

/// The output of a program and its exit status.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// Exit status.
    pub(crate) status: ExitStatus,
    /// Time from the start to the end of the program.
    pub(crate) elapsed: Duration,
    /// Time from the start until all copies of its standard output were closed.
    pub(crate) stdout_closed: Duration,
}

impl Finished {
    /// The exit code; a signal counts as 128 plus its number, as in shells.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().or_else(|| self.status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
    }

    /// Standard error without informational lines: fathom's notes on the requested job, fio's messages within
    /// its report, and messages about waiting, which may occur in any run on a slow machine.
    pub(crate) fn complaints(&self) -> String {
        // A job either behaves as requested or reports what it does instead.
        const NOTES: [&str; 12] = [
            " has no effect",
            " have no effect",
            "; what exists is used\n",
            " does not exist; the directory is created\n",
            " and back after ",
            // The duration of a server's response is outside the test's control.
            "; http_quickack=1 shows its speed without that\n",
            ": reads beyond its end count as I/Os and move nothing\n",
            " % of the I/Os met latency_target with one I/O at a time",
            ": all its files are the same image\n",
            " files are one export, so their I/Os meet in the same places\n",
            ": requests that move no data count as blocks in the bandwidth; ",
            ": writes may complete in the cache of librbd on this machine",
        ];
        const INFORMATION: [&str; 4] = [
            "note: both iodepth >= 1 and synchronous I/O engine are selected",
            "fio: connected to NBD server",
            "fio: waiting for connection",
            "fio: multiple writers may overwrite",
        ];
        let is_note =
            |line: &&str| line.starts_with("fathom: job ") && NOTES.iter().any(|part| line.contains(part));
        let is_information = |line: &&str| {
            INFORMATION.iter().any(|start| line.starts_with(start)) || line.contains(" : Saving output of ")
        };
        let is_wait = |line: &&str| {
            let is_silence = line.starts_with("fathom: host ") && line.contains(" has been silent for ");
            is_silence || line.starts_with("fathom: ") && line.ends_with("Ctrl-C ends the wait\n")
        };
        // fio examines all block devices, and those of other tests come and go.
        let is_gone = |line: &&str| *line == "stat: No such file or directory\n";
        self.stderr
            .split_inclusive('\n')
            .filter(|line| !is_wait(line) && !is_gone(line) && !is_note(line) && !is_information(line))
            .collect()
    }

    /// Fails the test if a message ends in the number that the standard library appends to an error of the system.
    fn expect_plain_errors(&self) {
        // Assembled, as `tidy` refuses the text.
        let number = concat!("(os", " error ");
        let numbered = self.stdout.lines().chain(self.stderr.lines()).find(|line| line.contains(number));
        assert_eq!(numbered, None, "use fathom_errors::plain for this message");
    }

    /// Fails the test unless the program succeeded without any message.
    #[track_caller]
    pub(crate) fn expect_clean(self) -> Finished {
        let (code, complaints) = (self.code(), self.complaints());
        // The reason comes first, as the output may be long.
        assert!(
            code == 0 && complaints.is_empty(),
            "exit status {code}, complaints: {complaints:?}, standard output: {}",
            self.stdout
        );
        self
    }
}

/// A program to start.
pub(crate) struct Launch {
    command: Command,
    timeout: Duration,
}

impl Launch {
    /// The program under test, in `directory`.
    pub(crate) fn fathom(directory: &Path) -> Launch {
        Launch::of(&path(), directory)
    }

    /// Any program, in `directory`.
    pub(crate) fn of(program: &Path, directory: &Path) -> Launch {
        let mut command = Command::new(program);
        command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Launch { command, timeout: PATIENCE }
    }

    /// fathom in a control group; `members` is the file for joining it.
    pub(crate) fn in_group(directory: &Path, members: &Path) -> Launch {
        // The shell joins the group and is replaced by the program.
        let join = format!("echo $$ > {} && exec \"$@\"", members.display());
        let shell = Launch::of(Path::new("/bin/sh"), directory);
        shell.argument("-c").argument(join).argument("sh").argument(path())
    }

    /// The program under test as a user without privileges, or why that is impossible.
    pub(crate) fn unprivileged(directory: &Path) -> Result<Launch, String> {
        skip::root()?;
        skip::tool("setpriv")?;
        let launch = || {
            Launch::of(Path::new("setpriv"), directory)
                .words("--reuid=65534 --regid=65534 --clear-groups")
                .argument(path())
        };
        match launch().words("--version").run().code() {
            0 => Ok(launch()),
            _ => Err("other users may not run the program where it is".to_owned()),
        }
    }

    /// Sets an environment variable.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Launch {
        self.command.env(name, value);
        self
    }

    /// Adds arguments: the words of a text, split at spaces.
    pub(crate) fn words(mut self, text: &str) -> Launch {
        self.command.args(text.split_whitespace());
        self
    }

    /// Adds one argument unchanged.
    pub(crate) fn argument(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Launch {
        self.command.arg(argument);
        self
    }

    /// Sets the time limit.
    pub(crate) fn timeout(mut self, timeout: Duration) -> Launch {
        self.timeout = timeout;
        self
    }

    /// Starts it.
    #[track_caller]
    pub(crate) fn start(mut self) -> Running {
        let started = Instant::now();
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("{:?} cannot be started: {error}", self.command));
        Running {
            stdout: Collector::new(child.stdout.take().expect("piped"), started),
            stderr: Collector::new(child.stderr.take().expect("piped"), started),
            child,
            started,
            timeout: self.timeout,
        }
    }

    /// Starts it and waits for its end.
    #[track_caller]
    pub(crate) fn run(self) -> Finished {
        self.start().finish()
    }
}

/// A started program. If dropped before its end, it is killed together with its descendants.
pub(crate) struct Running {
    child: Child,
    stdout: Collector,
    stderr: Collector,
    started: Instant,
    timeout: Duration,
}

impl Running {
    /// Process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, named as for `kill`.
    pub(crate) fn signal(&self, name: &str) {
        processes::signal(self.pid(), name);
    }

    /// Sends a signal and waits until it has arrived, because a second one would otherwise be lost.
    #[track_caller]
    pub(crate) fn signal_and_see(&self, name: &str) {
        processes::signal_and_see(self.pid(), name);
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits until standard output satisfies the condition; returns that output and the time.
    #[track_caller]
    pub(crate) fn wait_for_output(&mut self, condition: impl Fn(&str) -> bool) -> (String, Duration) {
        loop {
            let text = self.stdout.text();
            if condition(&text) {
                return (text, self.elapsed());
            }
            self.check_time(&text);
            sleep(POLL);
        }
    }

    /// Does the same with standard error appended to standard output: fathom keeps messages out of
    /// machine-readable output, and fio does not.
    #[track_caller]
    pub(crate) fn wait_for_either(&mut self, condition: impl Fn(&str) -> bool) -> String {
        loop {
            let text = self.stdout.text() + &self.stderr.text();
            if condition(&text) {
                return text;
            }
            self.check_time(&text);
            sleep(POLL);
        }
    }

    /// Waits until this text appears on standard error.
    #[track_caller]
    pub(crate) fn wait_for_message(&self, message: &str) {
        while !self.stderr.text().contains(message) {
            self.check_time(&format!("it does not say: {message}"));
            sleep(POLL);
        }
    }

    /// Standard error output so far.
    pub(crate) fn errors(&self) -> String {
        self.stderr.text()
    }

    /// Waits until tasks of the program have slept `count` times: once per I/O for jobs with `rate_iops`.
    #[track_caller]
    pub(crate) fn wait_for_sleeps(&self, count: u64) {
        let all = || {
            let below = processes::descendants(self.pid());
            std::iter::once(self.pid()).chain(below).map(processes::sleeps).sum::<u64>()
        };
        while all() < count {
            self.check_time("its tasks do not sleep");
            sleep(POLL);
        }
    }

    /// Waits until the program has ended and its output is closed.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Finished {
        self.finish_in_time().unwrap_or_else(|state| panic!("{}", self.told_late(&state)))
    }

    /// Does the same for a program that may not end. The error describes how far it got; on drop it is killed.
    pub(crate) fn finish_in_time(&mut self) -> Result<Finished, String> {
        let mut ended = None;
        loop {
            if ended.is_none() {
                let status = self.child.try_wait().expect("the state of a child can be read");
                ended = status.map(|status| (status, self.elapsed()));
            }
            let closed = (self.stdout.closed(), self.stderr.closed());
            if let (Some((status, elapsed)), (Some(stdout_closed), Some(_))) = (ended, closed) {
                let (stdout, stderr) = (self.stdout.text(), self.stderr.text());
                let finished = Finished { stdout, stderr, status, elapsed, stdout_closed };
                finished.expect_plain_errors();
                return Ok(finished);
            }
            if self.elapsed() >= self.timeout {
                return Err(format!("ended: {ended:?}, output closed: {closed:?}"));
            }
            sleep(POLL);
        }
    }

    #[track_caller]
    fn check_time(&self, state: &str) {
        assert!(self.elapsed() < self.timeout, "{}", self.told_late(state));
    }

    fn told_late(&self, state: &str) -> String {
        format!(
            "no end after {:?}\nstate: {state}\nstdout: {}\nstderr: {}",
            self.timeout,
            self.stdout.text(),
            self.stderr.text()
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            processes::kill_tree(self.child.id());
            // A child that is stuck in the kernel cannot be waited for; it ends when its device does.
            let _ = self.child.try_wait();
        }
    }
}

/// Reads a pipe to its end on a separate thread.
struct Collector(Arc<Mutex<Collected>>);

#[derive(Default)]
struct Collected {
    bytes: Vec<u8>,
    closed: Option<Duration>,
}

impl Collector {
    fn new(mut pipe: impl Read + Send + 'static, started: Instant) -> Collector {
        let shared = Arc::new(Mutex::new(Collected::default()));
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let count = pipe.read(&mut buffer).unwrap_or(0);
                let mut collected = own.lock().expect("no reader panics");
                collected.bytes.extend_from_slice(&buffer[..count]);
                if count == 0 {
                    collected.closed = Some(started.elapsed());
                    return;
                }
            }
        });
        Collector(shared)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no reader panics").bytes).into_owned()
    }

    fn closed(&self) -> Option<Duration> {
        self.0.lock().expect("no reader panics").closed
    }
}
