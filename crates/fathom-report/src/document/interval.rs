//! The `interval` of a line: figures since the previous line.

use super::latency::bins;
use fathom_results::figure;
use fathom_stats::interval::{IntervalDirection, IntervalJob, IntervalLatency, IntervalReport};
use serde::Serialize;
use std::collections::BTreeMap;

/// The number of the interval and its figures.
#[derive(Serialize)]
pub(crate) struct Interval {
    number: u64,
    start_ms: u64,
    end_ms: u64,
    start_timestamp_ms: u64,
    end_timestamp_ms: u64,
    /// The jobs in the order of the report.
    jobs: Vec<Job>,
}

#[derive(Serialize)]
struct Job {
    jobname: String,
    groupid: u32,
    clones_not_recording: u32,
    clones_restarted: u32,
    read: Figures,
    write: Figures,
    trim: Figures,
    sync: Sync,
}

#[derive(Serialize)]
struct Sync {
    total_ios: u64,
    lat_ns: Latency,
}

#[derive(Serialize)]
struct Figures {
    io_bytes: u64,
    total_ios: u64,
    bw_bytes: u64,
    iops: f64,
    slat_ns: Latency,
    clat_ns: Latency,
    lat_ns: Latency,
    #[serde(skip_serializing_if = "Option::is_none")]
    resp_ns: Option<Latency>,
}

#[derive(Serialize)]
struct Latency {
    #[serde(rename = "N")]
    count: u64,
    mean: f64,
    min_at_least: u64,
    max_at_most: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    bins: BTreeMap<u64, u64>,
}

impl From<&IntervalReport> for Interval {
    fn from(interval: &IntervalReport) -> Interval {
        Interval {
            number: interval.number,
            start_ms: interval.start_us / 1000,
            end_ms: interval.end_us / 1000,
            start_timestamp_ms: interval.start_wall_ms,
            end_timestamp_ms: interval.end_wall_ms,
            jobs: interval.jobs.iter().map(|entry| job(entry, interval)).collect(),
        }
    }
}

fn job(job: &IntervalJob, interval: &IntervalReport) -> Job {
    let [read, write, trim] = job.directions.each_ref().map(|one| figures(one, interval)).into_array();
    Job {
        jobname: job.name.clone(),
        groupid: job.group_id,
        clones_not_recording: job.clones_not_recording,
        clones_restarted: job.clones_restarted,
        read,
        write,
        trim,
        sync: Sync { total_ios: job.sync.count, lat_ns: latency(&job.sync) },
    }
}

fn figures(figures: &IntervalDirection, interval: &IntervalReport) -> Figures {
    let (bytes_per_second, ios_per_second) = interval.rates(figures);
    Figures {
        io_bytes: figures.io_bytes,
        total_ios: figures.total_ios,
        bw_bytes: bytes_per_second as u64,
        iops: figure(ios_per_second),
        slat_ns: latency(&figures.slat),
        clat_ns: latency(&figures.clat),
        lat_ns: latency(&figures.lat),
        resp_ns: figures.response.as_ref().map(latency),
    }
}

fn latency(figures: &IntervalLatency) -> Latency {
    Latency {
        count: figures.count,
        mean: figure(figures.mean_ns()),
        min_at_least: figures.least_ns,
        max_at_most: figures.most_ns,
        bins: bins(&figures.histogram),
    }
}
