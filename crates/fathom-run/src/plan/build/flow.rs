//! Builds flows from options.

use crate::plan::model::flow::FlowPlan;
use fathom_spec::JobSpec;

/// The flow of a job, if it belongs to one.
pub(super) fn flow_plan(job: &JobSpec) -> Option<FlowPlan> {
    let options = &job.rate;
    (options.flow > 0).then(|| FlowPlan {
        id: options.flow_id,
        weight: u64::from(options.flow),
        pause_us: u64::from(options.flow_sleep),
    })
}
