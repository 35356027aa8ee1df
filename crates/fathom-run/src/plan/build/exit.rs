//! From options to how the ends of jobs hang together.

use crate::plan::model::exit::ExitPlan;
use fathom_spec::JobSpec;
use fathom_spec::engines::EngineDef;

/// What the end of a job means to others, and theirs to it.
pub(super) fn exit_plan(job: &JobSpec, engine: &EngineDef) -> ExitPlan {
    ExitPlan {
        ends: job.threads.exitall.then_some(job.threads.exit_what),
        ends_all_by_failing: job.error_handling.exitall_on_error,
        follows_io: engine.background_load(job).is_some_and(|load| load.follows_io),
    }
}
