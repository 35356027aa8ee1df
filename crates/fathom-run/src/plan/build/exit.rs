//! Builds dependencies between the ends of jobs from options.

use crate::plan::model::exit::ExitPlan;
use fathom_spec::JobSpec;

/// How the end of a job affects others.
pub(super) fn exit_plan(job: &JobSpec) -> ExitPlan {
    ExitPlan {
        ends: job.threads.exitall.then_some(job.threads.exit_what),
        ends_all_by_failing: job.error_handling.exitall_on_error,
    }
}
