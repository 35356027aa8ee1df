//! Performs the remaining runs, one after the other.

use super::file_systems::make::{Made, Prepared, Workshop};
use super::file_systems::{NONE, place};
use super::grid;
use super::plan::SweepPlan;
use super::record::Recorder;
use crate::measures::Figure;
use crate::measures::workload::workloads;
use crate::running::{Messages, Stop, rest_in_words, signal_within, status_of_signal};
use crate::{Runner, runner};
use fathom_command::{Failure, Streams};
use fathom_results::RunResult;
use fathom_spec::RunSpec;
use fathom_stats::report::message_of_line;
use fathom_sys::signal::SignalQueue;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Performs all runs that are not recorded yet. Returns the exit status if a signal ended them.
pub(super) fn execute(
    recorder: &mut Recorder,
    streams: &mut Streams<'_>,
    runner: &mut dyn Runner,
) -> Result<Option<u8>, Failure> {
    // The order that is stored in the file applies.
    let plan = recorder.recorded().plan.clone();
    let precondition = grid::precondition_of(&plan, runner)?;
    let total = recorder.recorded().wanted();
    let signals = runner::signals()?;
    let stop = Stop::new(&signals);
    let mut sweep = Sweep {
        signals: &signals,
        stop: &stop,
        recorder,
        err: streams.err,
        runner,
        plan: &plan,
        precondition,
        workshop: None,
        total,
        said: BTreeSet::new(),
    };
    let to_do = sweep.begin();
    if let Some(volume) = plan.volume.as_ref().filter(|_| !to_do.is_empty()) {
        let keeps_content = plan.precondition.is_some() && !plan.precondition_each;
        let opened = Workshop::open(volume, keeps_content, &stop, &mut |line| sweep.say(line))?;
        match opened {
            Made::Ready(workshop) => sweep.workshop = Some(workshop),
            Made::Stopped(signal) => return Ok(Some(sweep.end_by(signal))),
            Made::Failed(why) => return Err(Failure::new(why)),
        }
        sweep.report_sharing()?;
    }
    sweep.run(&to_do)
}

/// A sweep in progress.
struct Sweep<'a> {
    /// Signals that arrive between runs.
    signals: &'a SignalQueue,
    stop: &'a Stop<'a>,
    recorder: &'a mut Recorder,
    err: &'a mut dyn Write,
    runner: &'a mut dyn Runner,
    plan: &'a SweepPlan,
    precondition: Option<RunSpec>,
    /// Makes the file systems, if these vary.
    workshop: Option<Workshop<'a>>,
    /// Total number of runs.
    total: usize,
    /// Messages that were already printed, so that they are not repeated after every run.
    said: BTreeSet<String>,
}

