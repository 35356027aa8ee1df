//! The results file: one line for the plan, then one per finished run, each written and synced before the next
//! run starts. A line in between may change the number of repeats. A line truncated by a crash is dropped when
//! the sweep resumes.

use super::plan::{FORM, RepeatsChange, SweepPlan};
use crate::results_file::{
    Files, Journal, Mistake, Opened, ResultsFile, check_form, line_of, line_of_report, parse, text_of,
    value_in,
};
use fathom_command::Failure;
use fathom_results::RunResult;
use fathom_stats::report::RunReport;
use serde::Deserialize;
use std::ops::Range;
use std::path::Path;

/// Start of a line that changes the number of repeats.
const CHANGE_MARK: &[u8] = b"{\"repeats\":";

/// A finished run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct RecordedRun {
    /// Index of the combination.
    pub(crate) cell: usize,
    /// Number of the round, from 0.
    pub(crate) round: usize,
    /// Jobs that ended with an error; such runs do not count.
    pub(crate) failed_jobs: u32,
    /// Why the run failed, if it did.
    #[serde(default)]
    pub(crate) failure: String,
    /// The complete report; empty if the run's file system could not be made.
    #[serde(default)]
    pub(crate) report: RunResult,
}

/// The content of a results file.
#[derive(Clone, Debug)]
pub(crate) struct RecordedSweep {
    /// The plan from the first line, with the number of repeats that was requested last.
    pub(crate) plan: SweepPlan,
    /// The lines of runs.
    pub(crate) runs: Vec<RecordedRun>,
}

impl RecordedSweep {
    /// The valid runs of a cell, in the order of rounds. Of a run that was repeated, the last attempt counts.
    /// Runs beyond the requested rounds are valid as well, because they were measured like all others.
    pub(crate) fn runs_of(&self, cell: usize) -> Vec<&RecordedRun> {
        (0..self.rounds_begun()).filter_map(|round| self.run_of(cell, round)).collect()
    }

    /// Number of rounds that have begun; later rounds have no runs, regardless of how many were requested.
    fn rounds_begun(&self) -> usize {
        self.runs.iter().map(|run| run.round + 1).max().unwrap_or(0)
    }

    fn run_of(&self, cell: usize, round: usize) -> Option<&RecordedRun> {
        let is_it = |run: &&RecordedRun| run.cell == cell && run.round == round && run.failed_jobs == 0;
        self.runs.iter().rev().find(is_it)
    }

    /// True if the run is recorded.
    pub(super) fn is_done(&self, cell: usize, round: usize) -> bool {
        self.run_of(cell, round).is_some()
    }

    /// Number of requested runs.
    pub(super) fn wanted(&self) -> usize {
        self.plan.cells().saturating_mul(self.plan.repeats as usize)
    }

    /// Number of requested runs that are finished.
    pub(super) fn done(&self) -> usize {
        self.runs_in(0..self.plan.repeats as usize)
    }

    /// Number of valid runs beyond the requested number, which was higher before.
    pub(super) fn further(&self) -> usize {
        self.runs_in(self.plan.repeats as usize..self.plan.rounds())
    }

    fn runs_in(&self, rounds: Range<usize>) -> usize {
        let rounds = rounds.start..rounds.end.min(self.rounds_begun());
        let done = |cell: usize| rounds.clone().filter(|&round| self.is_done(cell, round)).count();
        (0..self.plan.cells()).map(done).sum()
    }

    /// Runs that failed and were not repeated successfully.
    pub(super) fn failed_runs(&self) -> usize {
        let is_wanted = |run: &RecordedRun| run.round < self.plan.repeats as usize;
        let failed =
            |run: &&RecordedRun| run.failed_jobs > 0 && is_wanted(run) && !self.is_done(run.cell, run.round);
        let mut failed: Vec<(usize, usize)> =
            self.runs.iter().filter(failed).map(|run| (run.cell, run.round)).collect();
        failed.sort_unstable();
        failed.dedup();
        failed.len()
    }
}

/// The sweep that this plan would resume, with the resulting number of repeats. Nothing is written.
pub(super) fn begun(
    path: &Path,
    plan: &SweepPlan,
    given: GivenArguments,
) -> Result<Option<RecordedSweep>, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    let (Some(mut recorded), _) = parse::<RecordedSweep>(&bytes, path)? else { return Ok(None) };
    refuse_other_plan(path, plan, &recorded.plan, given.seed)?;
    if given.repeats {
        recorded.plan.apply(recorded.plan.change_to(plan.repeats));
    }
    Ok(Some(recorded))
}

