//! One recording: the recorder's loop, the command that is run, the status line, and the end.

use super::command::Child;
use super::parts::Files;
use crate::running::status_of_signal;
use crate::{columns, figures};
use fathom_command::{Failure, Streams};
use fathom_stats::counted;
use fathom_sys::process::Ended;
use fathom_sys::signal::{OF_USERS, SignalQueue, wait_readable};
use fathom_sys::usage::Usage;
use std::io::IsTerminal;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Maximum and minimum time between two readings of the kernel's buffers.
pub(super) const LONGEST_ROUND: Duration = Duration::from_millis(100);
const SHORTEST_ROUND: Duration = Duration::from_millis(2);
/// SIGTERM.
const TERMINATE: i32 = 15;
/// Interval between two status lines on a terminal.
const LINE: Duration = Duration::from_secs(1);

/// What is recorded, and where it goes.
pub(super) trait Recording {
    /// A quarter of a buffer, in bytes; a reading should find no more than that.
    fn ample(&self) -> u64;
    /// Maximum time between two polls.
    fn longest_round(&self) -> Duration {
        LONGEST_ROUND
    }
    /// Descriptors that become readable when [`look`](Recording::look) is urgent.
    fn urgent(&self) -> Vec<RawFd> {
        Vec::new()
    }
    /// Does what is urgent.
    fn look(&mut self) -> Result<(), Failure> {
        Ok(())
    }
    /// Moves the recorded events from the kernel's buffers to the trace; returns the number of bytes in the fullest buffer.
    fn drain(&mut self) -> Result<u64, Failure>;
    /// Begins the next part of the trace.
    fn next_part(&mut self, files: &mut Files, spent: Spent) -> Result<(), Failure>;
    /// True once nothing more can come.
    fn is_over(&self) -> bool {
        false
    }
    /// Stops to record.
    fn stop(&mut self) -> Result<(), Failure>;
    /// Ends the trace, after the last [`drain`](Recording::drain).
    fn finish(&mut self, spent: Spent) -> Result<Summary, Failure>;
    /// What is recorded, for people.
    fn subject(&self) -> String;
    /// `1.2k reads/s (84 MB/s), depth 7`, over the `seconds` since the call before.
    fn rates(&mut self, seconds: f64) -> String;
}

/// Time that the recording and the recorder took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    pub(super) time: Duration,
    /// User and system time of the recorder in µs.
    pub(super) recorder_us: (u64, u64),
}

/// What is said at the end.
pub(super) struct Summary {
    pub(super) sums: String,
    /// Number of records, and what they are.
    pub(super) records: (u64, &'static str),
    pub(super) bytes: u64,
    pub(super) path: PathBuf,
    pub(super) parts: u32,
    /// What is missing, one line each.
    pub(super) missing: Vec<String>,
}

/// Limits of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) time: Option<Duration>,
    pub(super) split: Option<Duration>,
}

/// A recording in progress.
pub(super) struct Session<'a, 'b, 's> {
    recording: &'a mut dyn Recording,
    files: &'a mut Files,
    streams: &'b mut Streams<'s>,
    signals: SignalQueue,
    is_asked_to_end: bool,
    started: Instant,
    usage: Usage,
    line: Line,
}

/// State of the status line on a terminal.
struct Line {
    is_drawn: bool,
    columns: usize,
    drawn: Instant,
}

