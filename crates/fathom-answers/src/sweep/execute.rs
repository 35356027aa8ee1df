//! Makes the remaining runs, one after the other.

use super::grid;
use super::plan::Plan;
use super::record::Recorder;
use crate::measures::Figure;
use crate::measures::workload::workloads;
use crate::{Runner, Watch, runner};
use fathom_command::{Failure, Streams};
use fathom_results::RunResult;
use fathom_spec::RunSpec;
use fathom_sys::signal::{SignalQueue, wait_readable};
use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

/// Collects the workers' messages.
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
    let total = recorder.recorded().wanted();
    let signals = runner::signals()?;
    let sweep = Sweep {
        signals,
        recorder,
        err: streams.err,
        runner,
        plan: &plan,
        precondition,
        total,
        said: BTreeSet::new(),
    };
    sweep.run()
}

/// A sweep under way.
struct Sweep<'a> {
    /// Those that come between two runs.
    signals: SignalQueue,
    recorder: &'a mut Recorder,
    err: &'a mut dyn Write,
    runner: &'a mut dyn Runner,
    plan: &'a Plan,
    precondition: Option<RunSpec>,
    /// Runs in all.
    total: usize,
    /// What has been said once need not be said after every run.
    said: BTreeSet<String>,
}

impl Sweep<'_> {
    fn run(mut self) -> Result<Option<u8>, Failure> {
        let (done, total) = (self.recorder.recorded().done(), self.total);
        let path = self.recorder.path().display().to_string();
        if let Some(before) = self.recorder.repeats_before() {
            self.say(&format!(
                "--repeats was {before} and is now {}; all finished runs count",
                self.plan.repeats
            ));
        }
        self.say(&format!("{done} of {total} runs are done; results in {path}"));
        let to_do: Vec<(usize, usize)> = self
            .plan
            .order
            .iter()
            .take(self.plan.repeats as usize)
            .enumerate()
            .flat_map(|(round, order)| order.iter().map(move |&cell| (cell, round)))
            .filter(|&(cell, round)| !self.recorder.recorded().is_done(cell, round))
            .collect();
        let started = Instant::now();
        for (made, &(cell, round)) in to_do.iter().enumerate() {
            let pause = if made == 0 { Duration::ZERO } else { Duration::from_millis(self.plan.pause_ms) };
            let signal = match signal_within(&self.signals, pause) {
                Some(signal) => Some(signal),
                None => match self.precede(made == 0)? {
                    Some(signal) => Some(signal),
                    None => self.run_cell(cell, round)?,
                },
            };
            if let Some(signal) = signal {
                return Ok(Some(self.end_by(signal)));
            }
            let each = started.elapsed().as_secs_f64() / (made + 1) as f64;
            let rest = each * (to_do.len() - made - 1) as f64;
            self.tell_run(done + made + 1, (cell, round), Duration::from_secs_f64(rest));
        }
        Ok(None)
    }

    /// Runs the precondition where its turn is; the signal that ended it.
    fn precede(&mut self, is_first: bool) -> Result<Option<i32>, Failure> {
        let Some(spec) = self.precondition.as_ref().filter(|_| is_first || self.plan.precondition_each)
        else {
            return Ok(None);
        };
        let mut messages = Messages::default();
        let ended = self.runner.run(spec, &mut messages)?;
        self.pass_on(&messages, "precondition");
        if ended.signal.is_none() && ended.failed_jobs > 0 {
            return Err(Failure::new(
                "the jobs of --precondition failed, see their messages above; no run was started after them",
            ));
        }
        Ok(ended.signal)
    }

    /// Makes a run and records it; the signal that ended it.
    fn run_cell(&mut self, cell: usize, round: usize) -> Result<Option<i32>, Failure> {
        let spec = grid::spec_of(self.plan, cell, self.runner)?;
        let mut messages =
            Messages(spec.messages.iter().map(|message| message.text.trim().to_owned()).collect());
        let ended = self.runner.run(&spec, &mut messages)?;
        self.pass_on(&messages, &self.plan.name_of(cell));
        if ended.signal.is_none() {
            self.recorder.add(cell, round, ended.failed_jobs, &ended.report)?;
        }
        Ok(ended.signal)
    }

    /// Says how the last run went and how long the others will take if they are like those so far.
    fn tell_run(&mut self, number: usize, (cell, round): (usize, usize), rest: Duration) {
        let figures = match self.recorder.recorded().runs.last() {
            Some(run) if run.failed_jobs == 0 => in_short(&run.report),
            _ => "failed".to_owned(),
        };
        let name = self.plan.name_of(cell);
        let mark = if name.is_empty() { "" } else { ": " };
        let rest = match rest.as_secs() {
            0 => String::new(),
            seconds if seconds < 120 => format!("; about {seconds} s left"),
            seconds => format!("; about {} min left", seconds.div_ceil(60)),
        };
        self.say(&format!(
            "run {number} of {}, round {}: {name}{mark}{figures}{rest}",
            self.total,
            round + 1
        ));
    }

    fn end_by(&mut self, signal: i32) -> u8 {
        let done = self.recorder.recorded().done();
        let path = self.recorder.path().display().to_string();
        self.say(&format!(
            "ended by signal {signal}: {done} of {} runs are saved in {path}; the same command resumes from there",
            self.total
        ));
        128u8.saturating_add(u8::try_from(signal).unwrap_or(0))
    }

    /// What workers said, each line once.
    fn pass_on(&mut self, messages: &Messages, name: &str) {
        for text in &messages.0 {
            if self.said.insert(text.clone()) {
                let line = if name.is_empty() { text.clone() } else { format!("{name}: {text}") };
                self.say(&line);
            }
        }
    }

    /// A progress line. If nobody reads it, the sweep continues.
    fn say(&mut self, line: &str) {
        let _ = writeln!(self.err, "{line}");
    }
}

/// Waits; a signal that came before or comes meanwhile ends it.
fn signal_within(queue: &SignalQueue, time: Duration) -> Option<i32> {
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

/// A run in brief.
fn in_short(report: &RunResult) -> String {
    let jobs = workloads(report);
    let has_names = jobs.len() > 1;
    let parts = jobs.into_iter().filter_map(|job| {
        let rate = |(direction, traffic): &(&str, _)| {
            let text = |figure: Figure| figure.of_traffic(traffic).map(|value| figure.text_in_binary(value));
            Some(format!("{direction} {}, {} IOPS", text(Figure::Bandwidth)?, text(Figure::Iops)?))
        };
        let rates = job.directions.iter().filter_map(rate).collect::<Vec<String>>().join("; ");
        let name = if has_names { format!("{}: ", job.name) } else { String::new() };
        (!rates.is_empty()).then(|| name + &rates)
    });
    parts.collect::<Vec<String>>().join("; ")
}
