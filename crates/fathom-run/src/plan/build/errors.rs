//! Builds the rules for tolerated errors from options.

use crate::plan::model::errors::{ErrorPlan, Tolerance};
use fathom_spec::JobSpec;

/// The tolerated errors of a job.
pub(super) fn error_plan(job: &JobSpec) -> ErrorPlan {
    let options = &job.error_handling;
    let listed = options.ignore_error.clone().unwrap_or_default();
    ErrorPlan {
        reads: Tolerance { goes_on: options.continue_on_error.read, errors: listed.read },
        writes: Tolerance { goes_on: options.continue_on_error.write, errors: listed.write },
        checks: Tolerance { goes_on: options.continue_on_error.verify, errors: listed.verify },
        tells: options.error_dump,
    }
}
