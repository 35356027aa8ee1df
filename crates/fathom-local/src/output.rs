//! Where text goes: standard output and error, or the file of `--output`; and the status line, which always goes to the
//! terminal.
//!
//! With the report for people, fio's messages stand among its lines, in fio's order; errors also reach standard error when that
//! report goes to a file. A report for programs has its stream to itself, whether that is standard output or the file of
//! `--output`: all messages go to standard error. Notes of ours, which fio does not have, always do.

use fathom_command::printer::harmless;
use fathom_report::eta;
use fathom_spec::{Message, Stream};
use fathom_stats::live::LiveTick;
use fathom_sys::fifo;
use fathom_sys::signal::SignalQueue;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Pause between two looks whether a reader reads.
const LOOK: Duration = Duration::from_millis(50);

/// The streams of one run.
pub struct Output {
    file: Option<File>,
    /// The report is for programs.
    only_report: bool,
    status_line_length: usize,
    newline_every: Option<Duration>,
    last_newline: Instant,
    /// What is still to be written: of the report's stream, and of standard error.
    report: Vec<u8>,
    errors: Vec<u8>,
    lost: Option<io::Error>,
}

impl Output {
    /// Everything goes to the terminal.
    pub fn terminal() -> Output {
        Output {
            file: None,
            only_report: false,
            status_line_length: 0,
            newline_every: None,
            last_newline: Instant::now(),
            report: Vec::new(),
            errors: Vec::new(),
            lost: None,
        }
    }

    /// Reports and messages go to a file, which is emptied first.
    pub fn file(path: &Path) -> io::Result<Output> {
        let mut output = Output::terminal();
        let mut is_said = false;
        let mut keep_waiting = || {
            if !std::mem::replace(&mut is_said, true) {
                output.error_line(&format!(
                    "fathom: --output={} is a named pipe; waiting for its reader",
                    path.display()
                ));
            }
            true
        };
        let mut options = OpenOptions::new();
        let file = fifo::open(options.write(true).create(true).truncate(true), path, &mut keep_waiting)?;
        output.file = Some(file);
        Ok(output)
    }

    /// The report is for programs.
    pub fn only_report(&mut self, wanted: bool) {
        self.only_report = wanted;
    }

    /// Keeps a status line every so often by starting a new one.
    pub fn keep_status_lines(&mut self, every: Option<Duration>) {
        self.newline_every = every;
    }

    /// A message of the parser.
    pub fn say(&mut self, message: &Message) {
        match message.stream {
            Stream::Stderr if !is_ours(&message.text) => self.error_line(&message.text),
            _ => self.line(&message.text),
        }
    }

    /// An informational message.
    pub fn line(&mut self, text: &str) {
        let line = format!("{}\n", harmless(text));
        if self.only_report || is_ours(text) {
            self.errors.extend_from_slice(line.as_bytes());
            self.advance(Duration::ZERO);
        } else {
            self.bytes(line.as_bytes());
        }
    }

    /// What ended a job.
    pub fn failure_line(&mut self, text: &str) {
        match self.only_report {
            true => self.error_line(text.trim_start_matches('\n')),
            false => self.bytes(format!("{}\n", harmless(text)).as_bytes()),
        }
    }

    /// Part of a report.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.file.is_none() {
            self.status_line_length = 0;
        }
        // Names and descriptions of a job file that came from elsewhere must not steer the terminal.
        match self.file.is_none() && io::stdout().is_terminal() {
            true => self.report.extend_from_slice(harmless(&String::from_utf8_lossy(bytes)).as_bytes()),
            false => self.report.extend_from_slice(bytes),
        }
        self.advance(Duration::ZERO);
    }

    /// Writes what can be written now. A reader that does not read keeps nobody from stopping the run.
    pub fn advance(&mut self, wait: Duration) {
        let written = match &self.file {
            Some(file) => fifo::write_some(file, &self.report, wait),
            None => fifo::write_some(&io::stdout(), &self.report, wait),
        };
        match written {
            Ok(count) => drop(self.report.drain(..count)),
            Err(error) => {
                self.report.clear();
                // A reader that has gone away (`| head`) is no error of ours.
                if error.kind() != io::ErrorKind::BrokenPipe {
                    self.lost.get_or_insert(error);
                }
            }
        }
        match fifo::write_some(&io::stderr(), &self.errors, wait) {
            Ok(count) => drop(self.errors.drain(..count)),
            Err(_) => self.errors.clear(),
        }
    }

    /// Writes everything to its end. The report is worth waiting for, so the first signal that asks to end is only noted and
    /// returned; the second gives up what has not been read.
    pub fn finish(&mut self, signals: &SignalQueue) -> Option<i32> {
        let mut asked = None;
        while self.has_more() {
            self.advance(LOOK);
            if let Some(signal) = signals.asked_to_end() {
                if asked.is_some() {
                    self.lost.get_or_insert_with(|| io::Error::other("nobody read it"));
                    self.report.clear();
                    self.errors.clear();
                }
                asked = Some(signal);
            }
        }
        asked
    }

    fn has_more(&self) -> bool {
        !self.report.is_empty() || !self.errors.is_empty()
    }

    /// Says on standard error if part of the report could not be written; true if so.
    pub fn tell_lost(&self) -> bool {
        let Some(error) = &self.lost else { return false };
        let place = if self.file.is_some() { "the file of --output" } else { "standard output" };
        // If even this cannot be written, the exit status still tells.
        let _ = writeln!(io::stderr(), "fathom: the report is incomplete: cannot write to {place}: {error}");
        true
    }

    /// A message for standard error, which the report for people in a file has too.
    pub fn error_line(&mut self, text: &str) {
        let line = format!("{}\n", harmless(text));
        if self.file.is_some() && !self.only_report {
            self.report.extend_from_slice(line.as_bytes());
        }
        self.errors.extend_from_slice(line.as_bytes());
        self.advance(Duration::ZERO);
    }

    /// Replaces the status line. One that cannot be written at once is old when it could be.
    pub fn status_line(&mut self, tick: &LiveTick) {
        let line = eta::status_line(tick);
        let padded = eta::padded(&line, self.status_line_length);
        self.status_line_length = line.chars().count();
        let newline = self.newline_every.is_some_and(|every| self.last_newline.elapsed() >= every);
        let start = if newline { "\n" } else { "" };
        if newline {
            self.last_newline = Instant::now();
        }
        if self.file.is_some() || self.report.is_empty() {
            let _ = fifo::write_some(&io::stdout(), format!("{start}{padded}\r").as_bytes(), Duration::ZERO);
        }
    }
}

fn is_ours(text: &str) -> bool {
    text.starts_with("fathom: ")
}

impl Drop for Output {
    /// Whoever made it without a run to stop waits for its reader as any program does.
    fn drop(&mut self) {
        while self.has_more() {
            self.advance(LOOK);
        }
    }
}
