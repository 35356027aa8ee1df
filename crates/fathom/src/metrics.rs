//! `--metrics`, `--otlp` and `--influx`: a separate process that exports the run's figures. The run sends it
//! snapshots, and never waits for it before its own end.

use crate::refusal::Refusal;
use fathom_errors::plain;
use fathom_hosts::frames::{self, FrameKind, Mistake, Outgoing, Splitter};
use fathom_metrics::Snapshot;
use fathom_metrics::exporter::{ExportError, Exporter, Tell};
use fathom_metrics::influx::InfluxSettings;
use fathom_metrics::otlp::environment::OtlpSettings;
use fathom_metrics::settings::Settings;
use fathom_spec::{ProgramOptions, VERSION};
use fathom_stats::report::RunReport;
use fathom_sys::clock::{monotonic_ns, wall_minus_monotonic_ns};
use fathom_sys::signal::SignalQueue;
use fathom_sys::socket::{Awaited, wait_for_any_of_many};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Name of the process, by which the program recognizes its role.
pub(crate) const NAME: &str = "fathom-metrics-exporter";
/// Interval of snapshots.
pub(crate) const EVERY: Duration = Duration::from_secs(1);
/// The exporter's message once it is ready.
const READY: &str = "ready";
/// Longest pause while waiting for the end.
const LOOK: Duration = Duration::from_millis(200);
/// Time limit of the exporter at the end, in addition to the configured times.
const LAST_PATIENCE: Duration = Duration::from_secs(10);

/// True if metrics are exported.
pub(crate) fn is_asked(program: &ProgramOptions) -> bool {
    !program.metrics.is_empty() || program.otlp.is_some() || program.influx.is_some()
}

/// The configured destinations.
fn settings(program: &ProgramOptions) -> Result<Settings, Refusal> {
    let linger = program.metrics_linger;
    let repeats = program.every.is_some();
    let mut settings = Settings { version: VERSION.to_owned(), linger, repeats, ..Settings::default() };
    for place in &program.metrics {
        settings.add(place).map_err(|error| Refusal::because(format_args!("--metrics={place}"), error))?;
    }
    if let Some(url) = &program.otlp {
        let otlp = OtlpSettings::read(url, VERSION, &|name| std::env::var(name).ok());
        settings.otlp = Some(otlp.map_err(|error| Refusal::because("--otlp", error))?);
    }
    if let Some(url) = &program.influx {
        let influx = InfluxSettings::read(url, &|name| std::env::var(name).ok());
        settings.influx = Some(influx.map_err(|error| Refusal::because("--influx", error))?);
    }
    if repeats && !linger.is_zero() {
        let line = "fathom: --metrics-linger has no effect with --every, which answers between the runs";
        return Err(Refusal::new(line));
    }
    if settings.endpoints.is_empty() && !linger.is_zero() {
        let line = "fathom: --metrics-linger requires an address in --metrics";
        return Err(Refusal::new(line));
    }
    Ok(settings)
}

/// The run's connection to the exporter.
pub(crate) struct Metrics {
    /// Socket to the exporter process, which ends when it is shut down.
    socket: UnixStream,
    /// Pending output.
    outgoing: Outgoing,
    written: usize,
    /// The beginning of an incomplete line.
    incoming: Vec<u8>,
    /// Lines received before its ready message.
    said: Vec<String>,
    is_gone: bool,
    started_ns: u64,
    /// Its time limit at the end.
    patience: Duration,
}

