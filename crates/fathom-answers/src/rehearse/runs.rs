//! The runs of a rehearsal: their jobs, their lines in the results file, and what is said of them.

use super::load;
use super::next::next;
use super::plan::RehearsalPlan;
use super::record::{RecordedRehearsal, RehearsalRun, scale_word};
use crate::Runner;
use crate::base_job;
use crate::figures;
use crate::loads::objective::Objective;
use crate::loads::series::Series;
use crate::results_file::{line_of_report, text_of};
use fathom_command::Failure;
use fathom_record::{Recorder, devices};
use fathom_spec::RunSpec;
use fathom_stats::report::RunReport;
use std::path::PathBuf;

impl Series for RecordedRehearsal {
    type Load = f64;

    fn next(&self, objectives: &[Objective]) -> Option<f64> {
        next(self, objectives)
    }

    fn spec(&self, scale: f64, runner: &dyn Runner) -> Result<RunSpec, Failure> {
        let number = self.runs_at(scale).len();
        let mut spec = spec_at(&self.plan, scale, number, runner)?;
        spec.program.layers = scale.to_bits() == 1f64.to_bits() && compares_at_device(&self.plan);
        Ok(spec)
    }

    fn line(
        &self,
        scale: f64,
        (failed_jobs, why): &(u32, String),
        report: &RunReport,
    ) -> Result<String, Failure> {
        Ok(format!(
            "{{\"scale\":{scale},\"failed_jobs\":{failed_jobs},\"failure\":{},\"report\":{}}}",
            text_of(why)?,
            line_of_report(report)?
        ))
    }

    fn count(&self) -> usize {
        self.runs.len()
    }

    fn last(&self) -> Option<(String, bool)> {
        let run = self.runs.last()?;
        Some((in_short(run), run.failure.is_some()))
    }
}

/// The jobs of a rehearsal at a scale, in one of its runs.
pub(super) fn spec_at(
    plan: &RehearsalPlan,
    scale: f64,
    number: usize,
    runner: &dyn Runner,
) -> Result<RunSpec, Failure> {
    let spec = base_job::read(&plan.job, false, runner)?;
    base_job::read(&load::at_scale(plan, scale, number, &spec), false, runner)
}

/// True if there are recorded latencies, and those of the target can be measured from the same point of its way:
/// the block layer.
fn compares_at_device(plan: &RehearsalPlan) -> bool {
    let is_compared = plan.production.as_ref().is_some_and(|production| !production.latencies.is_empty());
    is_compared && devices::below(&[PathBuf::from(&plan.target)]).is_ok() && Recorder::probe().is_ok()
}

/// One-line summary of a run.
fn in_short(run: &RehearsalRun) -> String {
    if let Some(why) = &run.failure {
        return format!("{}: failed: {why}", scale_word(run.scale));
    }
    format!(
        "{}: {} IOPS served, {}",
        scale_word(run.scale),
        figures::count(run.measured.served),
        run.measured.in_short()
    )
}