impl Journal for RecordedSweep {
    const FILES: Files = Files {
        mark: "{\"fathom sweep\":",
        command: "sweep",
        name: "sweep",
        subject: "sweep",
        line_of: "a sweep",
        repair: "remove the line to run it again",
    };

    fn begin(line: &[u8], path: &Path) -> Result<RecordedSweep, Mistake> {
        let plan: SweepPlan = serde_json::from_slice(line)?;
        check_form(path, plan.form, FORM)?;
        Ok(RecordedSweep { plan, runs: Vec::new() })
    }

    fn take(&mut self, line: &[u8], path: &Path) -> Result<(), Mistake> {
        if line.starts_with(CHANGE_MARK) {
            let change: RepeatsChange = serde_json::from_slice(line)?;
            self.plan.apply(change);
            return Ok(());
        }
        let mut run: RecordedRun = value_in(line)?;
        if run.cell >= self.plan.cells() || run.round >= self.plan.rounds() {
            return Err(Mistake::Line("the plan has no such cell and round".to_owned()));
        }
        run.report.source = path.display().to_string();
        self.runs.push(run);
        Ok(())
    }
}

/// A results file that is being written.
pub(super) struct Recorder {
    file: ResultsFile<RecordedSweep>,
    repeats_before: Option<u32>,
}

/// The arguments that were given explicitly; only these must match an existing sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenArguments {
    pub(super) seed: bool,
    pub(super) repeats: bool,
}

impl Recorder {
    /// Creates a results file, or resumes one with the same plan. The number of repeats may differ.
    pub(super) fn open(path: &Path, plan: &SweepPlan, given: GivenArguments) -> Result<Recorder, Failure> {
        let mut opened = Opened::<RecordedSweep>::new(path)?;
        let Some(recorded) = opened.found.take() else {
            return Ok(Recorder { file: opened.begin(line_of(plan)?)?, repeats_before: None });
        };
        refuse_other_plan(path, plan, &recorded.plan, given.seed)?;
        let mut recorder = Recorder { file: opened.resume(recorded)?, repeats_before: None };
        if given.repeats {
            recorder.change_repeats(plan.repeats)?;
        }
        Ok(recorder)
    }

    pub(super) fn recorded(&self) -> &RecordedSweep {
        self.file.recorded()
    }

    /// The previous number of repeats, if it changed.
    pub(super) fn repeats_before(&self) -> Option<u32> {
        self.repeats_before
    }

    fn change_repeats(&mut self, repeats: u32) -> Result<(), Failure> {
        let plan = &self.recorded().plan;
        let before = plan.repeats;
        if before == repeats {
            return Ok(());
        }
        let change = plan.change_to(repeats);
        self.file.add(line_of(&change)?)?;
        self.repeats_before = Some(before);
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn into_recorded(self) -> RecordedSweep {
        self.file.into_recorded()
    }

    /// Appends a run and syncs it to disk.
    pub(super) fn add(
        &mut self,
        cell: usize,
        round: usize,
        failed_jobs: u32,
        failure: Option<String>,
        report: &RunReport,
    ) -> Result<(), Failure> {
        let failure = match failure {
            Some(why) => format!("\"failure\":{},", text_of(&why)?),
            None => String::new(),
        };
        self.file.add(format!(
            "{{\"cell\":{cell},\"round\":{round},\"failed_jobs\":{failed_jobs},{failure}\"report\":{}}}",
            line_of_report(report)?
        ))
    }

    /// Appends a run that could not be started.
    pub(super) fn add_failure(&mut self, cell: usize, round: usize, why: &str) -> Result<(), Failure> {
        let failure = text_of(why)?;
        self.file
            .add(format!("{{\"cell\":{cell},\"round\":{round},\"failed_jobs\":1,\"failure\":{failure}}}"))
    }
}

fn refuse_other_plan(
    path: &Path,
    plan: &SweepPlan,
    recorded: &SweepPlan,
    is_seed_given: bool,
) -> Result<(), Failure> {
    let differences = plan.differences(recorded, is_seed_given);
    match differences.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{}: this file has results of another sweep ({}); name another file with --output, or repeat the arguments of that sweep",
            path.display(),
            differences.join("; ")
        ))),
    }
}