impl Metrics {
    /// Starts the exporter if requested, and waits until it is ready.
    pub(crate) fn start(program: &ProgramOptions) -> Result<Option<Metrics>, Refusal> {
        if !is_asked(program) {
            return Ok(None);
        }
        let settings = settings(program)?;
        let answers = settings.otlp.iter().flat_map(|otlp| &otlp.routes).map(|route| route.timeout);
        let patience = settings.linger + answers.sum::<Duration>() * 2 + LAST_PATIENCE;
        let socket =
            start_process().map_err(|error| Refusal::because("cannot start the metrics process", error))?;
        let mut metrics = Metrics {
            socket,
            outgoing: Outgoing::default(),
            written: 0,
            incoming: Vec::new(),
            said: Vec::new(),
            is_gone: false,
            started_ns: wall_ns(),
            patience,
        };
        metrics.append(FrameKind::Word, &settings);
        let mut said = Vec::new();
        // Its addresses come before the word, so that they are printed before the run begins.
        let ready = loop {
            if let Some(place) = said.iter().position(|line| line == READY) {
                break Some(place);
            }
            if metrics.is_gone {
                break None;
            }
            metrics.wait(&[]);
            said.extend(metrics.exchange());
        };
        match (ready, said.first()) {
            (Some(place), _) => {
                said.remove(place);
                metrics.said = said;
                Ok(Some(metrics))
            }
            (None, Some(problem)) => Err(Refusal::because("metrics", problem)),
            (None, None) => Err(Refusal::new("fathom: metrics: the exporter process ended immediately")),
        }
    }

    /// Sends a snapshot, unless the previous one is still being sent.
    pub(crate) fn offer(&mut self, report: &RunReport) {
        if self.outgoing.bytes.is_empty() && !self.is_gone {
            self.append(FrameKind::Snapshot, &self.snapshot(report, false));
        }
    }

    /// Starts another run.
    pub(crate) fn begin(&mut self) {
        self.started_ns = wall_ns();
    }

    /// Sends the result of a run that is not the last one.
    pub(crate) fn offer_result(&mut self, report: &RunReport) {
        self.append(FrameKind::Snapshot, &self.snapshot(report, true));
    }

    /// Continues sending; returns lines on errors.
    pub(crate) fn advance(&mut self) -> Vec<String> {
        let was_gone = self.is_gone;
        let mut problems = std::mem::take(&mut self.said);
        problems.extend(self.exchange());
        if self.is_gone && !was_gone {
            problems.push("the exporter process has ended; no more metrics are exported".to_owned());
        }
        problems.into_iter().map(|problem| format!("fathom: metrics: {problem}")).collect()
    }

    /// Sends the result and waits until it is delivered, or the user interrupts; returns lines on errors.
    pub(crate) fn finish(mut self, report: &RunReport, signals: &SignalQueue) -> Vec<String> {
        self.append(FrameKind::Snapshot, &self.snapshot(report, true));
        self.wait_for_end(signals)
    }

    /// Waits until all results are delivered, like [`Metrics::finish`].
    pub(crate) fn close(mut self, signals: &SignalQueue) -> Vec<String> {
        // Pending data goes first; if the exporter does not accept it, the wait is limited like that for an answer.
        let begun = Instant::now();
        while !self.outgoing.bytes.is_empty() && !self.is_gone && begun.elapsed() < self.patience {
            self.wait(&[]);
            self.exchange();
        }
        let _ = self.socket.shutdown(Shutdown::Write);
        self.wait_for_end(signals)
    }

    fn wait_for_end(&mut self, signals: &SignalQueue) -> Vec<String> {
        let begun = Instant::now();
        let mut problems = Vec::new();
        while !self.is_gone {
            problems.extend(self.exchange());
            if self.is_gone {
                break;
            }
            if signals.asked_to_end().is_some() || begun.elapsed() > self.patience {
                problems.push("the last ones may be lost: fathom did not wait for them".to_owned());
                break;
            }
            self.wait(&[signals.descriptor()]);
        }
        problems.into_iter().map(|problem| format!("fathom: metrics: {problem}")).collect()
    }

