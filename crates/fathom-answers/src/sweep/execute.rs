//! Runs what is still to be run, one run after the other.

use super::grid;
use super::record::Recorder;
use crate::measures::Figure;
use crate::measures::workload::workloads;
use crate::{Runner, Watch};
use fathom_results::RunResult;
use fathom_sys::signal::{SignalQueue, wait_readable};
use fathom_tools::{Failure, Streams};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// SIGINT and SIGTERM, whose numbers are the same on every Linux.
const SIGNALS: [i32; 2] = [2, 15];

/// Keeps what workers say.
#[derive(Default)]
struct Messages(Vec<String>);

impl Watch for Messages {
    fn message(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() && !text.starts_with("fio: terminating on signal") {
            self.0.push(text.to_owned());
        }
    }
}

/// Makes all runs that are not recorded yet. The exit status if a signal ended it.
pub(super) fn execute(
    recorder: &mut Recorder,
    streams: &mut Streams<'_>,
    runner: &mut dyn Runner,
) -> Result<Option<u8>, Failure> {
    // The plan of the file: its order is the one that was begun.
    let plan = recorder.recorded().plan.clone();
    let precondition = grid::precondition_of(&plan, runner)?;
    let total = plan.cells() * plan.repeats as usize;
    let done = recorder.recorded().done();
    if done > 0 {
        writeln!(streams.err, "{}: {done} of {total} runs are done", recorder.path().display())?;
    }
    let mut said = BTreeSet::new();
    let mut is_first = true;
    for (round, order) in plan.order.iter().enumerate() {
        for &cell in order {
            if recorder.recorded().is_done(cell, round) {
                continue;
            }
            let pause = if is_first { Duration::ZERO } else { Duration::from_millis(plan.pause_ms) };
            if let Some(signal) = signal_within(pause)? {
                return interrupted(signal, recorder, total, streams);
            }
            if let Some(spec) = precondition.as_ref().filter(|_| is_first || plan.precondition_each) {
                let mut messages = Messages::default();
                let ended = runner.run(spec, &mut messages)?;
                tell(&messages, "precondition", &mut said, streams)?;
                if let Some(signal) = ended.signal {
                    return interrupted(signal, recorder, total, streams);
                }
                if ended.failed_jobs > 0 {
                    return Err(Failure::new(
                        "the jobs of --precondition failed; what they said is above, and no run was begun on what they left",
                    ));
                }
            }
            is_first = false;
            let spec = grid::spec_of(&plan, cell, runner)?;
            for message in spec.messages.iter().filter(|message| said.insert(message.text.clone())) {
                writeln!(streams.err, "{}", message.text.trim())?;
            }
            let mut messages = Messages::default();
            let started = Instant::now();
            let ended = runner.run(&spec, &mut messages)?;
            tell(&messages, &plan.name_of(cell), &mut said, streams)?;
            if let Some(signal) = ended.signal {
                return interrupted(signal, recorder, total, streams);
            }
            recorder.add(cell, round, ended.failed_jobs, &ended.report)?;
            let report = recorder.recorded().runs.last().map(|run| &run.report);
            let figures = match ended.failed_jobs {
                0 => report.map(in_short).unwrap_or_default(),
                _ => "failed".to_owned(),
            };
            let number = recorder.recorded().done();
            let name = plan.name_of(cell);
            writeln!(
                streams.err,
                "run {number} of {total}, round {}: {name}{}{figures} ({:.1} s)",
                round + 1,
                if name.is_empty() { "" } else { ": " },
                started.elapsed().as_secs_f64()
            )?;
        }
    }
    Ok(None)
}

/// Waits; a signal that came before or comes meanwhile ends it.
fn signal_within(time: Duration) -> Result<Option<i32>, Failure> {
    // The supervisor of a run blocks these signals and leaves them so.
    let queue = SignalQueue::new(&SIGNALS)
        .map_err(|errno| Failure::new(format!("signals cannot be waited for: {errno}")))?;
    let end = Instant::now() + time;
    loop {
        if let Some(signal) = queue.next() {
            return Ok(Some(signal));
        }
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Ok(None);
        }
        wait_readable(&[queue.descriptor()], rest);
    }
}

fn interrupted(
    signal: i32,
    recorder: &Recorder,
    total: usize,
    streams: &mut Streams<'_>,
) -> Result<Option<u8>, Failure> {
    let done = recorder.recorded().done();
    writeln!(
        streams.err,
        "ended by signal {signal}: {done} of {total} runs are kept in {}; the same command goes on from there",
        recorder.path().display()
    )?;
    Ok(Some(128u8.saturating_add(u8::try_from(signal).unwrap_or(0))))
}

/// What workers said, each line once.
fn tell(
    messages: &Messages,
    name: &str,
    said: &mut BTreeSet<String>,
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
    for text in messages.0.iter().filter(|text| said.insert((*text).clone())) {
        match name.is_empty() {
            true => writeln!(streams.err, "{text}")?,
            false => writeln!(streams.err, "{name}: {text}")?,
        }
    }
    Ok(())
}

/// A run in a few words.
fn in_short(report: &RunResult) -> String {
    let parts = workloads(report).into_iter().flat_map(|job| {
        let rate = |(direction, traffic): &(&str, _)| {
            let text = |figure: Figure| figure.of_traffic(traffic).map(|value| figure.text(value));
            Some(format!("{direction} {}, {} IOPS", text(Figure::Bandwidth)?, text(Figure::Iops)?))
        };
        job.directions.iter().filter_map(rate).collect::<Vec<String>>()
    });
    parts.collect::<Vec<String>>().join("; ")
}