impl<'a, 'b, 's> Session<'a, 'b, 's> {
    pub(super) fn new(
        recording: &'a mut dyn Recording,
        files: &'a mut Files,
        streams: &'b mut Streams<'s>,
    ) -> Result<Session<'a, 'b, 's>, Failure> {
        let signals = SignalQueue::new(&OF_USERS).map_err(Failure::because)?;
        let line = Line { is_drawn: std::io::stderr().is_terminal(), columns: 0, drawn: Instant::now() };
        Ok(Session {
            recording,
            files,
            streams,
            signals,
            is_asked_to_end: false,
            started: Instant::now(),
            usage: Usage::of_thread(),
            line,
        })
    }

    /// Records until the end; returns the exit code.
    pub(super) fn run(mut self, limits: Limits, mut child: Option<Child>) -> Result<u8, Failure> {
        // The terminal belongs to the command, so no status line is drawn.
        self.line.is_drawn &= child.is_none();
        if let Some(child) = &mut child {
            child.go()?;
        }
        let recorded = self.record(limits, child.as_mut());
        self.erase();
        let recorded = recorded.and_then(|()| self.finish());
        if recorded.is_err() {
            // Recording stops first, because events cost time even if nothing reads them. The first error is
            // the one that is reported.
            let _ = self.recording.stop();
        }
        // The command continues even if the trace cannot be written, so its end is awaited.
        let ended = child.as_mut().map(|child| self.wait_for(child));
        recorded?;
        Ok(match ended {
            None => 0,
            Some(Ended::Exited(code)) => u8::try_from(code).unwrap_or(u8::MAX),
            Some(Ended::Killed(signal)) => status_of_signal(signal),
        })
    }

    /// Waits for the end of the command. A second signal to the recorder kills the command.
    fn wait_for(&self, child: &mut Child) -> Ended {
        loop {
            if let Some(ended) = child.ended() {
                return ended;
            }
            wait_readable(&[self.signals.descriptor()], LONGEST_ROUND);
            if self.signals.asked_to_end().is_some() {
                child.kill();
            }
        }
    }

    fn record(&mut self, limits: Limits, mut child: Option<&mut Child>) -> Result<(), Failure> {
        let end = limits.time.and_then(|time| self.started.checked_add(time));
        let mut next_part = limits.split.map(|split| self.started + split);
        let (mut round, ample) = (SHORTEST_ROUND, self.recording.ample());
        loop {
            let rest = end.map_or(round, |end| end.saturating_duration_since(Instant::now()).min(round));
            self.wait(rest)?;
            let held = self.recording.drain()?;
            round = next_round(round, held, ample).min(self.recording.longest_round());
            if next_part.is_some_and(|moment| moment <= Instant::now()) {
                self.recording.next_part(self.files, self.spent())?;
                next_part = limits.split.map(|split| Instant::now() + split);
            }
            self.draw()?;
            if self.is_asked_to_end {
                // Ctrl-C on a terminal also reaches the command. Other signals are passed on, so that the
                // command does not continue either.
                if let Some(child) = &child {
                    child.terminate(TERMINATE);
                }
                return Ok(());
            }
            let command_ended = child.as_mut().is_some_and(|child| child.ended().is_some());
            let is_over = command_ended || self.recording.is_over();
            if is_over || end.is_some_and(|end| end <= Instant::now()) {
                return Ok(());
            }
        }
    }

    /// Waits for a time or a signal, and does what is urgent meanwhile.
    fn wait(&mut self, time: Duration) -> Result<(), Failure> {
        let until = Instant::now() + time;
        let mut descriptors = self.recording.urgent();
        descriptors.push(self.signals.descriptor());
        loop {
            wait_readable(&descriptors, until.saturating_duration_since(Instant::now()));
            self.recording.look()?;
            self.is_asked_to_end |= self.signals.asked_to_end().is_some();
            if self.is_asked_to_end || Instant::now() >= until {
                return Ok(());
            }
        }
    }

    fn spent(&self) -> Spent {
        let usage = Usage::of_thread().since(self.usage);
        Spent { time: self.started.elapsed(), recorder_us: (usage.user_us, usage.system_us) }
    }

    /// Stops recording, writes the remaining events, and reports what was recorded.
    fn finish(&mut self) -> Result<(), Failure> {
        self.recording.stop()?;
        let time = self.started.elapsed();
        self.recording.drain()?;
        let spent = Spent { time, ..self.spent() };
        let summary = self.recording.finish(spent)?;
        let (user, system) = spent.recorder_us;
        let cost = (user + system) as f64 / 1e6 / time.as_secs_f64().max(1e-3) * 100.0;
        let duration = figures::duration(time.as_nanos() as f64);
        let subject = self.recording.subject();
        let err = &mut self.streams.err;
        writeln!(err, "recorded {duration} of {subject}: {}", summary.sums)?;
        let and_before = match summary.parts {
            0 | 1 => String::new(),
            parts => format!(", the last of {parts} files"),
        };
        writeln!(
            err,
            "trace: {}{and_before}; {} in {}; recording took {} of a processor",
            summary.path.display(),
            counted(summary.records.0, summary.records.1),
            figures::size(summary.bytes),
            figures::percent(cost)
        )?;
        for line in summary.missing {
            writeln!(err, "{line}")?;
        }
        Ok(())
    }

    /// Draws the status line, such as `recording vda 00:12: 1.2k reads/s (84 MB/s), depth 7`.
    fn draw(&mut self) -> Result<(), Failure> {
        let since = self.line.drawn.elapsed();
        if !self.line.is_drawn || since < LINE {
            return Ok(());
        }
        let seconds = self.started.elapsed().as_secs();
        let rates = self.recording.rates(since.as_secs_f64());
        let (minutes, subject) = (seconds / 60, self.recording.subject());
        let text = format!("recording {subject} {minutes:02}:{:02}: {rates}", seconds % 60);
        let text = columns::cut(&text, columns::of_messages().saturating_sub(1));
        let padded = columns::left(&text, self.line.columns);
        self.streams.err.line_start()?;
        self.streams.err.write_all(padded.as_bytes())?;
        self.streams.err.flush()?;
        self.line.columns = columns::width(&text);
        self.line.drawn = Instant::now();
        Ok(())
    }

    /// Clears the status line. Errors are ignored, because the trace matters more than the terminal.
    fn erase(&mut self) {
        if self.line.columns > 0 {
            let blanks = " ".repeat(std::mem::take(&mut self.line.columns));
            let err = &mut self.streams.err;
            let cleared = err.line_start().and_then(|()| err.write_all(blanks.as_bytes()));
            let _ = cleared.and_then(|()| err.line_start());
        }
    }
}

/// Time until the next reading of the buffers, by which the fullest one should be a quarter full.
fn next_round(round: Duration, held: u64, ample: u64) -> Duration {
    let share = ample as f64 / held.max(1) as f64;
    round.mul_f64(share.clamp(0.1, 2.0)).clamp(SHORTEST_ROUND, LONGEST_ROUND)
}
