//! Builds the queue from options.

use crate::plan::model::queue::QueuePlan;
use fathom_spec::JobSpec;
use fathom_spec::options::depth::IoSubmitMode;

/// The queue of a job.
pub(super) fn queue_plan(job: &JobSpec) -> QueuePlan {
    let options = &job.depth;
    let depth = depth(job);
    let at_most_depth = |value: u32| if value == 0 { depth } else { value.min(depth) };
    let complete_min = options.iodepth_batch_complete_min.min(depth);
    // fio by default fetches one completion at a time and leaves the others waiting, which adds to their
    // latency. Unless the job says otherwise, fathom fetches all available completions together and refills the
    // queue after each of them, which keeps the queue full.
    let complete_max = match options.iodepth_batch_complete_max {
        Some(max) if job.is_set("iodepth_batch_complete_max") && max > 0 => max.max(complete_min),
        _ => depth,
    };
    let own_limits = ["iodepth_batch_complete_max", "iodepth_low"].iter().any(|option| job.is_set(option));
    let offloads = options.io_submit_mode == IoSubmitMode::Offload;
    QueuePlan {
        submit: at_most_depth(options.iodepth_batch),
        complete_min,
        complete_max: complete_max.max(1),
        low: at_most_depth(options.iodepth_low.unwrap_or(0)),
        tops_up: options.iodepth_batch == 1 && complete_min <= 1 && !own_limits,
        is_deep: job.asked_iodepth > 1 && !offloads,
        offloads,
        serializes_overlap: options.serialize_overlap,
    }
}

/// Maximum number of I/Os in flight.
pub(super) fn depth(job: &JobSpec) -> u32 {
    job.depth.iodepth.max(1)
}
