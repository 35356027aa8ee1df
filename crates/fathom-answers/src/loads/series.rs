//! Runs at different loads, one after the other, each recorded before the next begins.

use super::objective::Objective;
use crate::results_file::{Journal, ResultsFile};
use crate::running::{Messages, signal_within, status_of_signal};
use crate::{Runner, runner};
use fathom_command::{Failure, Streams};
use fathom_spec::RunSpec;
use fathom_stats::counted;
use fathom_stats::report::{RunReport, message_of_line};
use fathom_sys::signal::SignalQueue;
use std::time::Duration;

/// Maximum number of consecutive failed runs.
const MOST_FAILURES: usize = 3;

/// A results file whose next run follows from the recorded ones.
pub(crate) trait Series: Journal {
    /// What differs between runs.
    type Load: Copy;

    /// Load of the next run; `None` when the series is complete.
    fn next(&self, objectives: &[Objective]) -> Option<Self::Load>;

    /// The jobs at a load.
    fn spec(&self, load: Self::Load, runner: &dyn Runner) -> Result<RunSpec, Failure>;

    /// The line of a finished run. `failure` is the number of failed jobs, and why the run failed.
    fn line(&self, load: Self::Load, failure: &(u32, String), report: &RunReport) -> Result<String, Failure>;

    /// Number of recorded runs.
    fn count(&self) -> usize;

    /// One-line summary of the last run, and whether it failed.
    fn last(&self) -> Option<(String, bool)>;
}

/// Performs all runs that are not recorded yet. Returns the exit status if a signal ended them.
pub(crate) fn execute<S: Series>(
    recorder: &mut ResultsFile<S>,
    objectives: &[Objective],
    streams: &mut Streams<'_>,
    runner: &mut dyn Runner,
) -> Result<Option<u8>, Failure> {
    let signals = runner::signals()?;
    let path = recorder.path().display().to_string();
    let _ = writeln!(streams.err, "{} done; results in {path}", counted(recorder.recorded().count(), "run"));
    let mut failures = 0;
    while let Some(load) = recorder.recorded().next(objectives) {
        let ended = make(recorder, load, &signals, streams, runner)?;
        if let Some(signal) = ended.signal {
            let _ = writeln!(
                streams.err,
                "ended by signal {signal} with {} saved in {path}; the same command resumes from there",
                counted(recorder.recorded().count(), "run")
            );
            return Ok(Some(status_of_signal(signal)));
        }
        failures = if ended.has_failed { failures + 1 } else { 0 };
        if failures == MOST_FAILURES {
            return Err(Failure::new(format!(
                "{MOST_FAILURES} consecutive runs failed, see the messages above; the same command resumes"
            )));
        }
    }
    Ok(None)
}

/// `randseed` of a run, which differs from that of every other run of a load. It has 52 bits, so that programs
/// that keep numbers as floating point read it exactly.
pub(crate) fn seed_of_run(seed: u64, number: usize) -> u64 {
    const BITS: u32 = 52;
    (seed >> (64 - BITS)).wrapping_add(number as u64) & ((1 << BITS) - 1)
}

struct EndOfRun {
    signal: Option<i32>,
    has_failed: bool,
}

fn make<S: Series>(
    recorder: &mut ResultsFile<S>,
    load: S::Load,
    signals: &SignalQueue,
    streams: &mut Streams<'_>,
    runner: &mut dyn Runner,
) -> Result<EndOfRun, Failure> {
    if let Some(signal) = signal_within(signals, Duration::ZERO) {
        return Ok(EndOfRun { signal: Some(signal), has_failed: false });
    }
    let spec = recorder.recorded().spec(load, runner)?;
    let mut messages = Messages::default();
    let ended = runner.run(&spec, &mut messages)?;
    messages.0.iter().for_each(|line| {
        let _ = writeln!(streams.err, "{line}");
    });
    if ended.signal.is_some() {
        return Ok(EndOfRun { signal: ended.signal, has_failed: false });
    }
    let why = match ended.failed_jobs {
        0 => String::new(),
        _ => messages.0.last().map_or_else(|| "it failed".to_owned(), |line| message_of_line(line)),
    };
    let line = recorder.recorded().line(load, &(ended.failed_jobs, why), &ended.report)?;
    recorder.add(line)?;
    let (summary, has_failed) = recorder.recorded().last().ok_or_else(|| Failure::new("the run is gone"))?;
    let _ = writeln!(streams.err, "{summary}");
    Ok(EndOfRun { signal: None, has_failed })
}

#[cfg(test)]
mod tests {
    use super::seed_of_run;

    #[test]
    fn every_run_has_its_seed() {
        for seed in [0, 1, 0x0123_4567_89ab_cdef, u64::MAX] {
            let mut seeds: Vec<u64> = (0..100).map(|number| seed_of_run(seed, number)).collect();
            assert!(seeds.iter().all(|seed| *seed < 1 << 52));
            seeds.sort_unstable();
            seeds.dedup();
            assert_eq!(seeds.len(), 100, "{seed}");
        }
    }
}
