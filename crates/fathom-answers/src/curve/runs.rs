//! The runs of a curve: their jobs, their lines in the results file, and what is said of them.

use super::load::Load;
use super::next::next;
use super::record::{CurveRun, RecordedCurve};
use crate::Runner;
use crate::figures;
use crate::loads::objective::Objective;
use crate::loads::series::Series;
use crate::results_file::{line_of_report, text_of};
use fathom_command::Failure;
use fathom_spec::RunSpec;
use fathom_stats::report::RunReport;

impl Series for RecordedCurve {
    type Load = (usize, Load);

    fn next(&self, objectives: &[Objective]) -> Option<(usize, Load)> {
        next(self, objectives)
    }

    fn spec(&self, (curve, load): (usize, Load), runner: &dyn Runner) -> Result<RunSpec, Failure> {
        let is_same = |run: &&CurveRun| run.curve == curve && run.load == load;
        let number = self.runs.iter().filter(is_same).count();
        super::spec_at(&self.plan, curve, load, number, runner)
    }

    fn line(
        &self,
        (curve, load): (usize, Load),
        (failed_jobs, why): &(u32, String),
        report: &RunReport,
    ) -> Result<String, Failure> {
        let rate = match load {
            Load::Closed => "null".to_owned(),
            Load::Offered(rate) => rate.to_string(),
        };
        Ok(format!(
            "{{\"curve\":{curve},\"rate\":{rate},\"failed_jobs\":{failed_jobs},\"failure\":{},\"report\":{}}}",
            text_of(why)?,
            line_of_report(report)?
        ))
    }

    fn count(&self) -> usize {
        self.runs.len()
    }

    fn last(&self) -> Option<(String, bool)> {
        let run = self.runs.last()?;
        let name = self.plan.name_of(run.curve);
        let lead = if name.is_empty() { String::new() } else { format!("{name}: ") };
        Some((format!("{lead}{}", in_short(run)), run.failure.is_some()))
    }
}

/// One-line summary of a run.
fn in_short(run: &CurveRun) -> String {
    if let Some(why) = &run.failure {
        return format!("failed: {why}");
    }
    match run.load {
        Load::Closed => format!("without a limit: {} IOPS", figures::count(run.rate)),
        Load::Offered(rate) => format!(
            "{} IOPS offered: {} served, {}",
            figures::count(rate),
            figures::count(run.measured.served),
            run.measured.in_short()
        ),
    }
}
