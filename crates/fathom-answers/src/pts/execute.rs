//! Performs the steps of a test in order, each through the run loop.

use super::definition::{Ends, Part};
use super::estimate::time;
use super::findings::rounds;
use super::jobs;
use super::plan::PtsPlan;
use super::purge::{Purged, purge};
use super::record::{self, RecordedTest};
use super::sequence::Ending;
use super::steady_state::Window;
use super::step::Step;
use super::step::{Measured, Outcome};
use crate::Runner;
use crate::device::Claim;
use crate::figures;
use crate::measures::Figure;
use crate::results_file::ResultsFile;
use crate::running::{Messages, Stop, result_of, status_of_signal};
use fathom_command::Failure;
use fathom_stats::counted;
use fathom_stats::report::message_of_line;
use fathom_sys::signal::SignalQueue;
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::Instant;

/// Performs all steps that are not recorded yet. Returns the exit status if a signal ended the test.
pub(super) fn execute(
    recorder: &mut ResultsFile<RecordedTest>,
    claim: &Claim,
    signals: &SignalQueue,
    err: &mut dyn Write,
    runner: &mut dyn Runner,
) -> Result<Option<u8>, Failure> {
    let plan = recorder.recorded().plan.clone();
    let parts = plan.parts();
    let stop = Stop::new(signals);
    Execution { plan, parts, recorder, claim, stop, err, runner, said: BTreeSet::new() }.run()
}

/// A test in progress.
struct Execution<'a> {
    plan: PtsPlan,
    parts: Vec<Part>,
    recorder: &'a mut ResultsFile<RecordedTest>,
    claim: &'a Claim,
    stop: Stop<'a>,
    err: &'a mut dyn Write,
    runner: &'a mut dyn Runner,
    /// Messages that were already printed, so that they are not repeated after every step.
    said: BTreeSet<String>,
}

/// Result of a step; it breaks off if a signal interrupted the step.
type StepEnd<T> = ControlFlow<i32, T>;

