//! The destination of text: standard output and error, or the file of `--output`. The status line always goes
//! to the terminal.
//!
//! Every text has a [`Kind`], and only [`Kind::way`] determines the destination of a kind. If the report is for
//! people, fio's messages appear among its lines, in fio's order; errors also go to standard error if the
//! report goes to a file. If the report is for programs, its stream contains only the report, whether it is
//! standard output or the file of `--output`, and all messages go to standard error. Our notes, which fio does
//! not have, always go to standard error.

use fathom_command::printer::harmless;
use fathom_errors::plain;
use fathom_report::eta;
use fathom_report::header::layout_line;
use fathom_run::message::Message as Said;
use fathom_spec::{Message, Stream};
use fathom_stats::live::LiveTick;
use fathom_sys::fifo;
use fathom_sys::signal::SignalQueue;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Poll interval while waiting for the reader of a named pipe.
const LOOK: Duration = Duration::from_millis(50);

/// The kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Part of a report.
    Report,
    /// Lines that fio prints within its report, and notes.
    Information,
    /// An error that ended a job.
    Failure,
    /// Text for standard error.
    Error,
}

/// The destination of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    /// The stream of the report: the file of `--output`, or standard output.
    report: bool,
    /// Standard error.
    errors: bool,
}

/// Destination and reader of the report.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// True if the report is machine-readable.
    only_report: bool,
    /// True if it goes to a file.
    is_file: bool,
}

impl Kind {
    fn way(self, text: &str, place: Place) -> Way {
        match self {
            Kind::Report => Way { report: true, errors: false },
            _ if place.only_report => Way { report: false, errors: true },
            Kind::Information if is_ours(text) => Way { report: false, errors: true },
            Kind::Information | Kind::Failure => Way { report: true, errors: false },
            Kind::Error => Way { report: place.is_file, errors: true },
        }
    }
}

/// The streams of one run.
pub struct Output {
    file: Option<File>,
    place: Place,
    status_line_length: usize,
    newline_every: Option<Duration>,
    last_newline: Instant,
    /// Pending text for the report's stream and for standard error.
    report: Vec<u8>,
    errors: Vec<u8>,
    lost: Option<io::Error>,
}

impl Output {
    /// Sends all output to the terminal.
    pub fn terminal() -> Output {
        Output {
            file: None,
            place: Place::default(),
            status_line_length: 0,
            newline_every: None,
            last_newline: Instant::now(),
            report: Vec::new(),
            errors: Vec::new(),
            lost: None,
        }
    }

