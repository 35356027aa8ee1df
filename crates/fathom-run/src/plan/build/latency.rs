//! Builds the rules for latencies from options.

use super::Subject;
use crate::plan::model::latency::{LatencyPlan, LatencyTarget, Measured};
use fathom_spec::JobSpec;
use fathom_spec::options::depth::IoSubmitMode;
use fathom_stats::PerDirection;
use std::time::Duration;

/// The latency rules of a job.
pub(super) fn latency_plan(subject: &Subject<'_>) -> LatencyPlan {
    let job = subject.job;
    let options = &job.measurement;
    let is_one_call = times_calls_alone(subject);
    LatencyPlan {
        slat: Measured { at_all: !options.disable_slat, bins: options.slat_percentiles },
        clat: Measured { at_all: !options.disable_clat, bins: options.clat_percentiles },
        lat: Measured { at_all: !options.disable_lat && !is_one_call, bins: options.lat_percentiles },
        has_distribution: !is_one_call,
        limits_ns: limits_ns(job),
        search: search(job),
    }
}

/// True for synchronous operations on names: as in fio, only the call itself is timed.
fn times_calls_alone(subject: &Subject<'_>) -> bool {
    let depth = &subject.job.depth;
    subject.engine.metadata.is_some() && depth.iodepth <= 1 && depth.io_submit_mode == IoSubmitMode::Inline
}

fn limits_ns(job: &JobSpec) -> PerDirection<u64> {
    // A limit of 0 means no limit.
    let in_ns = |limit: Duration| if limit.is_zero() { u64::MAX } else { limit.as_nanos() as u64 };
    job.latency.max_latency.map(|limit| limit.map_or(u64::MAX, in_ns))
}

fn search(job: &JobSpec) -> Option<LatencyTarget> {
    let options = &job.latency;
    let nanoseconds = |time: Option<Duration>| time.map_or(0, |time| time.as_nanos() as u64);
    let (target_ns, window_ns) = (nanoseconds(options.latency_target), nanoseconds(options.latency_window));
    (target_ns > 0 && window_ns > 0).then_some(LatencyTarget {
        target_ns,
        percentile: options.latency_percentile,
        window_ns,
        keeps_running: options.latency_run,
    })
}
