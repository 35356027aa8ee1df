//! Performs the remaining runs, one after the other.

use super::load::Load;
use super::next::next;
use super::objective::{Objective, ResponseFigure};
use super::record::{self, CurveRun, RecordedCurve};
use crate::figures;
use crate::results_file::ResultsFile;
use crate::running::{Messages, signal_within, status_of_signal};
use crate::{Runner, runner};
use fathom_command::{Failure, Streams};
use fathom_stats::counted;
use fathom_stats::report::message_of_line;
use fathom_sys::signal::SignalQueue;
use std::time::Duration;

/// Maximum number of consecutive failed runs.
const MOST_FAILURES: usize = 3;

/// Performs all runs that are not recorded yet. Returns the exit status if a signal ended them.
pub(super) fn execute(
    recorder: &mut ResultsFile<RecordedCurve>,
    objectives: &[Objective],
    streams: &mut Streams<'_>,
    runner: &mut dyn Runner,
) -> Result<Option<u8>, Failure> {
    let signals = runner::signals()?;
    let done = recorder.recorded().runs.len();
    let path = recorder.path().display().to_string();
    let _ = writeln!(streams.err, "{} done; results in {path}", counted(done, "run"));
    let mut failures = 0;
    while let Some((curve, load)) = next(recorder.recorded(), objectives) {
        let ended = make(recorder, (curve, load), &signals, streams, runner)?;
        if let Some(signal) = ended.signal {
            let done = recorder.recorded().runs.len();
            let _ = writeln!(
                streams.err,
                "ended by signal {signal} with {} saved in {path}; the same command resumes from there",
                counted(done, "run")
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

struct EndOfRun {
    signal: Option<i32>,
    has_failed: bool,
}

fn make(
    recorder: &mut ResultsFile<RecordedCurve>,
    (curve, load): (usize, Load),
    signals: &SignalQueue,
    streams: &mut Streams<'_>,
    runner: &mut dyn Runner,
) -> Result<EndOfRun, Failure> {
    if let Some(signal) = signal_within(signals, Duration::ZERO) {
        return Ok(EndOfRun { signal: Some(signal), has_failed: false });
    }
    let plan = &recorder.recorded().plan;
    let is_same = |run: &&CurveRun| run.curve == curve && run.load == load;
    let number = recorder.recorded().runs.iter().filter(is_same).count();
    let name = plan.name_of(curve);
    let spec = super::spec_at(plan, curve, load, number, runner)?;
    let mut messages = Messages::default();
    let ended = runner.run(&spec, &mut messages)?;
    messages.0.iter().for_each(|line| {
        let _ = writeln!(streams.err, "{line}");
    });
    if ended.signal.is_some() {
        return Ok(EndOfRun { signal: ended.signal, has_failed: false });
    }
    let failure = (ended.failed_jobs > 0).then(|| {
        let why = messages.0.last().map_or_else(|| "it failed".to_owned(), |line| message_of_line(line));
        (ended.failed_jobs, why)
    });
    let run = record::add(recorder, curve, load, failure, &ended.report)?;
    let lead = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let _ = writeln!(streams.err, "{lead}{}", in_short(run));
    let has_failed = run.failure.is_some();
    Ok(EndOfRun { signal: None, has_failed })
}

/// One-line summary of a run.
fn in_short(run: &CurveRun) -> String {
    if let Some(why) = &run.failure {
        return format!("failed: {why}");
    }
    match run.load {
        Load::Closed => format!("without a limit: {} IOPS", figures::count(run.rate)),
        Load::Offered(rate) => {
            let figure = |percent| {
                let found = run.measured.figure(None, ResponseFigure::Percentile(percent));
                found.map_or_else(|| "-".to_owned(), figures::duration)
            };
            let grows = if run.measured.is_growing { "; the backlog grew" } else { "" };
            format!(
                "{} IOPS offered: {} served, p50 {}, p99 {}{grows}",
                figures::count(rate),
                figures::count(run.measured.served),
                figure(50.0),
                figure(99.0)
            )
        }
    }
}
