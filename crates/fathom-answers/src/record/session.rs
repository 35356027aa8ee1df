//! One recording: the recorder's loop, the command that is run, the status line, and the end.

use super::parts::Files;
use super::tally::Tally;
use super::{Order, names_of};
use crate::running::status_of_signal;
use crate::{columns, figures};
use fathom_command::{Failure, Streams};
use fathom_errors::plain;
use fathom_record::{Batch, Output, Recorder, Wishes};
use fathom_stats::counted;
use fathom_sys::signal::{OF_USERS, SignalQueue, wait_readable};
use fathom_sys::usage::Usage;
use fathom_sys::{clock, process};
use fathom_trace::side::{Begin, End, VERSION};
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Maximum and minimum time between two readings of the kernel's buffers.
const LONGEST_ROUND: Duration = Duration::from_millis(100);
const SHORTEST_ROUND: Duration = Duration::from_millis(2);
/// SIGTERM.
const TERMINATE: i32 = 15;
/// Interval between two status lines on a terminal.
const LINE: Duration = Duration::from_secs(1);

/// A recording in progress.
pub(super) struct Session<'a, 'b, 's> {
    recorder: Recorder,
    output: Output,
    files: &'a mut Files,
    streams: &'b mut Streams<'s>,
    names: String,
    /// A quarter of a buffer, in bytes; a reading should find no more than that.
    ample: u64,
    signals: SignalQueue,
    started: Instant,
    usage: Usage,
    batch: Batch,
    tally: Tally,
    line: Line,
}

/// State of the status line on a terminal.
struct Line {
    is_drawn: bool,
    columns: usize,
    drawn: Instant,
    tally: Tally,
}

