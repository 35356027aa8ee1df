//! Builds times from options.

use crate::plan::model::time::{RampPlan, TimePlan};
use fathom_spec::JobSpec;

/// Start and end times of a job.
pub(super) fn time_plan(job: &JobSpec) -> TimePlan {
    let options = &job.time;
    TimePlan {
        start_delay: options.startdelay,
        ramp: ramp(job),
        runtime: options.runtime,
        time_based: options.time_based,
        clock: options.clocksource,
        start_clock: options.job_start_clock_id,
    }
}

fn ramp(job: &JobSpec) -> Option<RampPlan> {
    let ramp = RampPlan {
        time: job.time.ramp_time.unwrap_or_default(),
        bytes: job.time.ramp_size.unwrap_or(0),
        counts_group: job.measurement.group_reporting,
    };
    (!ramp.time.is_zero() || ramp.bytes > 0).then_some(ramp)
}