impl Execution<'_> {
    fn run(mut self) -> Result<Option<u8>, Failure> {
        while let Some(step) = self.recorder.recorded().next() {
            if let Some(signal) = self.stop.asked() {
                return Ok(Some(self.end_by(signal)));
            }
            self.check_target()?;
            let started = Instant::now();
            let made = self.make(step).map_err(|failure| self.with_place(step, &failure))?;
            let outcome = match made {
                StepEnd::Break(signal) => return Ok(Some(self.end_by(signal))),
                StepEnd::Continue(outcome) => outcome,
            };
            let seconds = started.elapsed().as_secs_f64();
            record::add(self.recorder, step, seconds, outcome)?;
            self.tell(step, seconds);
        }
        Ok(None)
    }

    /// Checks that the target is still the one that was claimed and that no other program uses it.
    fn check_target(&self) -> Result<(), Failure> {
        let path = &self.plan.target.path;
        self.claim.check(path)?;
        match self.runner.use_of(path) {
            Some(used) => Err(Failure::new(format!(
                "{}: another program began to use it during the test: {used}; no further step was started",
                path.display()
            ))),
            None => Ok(()),
        }
    }

    fn make(&mut self, step: Step) -> Result<StepEnd<Outcome>, Failure> {
        // Each step has different offsets and data, but a step that is repeated has the same ones again.
        let seed = self.plan.seed.wrapping_add(self.recorder.recorded().steps.len() as u64);
        match step {
            Step::Purge { .. } => Ok(match purge(&self.plan.target, self.plan.purges, &self.stop)? {
                Purged::Done(how) => StepEnd::Continue(Outcome::Purged(how)),
                Purged::Stopped(signal) => StepEnd::Break(signal),
            }),
            Step::Precondition { .. } => {
                let made = self.run_job(&jobs::precondition(&self.plan, seed))?;
                Ok(made
                    .map_continue(|measured| Outcome::Written(measured.write.map_or(0, |write| write.bytes))))
            }
            Step::Point { part, point, .. } => {
                let text = jobs::point(&self.plan, &self.parts[part].points[point], seed);
                Ok(self.run_job(&text)?.map_continue(Outcome::Measured))
            }
        }
    }

    fn run_job(&mut self, text: &str) -> Result<StepEnd<Measured>, Failure> {
        let spec = self.runner.parse(&["-".to_owned()], text)?;
        let mut messages =
            Messages(spec.messages.iter().map(|message| message.text.trim().to_owned()).collect());
        let ended = self.runner.run(&spec, &mut messages)?;
        if let Some(signal) = ended.signal {
            return Ok(StepEnd::Break(signal));
        }
        if ended.failed_jobs > 0 {
            let why =
                messages.0.last().map_or_else(|| "its job failed".to_owned(), |line| message_of_line(line));
            return Err(Failure::new(why));
        }
        for line in messages.0 {
            if self.said.insert(line.clone()) {
                self.say(&line);
            }
        }
        Ok(StepEnd::Continue(Measured::of(&result_of(&ended.report)?)))
    }

    fn with_place(&self, step: Step, failure: &Failure) -> Failure {
        Failure::new(format!(
            "{}, {}: {failure}; {} saved in {}, where --resume continues",
            self.plan.target.path.display(),
            self.name(step),
            counted(self.recorder.recorded().steps.len(), "finished step"),
            self.recorder.path().display()
        ))
    }

    /// A name such as `round 2, random 4 KiB, 0/100`.
    fn name(&self, step: Step) -> String {
        let (part, name) = match step {
            Step::Purge { part } => (part, "purge".to_owned()),
            Step::Precondition { part, pass } => {
                (part, format!("preconditioning, pass {} of {}", pass + 1, self.parts[part].passes))
            }
            Step::Point { part, round, point } => {
                (part, format!("round {}, {}", round + 1, self.parts[part].points[point].name()))
            }
        };
        match self.parts[part].name.as_str() {
            "" => name,
            part => format!("{part}: {name}"),
        }
    }

    /// Prints the result of the last step and, at the end of a round, how close the device is to steady state.
    fn tell(&mut self, step: Step, seconds: f64) {
        let name = self.name(step);
        let figure = self.plan.test.definition().figure;
        let Some(done) = self.recorder.recorded().steps.last() else { return };
        let told = match &done.outcome {
            Outcome::Purged(how) => how.clone(),
            Outcome::Written(bytes) => {
                let rate = figures::bandwidth(*bytes as f64 / seconds.max(1e-9));
                format!("{} in {}, {rate}", figures::size(*bytes), time(seconds))
            }
            Outcome::Measured(measured) => measured.all.value(figure).map_or_else(
                || "no I/O was done".to_owned(),
                |value| match figure {
                    Figure::Iops => format!("{} IOPS", figure.text(value)),
                    _ => figure.text(value),
                },
            ),
        };
        self.say(&format!("{name}: {told}"));
        if let Step::Point { part, round, point } = step
            && point + 1 == self.parts[part].points.len()
            && self.parts[part].ends == Ends::Steady
        {
            let line = self.steadiness(part, round);
            self.say(&line);
        }
    }

    fn steadiness(&self, part: usize, round: usize) -> String {
        let recorded = self.recorder.recorded();
        let figure = self.plan.test.definition().figure;
        let values: Vec<f64> = recorded.tracked_in(part).filter_map(|all| all.value(figure)).collect();
        let told = Window::last_of(&values).map(|window| {
            format!(
                "range {}, slope {}",
                figures::percent(100.0 * window.range_share()),
                figures::percent(100.0 * window.slope_share())
            )
        });
        let lead = if self.parts[part].name.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.parts[part].name)
        };
        let round = round + 1;
        match (recorded.endings().get(part), told) {
            (Some(Ending::Steady(_)), Some(told)) => {
                format!("{lead}steady state after round {round} ({told})")
            }
            (Some(_), _) => format!("{lead}no steady state in {}", rounds(round)),
            (None, Some(told)) => {
                format!("{lead}not steady after round {round} of {} at most ({told})", self.plan.most_rounds)
            }
            (None, None) => format!("{lead}round {round} of {} at most is done", self.plan.most_rounds),
        }
    }

    fn end_by(&mut self, signal: i32) -> u8 {
        let (steps, path) =
            (self.recorder.recorded().steps.len(), self.recorder.path().display().to_string());
        let file = match self.plan.target.is_device() {
            true => String::new(),
            false => format!("; {} stays for that", self.plan.target.path.display()),
        };
        self.say(&format!(
            "ended by signal {signal} with {} saved in {path}; the same command with --resume continues there{file}",
            counted(steps, "finished step")
        ));
        status_of_signal(signal)
    }

    /// Prints a line of progress. Errors are ignored, because the test continues even if nothing reads its
    /// output.
    fn say(&mut self, line: &str) {
        let _ = writeln!(self.err, "{line}");
    }
}