    /// Sends reports and messages to a file, which is truncated first.
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
        output.place.is_file = true;
        Ok(output)
    }

    /// Sets whether the report is machine-readable.
    pub fn only_report(&mut self, wanted: bool) {
        self.place.only_report = wanted;
    }

    /// Preserves a status line once per interval by starting a new one.
    pub fn keep_status_lines(&mut self, every: Option<Duration>) {
        self.newline_every = every;
    }

    /// Prints a message of the parser.
    pub fn say(&mut self, message: &Message) {
        match message.stream {
            Stream::Stderr if !is_ours(&message.text) => self.error_line(&message.text),
            _ => self.line(&message.text),
        }
    }

    /// Prints a message of the run.
    pub fn tell(&mut self, message: &Said) {
        match message {
            Said::Output(text) => self.line(text),
            Said::Error(text) => self.error_line(text),
            Said::Failure(text) => self.failure_line(text),
            // The line is only of interest on a terminal.
            Said::LayingOut { job, files, bytes } if !self.place.only_report => {
                self.line(&layout_line(job, *files, *bytes));
            }
            Said::LayingOut { .. } | Said::Figures(_) | Said::StageChanged => {}
        }
    }

    /// Prints an informational message.
    pub fn line(&mut self, text: &str) {
        self.put(Kind::Information, text);
    }

    /// Prints an error that ended a job.
    pub fn failure_line(&mut self, text: &str) {
        // The preceding empty line separates parts of the human-readable report, so a machine-readable one does
        // not need it.
        let text = if self.place.only_report { text.trim_start_matches('\n') } else { text };
        self.put(Kind::Failure, text);
    }

    /// Prints a message to standard error, and adds it to a human-readable report that goes to a file.
    pub fn error_line(&mut self, text: &str) {
        self.put(Kind::Error, text);
    }

    /// Prints a part of a report.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let way = Kind::Report.way("", self.place);
        // Names and descriptions from a job file of unknown origin must not control the terminal.
        match self.file.is_none() && io::stdout().is_terminal() {
            true => self.send(way, harmless(&String::from_utf8_lossy(bytes)).as_bytes()),
            false => self.send(way, bytes),
        }
    }

    fn put(&mut self, kind: Kind, text: &str) {
        let way = kind.way(text, self.place);
        self.send(way, format!("{}\n", harmless(text)).as_bytes());
    }

    fn send(&mut self, way: Way, bytes: &[u8]) {
        if way.report {
            if self.file.is_none() {
                self.status_line_length = 0;
            }
            self.report.extend_from_slice(bytes);
        }
        if way.errors {
            self.errors.extend_from_slice(bytes);
        }
        self.advance(Duration::ZERO);
    }

    /// Writes as many bytes as possible without blocking, so that a reader that does not read cannot prevent
    /// the run from being stopped.
    pub fn advance(&mut self, wait: Duration) {
        let written = match &self.file {
            Some(file) => fifo::write_some(file, &self.report, wait),
            None => fifo::write_some(&io::stdout(), &self.report, wait),
        };
        match written {
            Ok(count) => drop(self.report.drain(..count)),
            Err(error) => {
                self.report.clear();
                // A reader that has exited (as with `| head`) is not an error.
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

    /// Writes all pending text. The first signal that asks to end is only recorded and returned, because the
    /// report is worth waiting for; the second signal discards the unread remainder.
    pub fn finish(&mut self, signals: &SignalQueue) -> Option<i32> {
        let mut asked = None;
        while self.has_more() {
            self.advance(LOOK);
            if let Some(signal) = signals.asked_to_end() {
                if asked.is_some() {
                    self.lost.get_or_insert_with(|| io::Error::other("no process read it"));
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

    /// Reports on standard error if part of the report could not be written; true if so.
    pub fn report_lost(&self) -> bool {
        let Some(error) = &self.lost else { return false };
        let place = if self.file.is_some() { "the file of --output" } else { "standard output" };
        // If this line cannot be written either, the exit status still reports the loss.
        let _ = writeln!(
            io::stderr(),
            "fathom: the report is incomplete: cannot write to {place}: {error}",
            error = plain(&error)
        );
        true
    }

    /// Replaces the status line. A line that cannot be written immediately is dropped, because it would be
    /// outdated later.
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
    /// Waits for the reader like any program, because there is no run to stop.
    fn drop(&mut self) {
        while self.has_more() {
            self.advance(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_report::{Chosen, declarations};
    use proptest::prelude::*;

    const KINDS: [Kind; 4] = [Kind::Report, Kind::Information, Kind::Failure, Kind::Error];

    /// One message of each kind, with this text.
    fn all(text: &str) -> Vec<Said> {
        let kinds = vec![
            Said::Output(text.to_owned()),
            Said::Error(text.to_owned()),
            Said::Failure(text.to_owned()),
            Said::Figures(text.to_owned()),
            Said::StageChanged,
            Said::LayingOut { job: text.to_owned(), files: 2, bytes: 1 << 30 },
        ];
        for kind in &kinds {
            // This match fails to compile for a new kind, which must be added to the list above.
            match kind {
                Said::Output(_) | Said::Error(_) | Said::Failure(_) => {}
                Said::Figures(_) | Said::StageChanged | Said::LayingOut { .. } => {}
            }
        }
        kinds
    }

    fn texts() -> impl Strategy<Value = String> {
        ("(|\\n|fathom: |fathom: job a: |fio: |note: |\\{)", ".{0,40}")
            .prop_map(|(start, rest)| start + &rest)
    }

    proptest! {
        #[test]
        fn nothing_but_the_report_is_where_a_program_reads_it(text in texts(), is_file: bool) {
            let place = Place { only_report: true, is_file };
            for kind in KINDS {
                prop_assert_eq!(kind.way(&text, place).report, kind == Kind::Report);
                prop_assert_eq!(kind.way(&text, place).errors, kind != Kind::Report);
            }
        }

        #[test]
        fn nothing_is_lost_for_people(text in texts(), is_file: bool) {
            let place = Place { only_report: false, is_file };
            for kind in KINDS {
                let way = kind.way(&text, place);
                prop_assert!(way.report || way.errors);
                prop_assert!(kind != Kind::Information || !is_ours(&text) || !way.report);
            }
        }
    }

    /// Checks that the file of a program contains only the report, for arbitrary output of a parser, a worker
    /// or a supervisor.
    #[test]
    fn the_file_of_a_program_has_the_report_alone() {
        let text = "fio: what a test says";
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("report");
        for format in declarations().iter().filter(|format| !format.for_people) {
            let chosen = Chosen::new(&[format.name.to_owned()], 3);
            let mut output = Output::file(&path).expect("opened");
            output.only_report(!chosen.are_for_people());
            output.say(&Message::stdout(text));
            output.say(&Message::stderr(text));
            all(text).iter().for_each(|message| output.tell(message));
            output.bytes(b"document");
            all(text).iter().for_each(|message| output.tell(message));
            drop(output);
            assert_eq!(std::fs::read(&path).expect("read"), b"document", "{}", format.name);
        }
    }
}
