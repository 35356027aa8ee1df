//! The `interval` object of a line: what was done since the line before.

use super::histogram::bins;
use super::layout::{Object, list, object};
use fathom_stats::interval::{IntervalDirection, IntervalJob, IntervalLatency, IntervalReport};

/// Which interval it is, and its figures; the jobs are in the order of the report's jobs.
pub(crate) fn object(interval: &IntervalReport) -> Object {
    let length_us = interval.end_us.saturating_sub(interval.start_us).max(1);
    object! {
        "number": interval.number,
        "start_ms": interval.start_us / 1000,
        "end_ms": interval.end_us / 1000,
        "start_timestamp_ms": interval.start_wall_ms,
        "end_timestamp_ms": interval.end_wall_ms,
        "jobs": list(&interval.jobs, |entry| job(entry, length_us)),
    }
}

fn job(job: &IntervalJob, length_us: u64) -> Object {
    let directions = job.directions.each_ref().map(|figures| direction(figures, length_us));
    let [read, write, trim] = directions.into_array();
    object! {
        "jobname": &job.name,
        "groupid": job.group_id,
        "clones_not_recording": job.clones_not_recording,
        "clones_restarted": job.clones_restarted,
        "read": read,
        "write": write,
        "trim": trim,
        "sync": object! { "total_ios": job.sync.count, "lat_ns": latency(&job.sync) },
    }
}

fn direction(figures: &IntervalDirection, length_us: u64) -> Object {
    let per_second = |amount: u64| amount as f64 * 1e6 / length_us as f64;
    object! {
        "io_bytes": figures.io_bytes,
        "total_ios": figures.total_ios,
        "bw_bytes": per_second(figures.io_bytes) as u64,
        "iops": per_second(figures.total_ios),
        "slat_ns": latency(&figures.slat),
        "clat_ns": latency(&figures.clat),
        "lat_ns": latency(&figures.lat),
        "resp_ns": figures.response.as_ref().map(latency),
    }
}

fn latency(figures: &IntervalLatency) -> Object {
    object! {
        "N": figures.count,
        "mean": figures.mean_ns(),
        "min_at_least": figures.least_ns,
        "max_at_most": figures.most_ns,
        "bins": (figures.histogram.count() > 0).then(|| bins(&figures.histogram)),
    }
}
