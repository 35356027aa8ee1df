//! The results file: a line for the plan, then a line per finished run, each written and synced before the next
//! run begins.

use super::plan::{FORM, RehearsalPlan, Source};

use crate::checks;
use crate::loads::measure::MeasuredLoad;
use crate::loads::objective::Objective;
use crate::loads::precision::without_values;

use crate::results_file::{
    Files, HasResults, Journal, Mistake, Opened, ResultsFile, check_form, line_of, value_in,
};
use fathom_command::Failure;
use fathom_results::RunResult;

use fathom_stats::verdict::VerdictReport;
use serde::Deserialize;
use std::path::Path;

/// The line of a finished run.
#[derive(Debug, Deserialize)]
struct RunLine {
    scale: f64,
    failed_jobs: u32,
    #[serde(default)]
    failure: String,
    #[serde(default)]
    report: RunResult,
}

/// A finished run.
#[derive(Clone, Debug)]
pub(crate) struct RehearsalRun {
    /// Its scale.
    pub(super) scale: f64,
    /// Why the run failed; failed runs do not count.
    pub(super) failure: Option<String>,
    /// Figures of the run.
    pub(super) measured: MeasuredLoad,
    /// Length of the run in s.
    pub(super) seconds: f64,
    /// Findings of the checks.
    pub(super) verdict: VerdictReport,
}

/// The content of a results file.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRehearsal {
    /// The plan, from the first line.
    pub(crate) plan: RehearsalPlan,
    /// The runs, from all other lines, in order.
    pub(super) runs: Vec<RehearsalRun>,
}

impl RecordedRehearsal {
    fn valid(&self) -> impl Iterator<Item = &RehearsalRun> {
        self.runs.iter().filter(|run| run.failure.is_none())
    }

    fn at(&self, scale: f64) -> impl Iterator<Item = &RehearsalRun> {
        self.valid().filter(move |run| run.scale.to_bits() == scale.to_bits())
    }

    /// The valid runs at a scale.
    pub(super) fn runs_at(&self, scale: f64) -> Vec<&MeasuredLoad> {
        self.at(scale).map(|run| &run.measured).collect()
    }

    /// Lengths of the valid runs at a scale in s.
    pub(super) fn seconds_at(&self, scale: f64) -> Vec<f64> {
        self.at(scale).map(|run| run.seconds).collect()
    }

    /// The scales that were run so far, ascending.
    pub(super) fn scales(&self) -> Vec<f64> {
        let mut scales: Vec<f64> = self.valid().map(|run| run.scale).collect();
        scales.sort_by(f64::total_cmp);
        scales.dedup();
        scales
    }

    /// Wrong figures and doubts in the runs that count. Scales that the target does not sustain are exempt,
    /// because they are meant to miss their rate and fill the queue. Late starts are reported with the answers.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let counts = self.valid().filter(|run| !run.measured.is_growing);
        let runs: Vec<_> = counts.map(|run| (scale_word(run.scale), &run.verdict)).collect();
        checks::of_runs(&runs, &["late-starts"])
    }

    /// Limits of I/Os that no run had.
    pub(super) fn idle_limits(&self, objectives: &[Objective]) -> Vec<String> {
        let runs: Vec<&MeasuredLoad> = self.valid().map(|run| &run.measured).collect();
        without_values(objectives, &runs)
    }

    /// Runs that failed.
    pub(super) fn failed_runs(&self) -> usize {
        self.runs.iter().filter(|run| run.failure.is_some()).count()
    }
}

/// `3.4x`.
pub(crate) fn scale_word(scale: f64) -> String {
    format!("{}x", multiple(scale))
}

/// `3.4`: two decimals at most.
pub(crate) fn multiple(scale: f64) -> String {
    ((scale * 100.0).round() / 100.0).to_string()
}

impl Journal for RecordedRehearsal {
    const FILES: Files = Files {
        mark: "{\"fathom rehearse\":",
        command: "rehearse",
        name: "rehearsal",
        subject: "rehearsal",
        line_of: "a rehearsal",
        repair: "remove the line to run it again",
    };

    fn begin(line: &[u8], path: &Path) -> Result<RecordedRehearsal, Mistake> {
        let plan: RehearsalPlan = serde_json::from_slice(line)?;
        check_form(path, plan.form, FORM)?;
        Ok(RecordedRehearsal { plan, runs: Vec::new() })
    }

    fn take(&mut self, line: &[u8], _path: &Path) -> Result<(), Mistake> {
        let line: RunLine = value_in(line)?;
        if !(line.scale.is_finite() && line.scale > 0.0) {
            return Err(Mistake::Line(format!("{} is not a scale", line.scale)));
        }
        let has_failed = line.failed_jobs > 0;
        let measured = match self.plan.source {
            _ if has_failed => Ok(MeasuredLoad::default()),
            Source::Dependencies => MeasuredLoad::of_closed(&line.report),
            Source::Replay | Source::Jobs => MeasuredLoad::of(&line.report),
        };
        let measured = measured.map_err(Mistake::Line)?;
        let longest = line.report.jobs.iter().map(|job| job.runtime_ms).max().unwrap_or(0);
        self.runs.push(RehearsalRun {
            scale: line.scale,
            failure: has_failed.then_some(line.failure),
            measured,
            seconds: longest as f64 / 1e3,
            verdict: checks::judge(&line.report),
        });
        Ok(())
    }
}

impl HasResults for RecordedRehearsal {
    fn result_in(&self, line: &[u8]) -> Result<Option<(String, RunResult)>, Mistake> {
        let line: RunLine = value_in(line)?;
        Ok((line.failed_jobs == 0).then(|| (scale_word(line.scale), line.report)))
    }
}

/// Creates a results file, or resumes one with the same plan.
pub(super) fn open(
    path: &Path,
    plan: &RehearsalPlan,
    is_seed_given: bool,
) -> Result<ResultsFile<RecordedRehearsal>, Failure> {
    let mut opened = Opened::<RecordedRehearsal>::new(path)?;
    let Some(recorded) = opened.found.take() else { return opened.begin(line_of(plan)?) };
    opened.resume_same(recorded, |recorded| plan.differences(&recorded.plan, is_seed_given))
}
