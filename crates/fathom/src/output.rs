//! Where text goes: standard output and error, or the file of `--output`; and the status line, which always goes to the
//! terminal.
//!
//! With the report for people, messages stand among its lines, in fio's order. A report for programs has its stream to
//! itself: whatever else is said goes to standard error, so that a reader can begin at the first byte.

use fathom_report::eta;
use fathom_spec::{Message, Stream};
use fathom_stats::live::LiveTick;
use fathom_tools::printer::harmless;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The streams of one run.
pub(crate) struct Output {
    file: Option<File>,
    /// Nothing but the report may reach the stream of the report.
    only_report: bool,
    status_line_length: usize,
    newline_every: Option<Duration>,
    last_newline: Instant,
    lost: Option<io::Error>,
}

impl Output {
    /// Everything goes to the terminal.
    pub(crate) fn terminal() -> Output {
        Output {
            file: None,
            only_report: false,
            status_line_length: 0,
            newline_every: None,
            last_newline: Instant::now(),
            lost: None,
        }
    }

    /// Reports and messages go to a file, which is emptied first.
    pub(crate) fn file(path: &Path) -> io::Result<Output> {
        Ok(Output { file: Some(File::create(path)?), ..Output::terminal() })
    }

    /// Keeps everything but the report out of the report's stream.
    pub(crate) fn only_report(&mut self, wanted: bool) {
        self.only_report = wanted;
    }

    /// Keeps a status line every so often by starting a new one.
    pub(crate) fn keep_status_lines(&mut self, every: Option<Duration>) {
        self.newline_every = every;
    }

    /// A message of the parser.
    pub(crate) fn say(&mut self, message: &Message) {
        match message.stream {
            Stream::Stdout => self.line(&message.text),
            Stream::Stderr => self.error_line(&message.text),
        }
    }

    /// An informational message.
    pub(crate) fn line(&mut self, text: &str) {
        if self.only_report {
            return self.error_line(text.trim_start_matches('\n'));
        }
        self.bytes(format!("{}\n", harmless(text)).as_bytes());
    }

    /// Part of a report.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let written = match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => {
                self.status_line_length = 0;
                let mut stdout = io::stdout().lock();
                // Names and descriptions of a job file that came from elsewhere must not steer the terminal.
                let bytes = match stdout.is_terminal() {
                    true => Cow::Owned(harmless(&String::from_utf8_lossy(bytes)).into_owned().into_bytes()),
                    false => Cow::Borrowed(bytes),
                };
                stdout.write_all(&bytes).and_then(|()| stdout.flush())
            }
        };
        // A reader that has gone away (`| head`) is no error of ours.
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost.get_or_insert(error);
        }
    }

    /// Says on standard error if part of the report could not be written; true if so.
    pub(crate) fn tell_lost(&self) -> bool {
        let Some(error) = &self.lost else { return false };
        let place = if self.file.is_some() { "the file of --output" } else { "standard output" };
        // If even this cannot be written, the exit status still tells.
        let _ = writeln!(io::stderr(), "fathom: the report is incomplete: cannot write to {place}: {error}");
        true
    }

    /// A message for standard error.
    pub(crate) fn error_line(&mut self, text: &str) {
        let line = format!("{}\n", harmless(text));
        let _ = match &mut self.file {
            Some(file) if !self.only_report => file.write_all(line.as_bytes()),
            _ => io::stderr().write_all(line.as_bytes()),
        };
    }

    /// Replaces the status line.
    pub(crate) fn status_line(&mut self, tick: &LiveTick) {
        let line = eta::status_line(tick);
        let padded = eta::padded(&line, self.status_line_length);
        self.status_line_length = line.chars().count();
        let mut stdout = io::stdout().lock();
        let newline = self.newline_every.is_some_and(|every| self.last_newline.elapsed() >= every);
        let start = if newline { "\n" } else { "" };
        if newline {
            self.last_newline = Instant::now();
        }
        let _ = write!(stdout, "{start}{padded}\r").and_then(|()| stdout.flush());
    }
}