impl Sweep<'_> {
    /// Prints the state of the sweep; returns the cells and rounds that have yet to run.
    fn begin(&mut self) -> Vec<(usize, usize)> {
        let (done, total) = (self.recorder.recorded().done(), self.total);
        let path = self.recorder.path().display().to_string();
        if let Some(before) = self.recorder.repeats_before() {
            self.say(&format!(
                "--repeats was {before} and is now {}; all finished runs count",
                self.plan.repeats
            ));
        }
        self.say(&format!("{done} of {total} runs are done; results in {path}"));
        self.plan
            .order
            .iter()
            .take(self.plan.repeats as usize)
            .enumerate()
            .flat_map(|(round, order)| order.iter().map(move |&cell| (cell, round)))
            .filter(|&(cell, round)| !self.recorder.recorded().is_done(cell, round))
            .collect()
    }

    fn run(mut self, to_do: &[(usize, usize)]) -> Result<Option<u8>, Failure> {
        let done = self.recorder.recorded().done();
        let started = Instant::now();
        for (made, &(cell, round)) in to_do.iter().enumerate() {
            let pause = if made == 0 { Duration::ZERO } else { Duration::from_millis(self.plan.pause_ms) };
            let signal = match signal_within(self.signals, pause) {
                Some(signal) => Some(signal),
                None => self.make_run(cell, round, made == 0)?,
            };
            if let Some(signal) = signal {
                return Ok(Some(self.end_by(signal)));
            }
            let each = started.elapsed().as_secs_f64() / (made + 1) as f64;
            let rest = each * (to_do.len() - made - 1) as f64;
            self.report_run(done + made + 1, (cell, round), Duration::from_secs_f64(rest));
        }
        Ok(None)
    }

    /// Performs a run with its preparations; returns the signal that ended it.
    fn make_run(&mut self, cell: usize, round: usize, is_first: bool) -> Result<Option<i32>, Failure> {
        let Some((_, kind)) = self.plan.file_system_of(cell) else {
            let is_due = is_first || self.plan.precondition_each;
            return match self.precede(None, is_due)? {
                None => self.run_cell(cell, round),
                signal => Ok(signal),
            };
        };
        if let signal @ Some(_) = self.precede(Some(NONE), is_first && !self.plan.precondition_each)? {
            return Ok(signal);
        }
        let prepared = match self.prepare(kind)? {
            Made::Ready(prepared) => prepared,
            Made::Stopped(signal) => return Ok(Some(signal)),
            Made::Failed(why) => {
                self.say(&format!("{}: {why}", self.plan.name_of(cell)));
                self.recorder.add_failure(cell, round, &why)?;
                return Ok(None);
            }
        };
        let signal = match self.precede(Some(kind), self.plan.precondition_each)? {
            None => match self.write_once(cell, kind)? {
                None => self.run_cell(cell, round)?,
                signal => signal,
            },
            signal => signal,
        };
        prepared.release()?;
        Ok(signal)
    }

    fn prepare(&mut self, kind: &str) -> Result<Made<Prepared>, Failure> {
        match &self.workshop {
            Some(workshop) => workshop.prepare(kind, self.stop, self.runner),
            None => Err(Failure::new("there is no device for file systems")),
        }
    }

    /// The device that jobs without a file system use.
    fn device(&self) -> PathBuf {
        self.workshop.as_ref().map_or_else(PathBuf::new, |workshop| workshop.device().to_owned())
    }

    /// A discarded device answers reads without accessing its medium, whereas files on a file system are
    /// written before they are read. For a fair comparison, the part of the device that the jobs read is
    /// therefore written once. Returns the signal that ended the writing.
    fn write_once(&mut self, cell: usize, kind: &str) -> Result<Option<i32>, Failure> {
        let forgets = self.workshop.as_ref().is_some_and(Workshop::forgets);
        let device = self.device();
        let spec = grid::spec_on(self.plan, cell, &device, self.runner)?;
        let reads = spec.jobs.iter().any(|job| grid::may_do(job, "read"));
        if kind != NONE || !forgets || !reads {
            return Ok(None);
        }
        let extent = place::extent(&self.runner.targets(&spec)?);
        let size = extent.map_or_else(String::new, |bytes| format!("size={bytes}\n"));
        let text = format!("[content]\nrw=write\nbs=1m\n{size}");
        let spec = grid::precondition_on(&text, NONE, &device, self.runner)?;
        self.run_before(&spec, "the content of the device")
    }

    /// Runs the precondition if it is due, on the file system or device if these vary. Returns the signal that
    /// ended it.
    fn precede(&mut self, kind: Option<&str>, is_due: bool) -> Result<Option<i32>, Failure> {
        let spec = match (&self.precondition, kind, &self.plan.precondition) {
            (Some(_), Some(kind), Some(text)) if is_due => {
                grid::precondition_on(text, kind, &self.device(), self.runner)?
            }
            (Some(spec), None, _) if is_due => spec.clone(),
            _ => return Ok(None),
        };
        self.run_before(&spec, "the jobs of --precondition")
    }

    fn run_before(&mut self, spec: &RunSpec, what: &str) -> Result<Option<i32>, Failure> {
        let mut messages = Messages::default();
        let ended = self.runner.run(spec, &mut messages)?;
        self.pass_on(&messages, "precondition");
        if ended.signal.is_none() && ended.failed_jobs > 0 {
            return Err(Failure::new(format!(
                "{what} failed, see the messages above; no run was started after that"
            )));
        }
        Ok(ended.signal)
    }

    /// Performs a run and records it; returns the signal that ended it.
    fn run_cell(&mut self, cell: usize, round: usize) -> Result<Option<i32>, Failure> {
        let spec = grid::spec_on(self.plan, cell, &self.device(), self.runner)?;
        let mut messages =
            Messages(spec.messages.iter().map(|message| message.text.trim().to_owned()).collect());
        let ended = self.runner.run(&spec, &mut messages)?;
        self.pass_on(&messages, &self.plan.name_of(cell));
        if ended.signal.is_none() {
            let why = messages.0.last().filter(|_| ended.failed_jobs > 0).map(|line| message_of_line(line));
            self.recorder.add(cell, round, ended.failed_jobs, why, &ended.report)?;
        }
        Ok(ended.signal)
    }

    /// Warns about jobs that have separate files on a file system, but share the device without one.
    fn report_sharing(&mut self) -> Result<(), Failure> {
        let kinds: Vec<(usize, &str)> = (0..self.plan.cells())
            .filter_map(|cell| Some((cell, self.plan.file_system_of(cell)?.1)))
            .collect();
        let has_none = kinds.iter().any(|(_, kind)| *kind == NONE);
        let Some((cell, _)) = kinds.iter().find(|(_, kind)| has_none && *kind != NONE) else { return Ok(()) };
        // Nothing is mounted yet, which is no problem: determining the names of files does not open them.
        let files = grid::files_of(self.plan, *cell, self.runner)?;
        if files > 1 {
            self.say(&format!(
                "note: on a file system, the jobs have {files} separate files; with none, they share the start of the device"
            ));
        }
        Ok(())
    }

    /// Prints the result of the last run, and an estimate of the time left.
    fn report_run(&mut self, number: usize, (cell, round): (usize, usize), rest: Duration) {
        let figures = match self.recorder.recorded().runs.last() {
            Some(run) if run.failed_jobs == 0 => in_short(&run.report),
            _ => "failed".to_owned(),
        };
        let name = self.plan.name_of(cell);
        let mark = if name.is_empty() { "" } else { ": " };
        let rest = rest_in_words(rest);
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
        status_of_signal(signal)
    }

    /// Prints the workers' messages, without repeating a line.
    fn pass_on(&mut self, messages: &Messages, name: &str) {
        for text in &messages.0 {
            if self.said.insert(text.clone()) {
                let line = if name.is_empty() { text.clone() } else { format!("{name}: {text}") };
                self.say(&line);
            }
        }
    }

    /// Prints a line of progress. Errors are ignored, because the sweep continues even if nothing reads its
    /// output.
    fn say(&mut self, line: &str) {
        let _ = writeln!(self.err, "{line}");
    }
}

/// One-line summary of a run.
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
