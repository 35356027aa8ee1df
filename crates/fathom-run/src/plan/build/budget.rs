//! Builds the budget (amount of work) from options.

use super::Subject;
use crate::plan::model::budget::BudgetPlan;
use fathom_spec::JobSpec;

/// The amount of work of a clone.
pub(super) fn budget_plan(subject: &Subject<'_>) -> BudgetPlan {
    let job = subject.job;
    BudgetPlan {
        loops: u64::from(job.job_description.loops.max(1)),
        ios: Some(job.io_type.number_ios).filter(|&ios| ios > 0),
        is_single_pass: job.io_type.sprandom,
        passes_end_by_size: subject.passes_end_by_size,
        goes_again_through_holes: subject.goes_again_through_holes,
        repeats_passes: repeats_passes(job),
    }
}

/// True if each pass repeats the same random numbers. A given seed, or `randrepeat=0`, makes passes differ.
fn repeats_passes(job: &JobSpec) -> bool {
    job.io_type.randrepeat && !job.is_set("randseed")
}
