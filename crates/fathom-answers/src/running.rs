//! Helpers that commands need around each run: messages, signals, errors and the remaining time.

use crate::{Runner, Watch};
use fathom_command::Failure;
use fathom_results::RunResult;
use fathom_stats::report::RunReport;
use fathom_sys::signal::{SignalQueue, wait_readable};
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::time::{Duration, Instant};

/// Collects the workers' messages.
#[derive(Default)]
pub(crate) struct Messages(pub(crate) Vec<String>);

impl Watch for Messages {
    fn message(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() && !text.starts_with("fio: terminating on signal") {
            self.0.push(text.to_owned());
        }
    }
}

/// Signals that ask the program to end, polled by long-running work.
pub(crate) struct Stop<'a> {
    queue: &'a SignalQueue,
    signal: Cell<Option<i32>>,
}

impl<'a> Stop<'a> {
    pub(crate) fn new(queue: &'a SignalQueue) -> Stop<'a> {
        Stop { queue, signal: Cell::new(None) }
    }

    /// The signal, if one has arrived.
    pub(crate) fn asked(&self) -> Option<i32> {
        if self.signal.get().is_none() {
            self.signal.set(self.queue.asked_to_end());
        }
        self.signal.get()
    }
}

/// Waits for a signal or for this time; also returns a signal that arrived before the call.
pub(crate) fn signal_within(queue: &SignalQueue, time: Duration) -> Option<i32> {
    let end = Instant::now() + time;
    loop {
        if let Some(signal) = queue.asked_to_end() {
            return Some(signal);
        }
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return None;
        }
        wait_readable(&[queue.descriptor()], rest);
    }
}

/// The exit status of a command that a signal ended.
pub(crate) fn status_of_signal(signal: i32) -> u8 {
    128u8.saturating_add(u8::try_from(signal).unwrap_or(0))
}

/// A phrase such as `; about 5 min left`; empty if less than a second is left.
pub(crate) fn rest_in_words(rest: Duration) -> String {
    match rest.as_secs() {
        0 => String::new(),
        seconds if seconds < 120 => format!("; about {seconds} s left"),
        seconds => format!("; about {} min left", seconds.div_ceil(60)),
    }
}

/// A path as the value of `filename`; colons are escaped, because they would separate several names.
pub(crate) fn as_option(path: &Path) -> String {
    path.display().to_string().replace(':', "\\:")
}

/// The report as JSON, with histograms.
pub(crate) fn whole_document(report: &RunReport) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if let Some(format) = fathom_report::by_name("json+") {
        format.write(report, &mut bytes)?;
    }
    Ok(bytes)
}

/// The result of a run as the type that commands read.
pub(crate) fn result_of(report: &RunReport) -> Result<RunResult, Failure> {
    let made = fathom_report::result(report);
    fathom_results::at_hand(made, "the result").map_err(|error| Failure::new(error.to_string()))
}

/// Engines in order of preference; the last one works on every system.
pub(crate) const ENGINES: [&str; 3] = ["io_uring", "libaio", "psync"];

/// The best engine with which a short job succeeds; `None` if none does.
pub(crate) fn usable_engine(
    runner: &mut dyn Runner,
    job_of: impl Fn(&'static str) -> String,
) -> Result<Option<&'static str>, Failure> {
    struct Deaf;
    impl Watch for Deaf {}
    for engine in ENGINES {
        let spec = runner.parse(&["-".to_owned()], &job_of(engine))?;
        if runner.run(&spec, &mut Deaf)?.failed_jobs == 0 {
            return Ok(Some(engine));
        }
    }
    Ok(None)
}

/// A random number.
pub(crate) fn chance() -> u64 {
    // The seed is limited to 53 bits, because JSON readers preserve whole numbers only up to 2^53.
    RandomState::new().build_hasher().finish() >> 11
}
