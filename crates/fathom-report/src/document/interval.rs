//! The `interval` object of a line: what was done since the line before.

use super::layout::{Object, Value};
use fathom_stats::histogram::RANGE_END_NS;
use fathom_stats::interval::{IntervalDirection, IntervalJob, IntervalLatency, IntervalReport};

/// Which interval it is, and its figures; the jobs are in the order of the report's jobs.
pub(crate) fn object(interval: &IntervalReport) -> Object {
    let length_us = interval.end_us.saturating_sub(interval.start_us).max(1);
    let mut object = Object::default();
    object.add("number", interval.number);
    object.add("start_ms", interval.start_us / 1000);
    object.add("end_ms", interval.end_us / 1000);
    object.add("start_timestamp_ms", interval.start_wall_ms);
    object.add("end_timestamp_ms", interval.end_wall_ms);
    object.add("jobs", interval.jobs.iter().map(|entry| job(entry, length_us)).collect::<Vec<Object>>());
    object
}

fn job(job: &IntervalJob, length_us: u64) -> Object {
    let mut object = Object::default();
    object.add("jobname", job.name.as_str());
    object.add("groupid", job.group_id);
    object.add("clones_not_recording", job.clones_not_recording);
    object.add("clones_restarted", job.clones_restarted);
    for (key, figures) in ["read", "write", "trim"].into_iter().zip(&job.directions) {
        object.add(key, direction(figures, length_us));
    }
    let mut sync = Object::default();
    sync.add("total_ios", job.sync.count);
    sync.add("lat_ns", latency(&job.sync));
    object.add("sync", sync);
    object
}

fn direction(figures: &IntervalDirection, length_us: u64) -> Object {
    let per_second = |amount: u64| amount as f64 * 1e6 / length_us as f64;
    let mut object = Object::default();
    object.add("io_bytes", figures.io_bytes);
    object.add("total_ios", figures.total_ios);
    object.add("bw_bytes", per_second(figures.io_bytes) as u64);
    object.add("iops", per_second(figures.total_ios));
    object.add("slat_ns", latency(&figures.slat));
    object.add("clat_ns", latency(&figures.clat));
    object.add("lat_ns", latency(&figures.lat));
    object
}

fn latency(figures: &IntervalLatency) -> Object {
    let mut object = Object::default();
    object.add("N", figures.count);
    object.add("mean", figures.mean_ns());
    object.add("min_at_least", figures.least_ns);
    object.add("max_at_most", figures.most_ns);
    let histogram = &figures.histogram;
    if histogram.count() > 0 {
        let beyond = (histogram.beyond_range > 0).then_some((RANGE_END_NS, histogram.beyond_range));
        let bins = histogram.values().chain(beyond);
        object.add(
            "bins",
            Value::from(bins.map(|(value, count)| (value.to_string(), count)).collect::<Object>()),
        );
    }
    object
}
