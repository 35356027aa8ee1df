//! The results file: a line for the plan, then a line per finished run, each written and synced before the next run begins.

use super::load::Load;

use super::plan::{CurvePlan, FORM};

use crate::checks;
use crate::figures;
use crate::loads::measure::{self, MeasuredLoad};
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
    curve: usize,
    /// Offered rate; `None` for a run without a schedule.
    rate: Option<f64>,
    failed_jobs: u32,
    #[serde(default)]
    failure: String,
    #[serde(default)]
    report: RunResult,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CurveRun {
    /// Index of the curve.
    pub(super) curve: usize,
    /// Its load.
    pub(super) load: Load,
    /// Why the run failed; failed runs do not count.
    pub(super) failure: Option<String>,
    /// I/Os per second that completed.
    pub(super) rate: f64,
    /// Figures of the run; `None` for a run without a schedule.
    pub(super) measured: MeasuredLoad,
    /// Findings of the checks.
    pub(super) verdict: VerdictReport,
}

/// The content of a results file.
#[derive(Clone, Debug)]
pub(crate) struct RecordedCurve {
    /// The plan, from the first line.
    pub(super) plan: CurvePlan,
    /// The runs, from all other lines, in order.
    pub(super) runs: Vec<CurveRun>,
}

impl RecordedCurve {
    /// The valid runs of a step.
    pub(super) fn runs_at(&self, curve: usize, rate: f64) -> Vec<&MeasuredLoad> {
        let is_it =
            |run: &&CurveRun| run.curve == curve && run.load == Load::Offered(rate) && run.failure.is_none();
        self.runs.iter().filter(is_it).map(|run| &run.measured).collect()
    }

    /// The rate without a limit, once it has been measured.
    pub(super) fn capacity(&self, curve: usize) -> Option<f64> {
        let is_it = |run: &&CurveRun| run.curve == curve && run.load == Load::Closed && run.failure.is_none();
        self.runs.iter().find(is_it).map(|run| run.rate)
    }

    /// The loads that a curve has so far, in ascending order.
    pub(super) fn rates_of(&self, curve: usize) -> Vec<f64> {
        let rate = |run: &CurveRun| match run.load {
            Load::Offered(rate) if run.curve == curve && run.failure.is_none() => Some(rate),
            _ => None,
        };
        let mut rates: Vec<f64> = self.runs.iter().filter_map(rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        rates
    }

    /// Wrong figures and doubts in the runs that count. Loads that the storage does not sustain are exempt,
    /// because they are meant to miss their rate and fill the queue. Late starts are reported with the answers.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let counts = |run: &&CurveRun| run.failure.is_none() && !run.measured.is_growing;
        let runs: Vec<_> = self
            .runs
            .iter()
            .filter(counts)
            .map(|run| (self.name_of(run.curve, run.load), &run.verdict))
            .collect();
        checks::of_runs(&runs, &["late-starts"])
    }

    fn name_of(&self, curve: usize, load: Load) -> String {
        let load = match load {
            Load::Closed => "the closed loop".to_owned(),
            Load::Offered(rate) => format!("{} IOPS", figures::count(rate)),
        };
        match self.plan.name_of(curve).as_str() {
            "" => load,
            name => format!("{name}, {load}"),
        }
    }

    /// Limits of I/Os that no run had.
    pub(super) fn idle_limits(&self, objectives: &[Objective]) -> Vec<String> {
        let loads = self.runs.iter().filter(|run| run.failure.is_none() && run.load != Load::Closed);
        let runs: Vec<&MeasuredLoad> = loads.map(|run| &run.measured).collect();
        without_values(objectives, &runs)
    }

    /// Runs that failed.
    pub(super) fn failed_runs(&self) -> usize {
        self.runs.iter().filter(|run| run.failure.is_some()).count()
    }
}

impl Journal for RecordedCurve {
    const FILES: Files = Files {
        mark: "{\"fathom curve\":",
        command: "curve",
        name: "curve",
        subject: "curve",
        line_of: "a curve",
        repair: "remove the line to run it again",
    };

    fn begin(line: &[u8], path: &Path) -> Result<RecordedCurve, Mistake> {
        let plan: CurvePlan = serde_json::from_slice(line)?;
        check_form(path, plan.form, FORM)?;
        Ok(RecordedCurve { plan, runs: Vec::new() })
    }

    fn take(&mut self, line: &[u8], _path: &Path) -> Result<(), Mistake> {
        let run = run_of(line)?;
        if run.curve >= self.plan.curves() {
            return Err(Mistake::Line("the plan has no such curve".to_owned()));
        }
        self.runs.push(run);
        Ok(())
    }
}

impl HasResults for RecordedCurve {
    fn result_in(&self, line: &[u8]) -> Result<Option<(String, RunResult)>, Mistake> {
        let line: RunLine = value_in(line)?;
        let load = line.rate.map_or(Load::Closed, Load::Offered);
        Ok((line.failed_jobs == 0).then(|| (self.name_of(line.curve, load), line.report)))
    }
}

fn run_of(line: &[u8]) -> Result<CurveRun, Mistake> {
    let line: RunLine = value_in(line)?;
    let has_failed = line.failed_jobs > 0;
    let measured = if has_failed { Ok(MeasuredLoad::default()) } else { MeasuredLoad::of(&line.report) };
    Ok(CurveRun {
        curve: line.curve,
        load: line.rate.map_or(Load::Closed, Load::Offered),
        failure: has_failed.then_some(line.failure),
        rate: measure::rate_of(&line.report),
        measured: measured.map_err(Mistake::Line)?,
        verdict: checks::judge(&line.report),
    })
}

/// Creates a results file, or resumes one with the same plan.
pub(super) fn open(
    path: &Path,
    plan: &CurvePlan,
    is_seed_given: bool,
) -> Result<ResultsFile<RecordedCurve>, Failure> {
    let mut opened = Opened::<RecordedCurve>::new(path)?;
    let Some(recorded) = opened.found.take() else { return opened.begin(line_of(plan)?) };
    opened.resume_same(recorded, |recorded| plan.differences(&recorded.plan, is_seed_given))
}