impl<'a, 'b, 's> Session<'a, 'b, 's> {
    /// Opens the trace.
    pub(super) fn new(
        recorder: Recorder,
        wishes: &Wishes,
        files: &'a mut Files,
        streams: &'b mut Streams<'s>,
    ) -> Result<Session<'a, 'b, 's>, Failure> {
        let signals = SignalQueue::new(&OF_USERS).map_err(Failure::because)?;
        let begin = begin_of(wishes);
        let output = Output::open(files, begin).map_err(Failure::because)?;
        let line = Line {
            is_drawn: std::io::stderr().is_terminal(),
            columns: 0,
            drawn: Instant::now(),
            tally: Tally::default(),
        };
        Ok(Session {
            recorder,
            output,
            files,
            streams,
            names: names_of(&wishes.devices),
            ample: wishes.buffer_kib * 1024 / 4,
            signals,
            started: Instant::now(),
            usage: Usage::of_thread(),
            batch: Batch::default(),
            tally: Tally::default(),
            line,
        })
    }

    /// Records until the end; returns the exit code.
    pub(super) fn run(mut self, order: &Order) -> Result<u8, Failure> {
        let mut child = start(order)?;
        // The terminal belongs to the command, so no status line is drawn.
        self.line.is_drawn &= child.is_none();
        let recorded = self.record(order, child.as_mut());
        self.erase();
        let recorded = recorded.and_then(|()| self.finish());
        if recorded.is_err() {
            // Recording stops first, because events cost time even if nothing reads them. The first error is
            // the one that is reported.
            let _ = self.recorder.stop();
        }
        // The command continues even if the trace cannot be written, so its end is awaited.
        let status = child.as_mut().map(|child| self.wait_for(child)).transpose();
        recorded?;
        let status =
            status.map_err(|error| Failure::new(format!("the command: {error}", error = plain(&error))))?;
        Ok(status.map_or(0, |status| match (status.code(), status.signal()) {
            (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
            (None, signal) => status_of_signal(signal.unwrap_or(0)),
        }))
    }

    /// Waits for the end of the command. A second signal to the recorder kills the command.
    fn wait_for(&self, child: &mut Child) -> std::io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            wait_readable(&[self.signals.descriptor()], LONGEST_ROUND);
            if self.signals.asked_to_end().is_some() {
                child.kill()?;
            }
        }
    }

    fn record(&mut self, order: &Order, mut child: Option<&mut Child>) -> Result<(), Failure> {
        let end = order.time.and_then(|time| self.started.checked_add(time));
        let mut next_part = order.split.map(|split| self.started + split);
        let mut round = SHORTEST_ROUND;
        loop {
            let rest = end.map_or(round, |end| end.saturating_duration_since(Instant::now()).min(round));
            wait_readable(&[self.signals.descriptor()], rest);
            let held = self.drain()?;
            round = next_round(round, held, self.ample);
            if next_part.is_some_and(|moment| moment <= Instant::now()) {
                let end = self.sums(0);
                self.output.next_part(self.files, end).map_err(Failure::because)?;
                next_part = order.split.map(|split| Instant::now() + split);
            }
            self.draw()?;
            if self.signals.asked_to_end().is_some() {
                // Ctrl-C on a terminal also reaches the command. Other signals are passed on, so that the
                // command does not continue either.
                if let Some(child) = &child {
                    process::kill(child.id(), TERMINATE);
                }
                return Ok(());
            }
            let command_ended = child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if command_ended || end.is_some_and(|end| end <= Instant::now()) {
                return Ok(());
            }
        }
    }

    /// Moves the recorded events from the kernel's buffers to the trace; returns the number of bytes in the
    /// fullest buffer.
    fn drain(&mut self) -> Result<u64, Failure> {
        let held = self.recorder.drain(&mut self.batch).map_err(Failure::because)?;
        self.batch.events.iter().for_each(|event| self.tally.add(event));
        self.output.write(&mut self.batch).map_err(Failure::because)?;
        Ok(held)
    }

    /// Stops recording, writes the remaining events, and reports what was recorded.
    fn finish(&mut self) -> Result<(), Failure> {
        self.recorder.stop().map_err(Failure::because)?;
        let time = self.started.elapsed();
        self.drain()?;
        let lost = self.recorder.lost_in_all().map_err(Failure::because)?.max(self.recorder.losses().events);
        let end = self.sums(lost);
        let (gaps, path, parts) =
            (self.recorder.losses().gaps, self.output.path().to_owned(), self.output.parts());
        self.output.finish(end).map_err(Failure::because)?;
        let bytes = self.output.bytes();
        let seconds = time.as_secs_f64();
        let cost = (end.recorder_us.0 + end.recorder_us.1) as f64 / 1e6 / seconds.max(1e-3) * 100.0;
        let err = &mut self.streams.err;
        let duration = figures::duration(time.as_nanos() as f64);
        writeln!(err, "recorded {duration} of {}: {}", self.names, self.tally.sums())?;
        let and_before = if parts > 1 { format!(", the last of {parts} files") } else { String::new() };
        writeln!(
            err,
            "trace: {}{and_before}; {} in {}; recording took {} of a processor",
            path.display(),
            counted(end.events, "event"),
            figures::size(bytes),
            figures::percent(cost)
        )?;
        if lost > 0 || gaps > 0 {
            writeln!(
                err,
                "{} lost because a buffer was full; the trace says where, and a larger --buffer loses fewer",
                counted(lost, "event")
            )?;
        }
        Ok(())
    }

    fn sums(&self, lost: u64) -> End {
        let usage = Usage::of_thread().since(self.usage);
        End {
            events: self.tally.events,
            lost: lost.max(self.recorder.losses().events),
            late: self.recorder.late(),
            time_ns: self.started.elapsed().as_nanos() as u64,
            recorder_us: (usage.user_us, usage.system_us),
        }
    }

    /// Draws the status line, such as `recording vda 00:12: 1.2k reads/s (84 MB/s), depth 7`.
    fn draw(&mut self) -> Result<(), Failure> {
        let since = self.line.drawn.elapsed();
        if !self.line.is_drawn || since < LINE {
            return Ok(());
        }
        let seconds = self.started.elapsed().as_secs();
        let rates = self.tally.rates(&self.line.tally, since.as_secs_f64());
        let lost = match self.recorder.losses().events {
            0 => String::new(),
            lost => format!(", {} lost", counted(lost, "event")),
        };
        let (minutes, names) = (seconds / 60, &self.names);
        let text = format!("recording {names} {minutes:02}:{:02}: {rates}{lost}", seconds % 60);
        let text = columns::cut(&text, columns::of_messages().saturating_sub(1));
        let padded = columns::left(&text, self.line.columns);
        self.streams.err.line_start()?;
        self.streams.err.write_all(padded.as_bytes())?;
        self.streams.err.flush()?;
        self.line.columns = columns::width(&text);
        (self.line.drawn, self.line.tally) = (Instant::now(), self.tally);
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

fn begin_of(wishes: &Wishes) -> Begin {
    let clock_ns = clock::monotonic_ns();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Begin {
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: kernel.trim().to_owned(),
        clock: "mono".to_owned(),
        wall_ns: clock_ns.saturating_add_signed(clock::wall_minus_monotonic_ns()),
        clock_ns,
        part: 1,
        devices: wishes.devices.clone(),
    }
}

fn start(order: &Order) -> Result<Option<Child>, Failure> {
    let Some((program, arguments)) = order.command.split_first() else { return Ok(None) };
    let child = Command::new(program).args(arguments).spawn();
    child.map(Some).map_err(|error| {
        Failure::new(format!("{}: {error}", program.to_string_lossy(), error = plain(&error)))
    })
}

/// Time until the next reading of the buffers, by which the fullest one should be a quarter full.
fn next_round(round: Duration, held: u64, ample: u64) -> Duration {
    let share = ample as f64 / held.max(1) as f64;
    round.mul_f64(share.clamp(0.1, 2.0)).clamp(SHORTEST_ROUND, LONGEST_ROUND)
}