    fn snapshot<'r>(&self, report: &'r RunReport, is_last: bool) -> Snapshot<&'r RunReport> {
        Snapshot {
            report,
            version: VERSION.to_owned(),
            started_ns: self.started_ns,
            taken_ns: wall_ns(),
            is_last,
        }
    }

    fn append<T: serde::Serialize>(&mut self, kind: FrameKind, value: &T) {
        // Only data that is too long for a frame can fail, and it is dropped.
        let _ = self.outgoing.append(kind, value);
    }

    /// Sleeps until there is work.
    fn wait(&self, others: &[i32]) {
        let own = Awaited { socket: self.socket.as_raw_fd(), to_send: !self.outgoing.bytes.is_empty() };
        let others = others.iter().map(|&socket| Awaited { socket, to_send: false });
        let awaited: Vec<Awaited> = others.chain([own]).collect();
        wait_for_any_of_many(&awaited, LOOK);
    }

    /// Reads and writes without blocking; returns the lines received.
    fn exchange(&mut self) -> Vec<String> {
        if self.is_gone {
            return Vec::new();
        }
        self.is_gone = !self.write();
        let mut piece = [0; 4096];
        loop {
            match self.socket.read(&mut piece) {
                Ok(0) => self.is_gone = true,
                Ok(count) => {
                    self.incoming.extend_from_slice(&piece[..count]);
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => self.is_gone |= error.kind() != io::ErrorKind::WouldBlock,
            }
            break;
        }
        let whole = self.incoming.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.incoming.drain(..whole).collect();
        String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect()
    }

    /// False once the reader has gone.
    fn write(&mut self) -> bool {
        while self.written < self.outgoing.bytes.len() {
            match self.socket.write(&self.outgoing.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
        self.outgoing.bytes.clear();
        self.written = 0;
        true
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        // Closing is not enough: a worker that hangs in the kernel also has it open.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Wall clock, ns since the epoch.
fn wall_ns() -> u64 {
    monotonic_ns().saturating_add_signed(wall_minus_monotonic_ns())
}

/// Starts the program again, detached from the terminal's Ctrl-C: returns the connection.
fn start_process() -> io::Result<UnixStream> {
    let (own, theirs) = UnixStream::pair()?;
    let input = OwnedFd::from(theirs.try_clone()?);
    Command::new(std::env::current_exe()?)
        .arg0(NAME)
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(OwnedFd::from(theirs)))
        .process_group(0)
        .spawn()?;
    own.set_nonblocking(true)?;
    Ok(own)
}

/// Main function of the process: takes the settings and then snapshots from standard input, and reports
/// errors on standard output.
pub(crate) fn export() -> ExitCode {
    match Source::new().and_then(export_from) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Why no metrics are exported.
#[derive(Debug, Error)]
enum NotExported {
    #[error("{}", plain(.0))]
    Input(#[from] io::Error),
    #[error(transparent)]
    Frame(#[from] Mistake),
    #[error(transparent)]
    Place(#[from] ExportError),
}

fn export_from(mut source: Source) -> Result<(), NotExported> {
    let Some(settings) = source.next::<Settings>()? else { return Ok(()) };
    let tell: Tell = Arc::new(say);
    let repeats = settings.repeats;
    let exporter = Exporter::start(settings, tell)?;
    exporter.chosen().iter().for_each(|address| say(&format!("metrics are at http://{address}/metrics")));
    say(READY);
    while let Some(snapshot) = source.next::<Snapshot>()? {
        let is_end = snapshot.is_last && !repeats;
        exporter.offer(snapshot);
        if is_end {
            end_with(source);
            exporter.finish();
            return Ok(());
        }
    }
    // With a single run, the end of input means that the run was killed and no result follows.
    if repeats {
        exporter.close();
    }
    Ok(())
}

/// From now on the process ends as soon as the run closes the connection.
fn end_with(mut source: Source) {
    std::thread::spawn(move || {
        while let Ok(Some(_)) = source.next::<serde::de::IgnoredAny>() {}
        std::process::exit(0);
    });
}

fn say(line: &str) {
    let mut output = io::stdout().lock();
    // Without a reader, the message is not needed.
    let _ =
        output.write_all(format!("{}\n", line.replace('\n', " ")).as_bytes()).and_then(|()| output.flush());
}

/// Frames from standard input.
struct Source {
    input: File,
    splitter: Splitter,
}

impl Source {
    fn new() -> Result<Source, NotExported> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Source { input: File::from(input), splitter: Splitter::default() })
    }

    /// The next frame; `None` at the end.
    fn next<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, NotExported> {
        let mut piece = vec![0; 1 << 16];
        loop {
            if let Some(frame) = self.splitter.next_frame()? {
                return Ok(Some(frames::read(&frame.body)?));
            }
            match self.input.read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(count) => self.splitter.add(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The run was killed.
                Err(_) => return Ok(None),
            }
        }
    }
}
