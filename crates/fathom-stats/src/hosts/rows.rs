//! Each host's figures in a row, for comparison with the other hosts.

use super::row::{HostFigures, HostPercentiles, HostRow};
use super::stragglers::mark;
use super::{HostEnd, HostRunReport};
use crate::Direction;
use crate::histogram::Histogram;
use crate::inference::median::median;
use crate::latency::at_most;
use crate::per_direction::PerDirection;
use crate::report::{JobReport, RunReport};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The figures of a host that are kept when the long parts of its report are dropped: its row, and the keys of
/// its jobs for the comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostDigest {
    row: HostRow,
    jobs: Vec<JobKey>,
}

/// Key of a job: reporting group, name, and number of clones of an entry.
type JobKey = (u32, String, u32);

impl HostDigest {
    /// Returns the digest of a host with a complete report.
    pub(super) fn of(host: &HostRunReport) -> HostDigest {
        HostDigest { row: row(host), jobs: jobs(host) }
    }
}

/// Offsets of the hosts' starts from the agreed instant, and their accuracy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSkew {
    /// Median offset in ns.
    pub median_ns: u64,
    /// Maximum offset in ns.
    pub largest_ns: u64,
    /// Bound on the error of the clock comparison in ns; `None` if no clock was measured.
    pub clock_bound_ns: Option<u64>,
}

/// Returns a row for each host, in the order of the hosts.
pub fn rows(hosts: &[HostRunReport]) -> Vec<HostRow> {
    let mut rows: Vec<HostRow> = hosts.iter().map(row).collect();
    // Only complete hosts with the same jobs are compared.
    let mut peers: BTreeMap<Vec<JobKey>, Vec<usize>> = BTreeMap::new();
    for (index, host) in hosts.iter().enumerate() {
        if let (HostEnd::Whole, Some(_)) = (&host.end, &host.report) {
            peers.entry(jobs(host)).or_default().push(index);
        }
    }
    for members in peers.values() {
        mark(&mut rows, members);
    }
    rows
}

/// Returns the skew of the hosts that started; `None` if none did.
pub fn start_skew(hosts: &[HostRunReport]) -> Option<StartSkew> {
    let distances = hosts.iter().filter_map(|host| host.start_skew_ns).map(i64::unsigned_abs);
    let distances: Vec<u64> = distances.collect();
    let as_numbers: Vec<f64> = distances.iter().map(|&ns| ns as f64).collect();
    Some(StartSkew {
        median_ns: median(&as_numbers)? as u64,
        largest_ns: distances.iter().copied().max()?,
        clock_bound_ns: hosts.iter().filter_map(|host| host.clock.bound_ns()).max(),
    })
}

fn jobs(host: &HostRunReport) -> Vec<JobKey> {
    match (&host.digest, &host.report) {
        (Some(digest), _) => digest.jobs.clone(),
        (None, Some(report)) => {
            report.jobs.iter().map(|job| (job.group_id, job.name.clone(), job.clones)).collect()
        }
        (None, None) => Vec::new(),
    }
}

fn row(host: &HostRunReport) -> HostRow {
    if let Some(digest) = &host.digest {
        return digest.row.clone();
    }
    let Some(report) = &host.report else { return HostRow::default() };
    let errors_of = |job: &JobReport| match &job.tolerated_errors {
        // The first tolerated error is also stored as the job's error, so it must not be counted twice.
        Some(errors) if errors.total > 0 => errors.total,
        _ => u64::from(job.error.is_some()),
    };
    HostRow {
        directions: PerDirection::from_fn(|direction| figures(report, direction)),
        errors: report.jobs.iter().map(errors_of).sum(),
        straggling: Vec::new(),
    }
}

fn figures(report: &RunReport, direction: Direction) -> HostFigures {
    let mut figures = HostFigures::default();
    let mut latencies = Histogram::default();
    let mut bytes = 0;
    // Jobs of a stage run concurrently, but stages run one after the other.
    let mut runtimes_ms: BTreeMap<usize, u64> = BTreeMap::new();
    for job in &report.jobs {
        let own = &job.directions[direction];
        if own.is_idle() {
            continue;
        }
        bytes += own.io_bytes;
        figures.total_ios += own.total_ios;
        let longest = runtimes_ms.entry(stage_of(report, job.group_id)).or_default();
        *longest = (*longest).max(own.runtime_ms);
        let latency = if own.clat.count > 0 { &own.clat } else { &own.lat };
        if latency.count > 0 {
            figures.max_ns = figures.max_ns.max(Some(latency.max_ns));
            latencies.merge(&latency.histogram);
        }
    }
    let seconds = runtimes_ms.values().sum::<u64>().max(1) as f64 / 1e3;
    figures.bytes_per_second = bytes as f64 / seconds;
    figures.iops = figures.total_ios as f64 / seconds;
    let largest = figures.max_ns.unwrap_or(0);
    if let [p50_ns, p99_ns, p99_9_ns] = latencies.percentiles(&[50.0, 99.0, 99.9])[..] {
        let [p50_ns, p99_ns, p99_9_ns] = [p50_ns, p99_ns, p99_9_ns].map(|ns| at_most(ns, largest));
        figures.percentiles = Some(HostPercentiles { p50_ns, p99_ns, p99_9_ns });
    }
    figures
}

/// Returns the stage of a group. Only complete results list stages; in others, each group counts as a stage.
fn stage_of(report: &RunReport, group_id: u32) -> usize {
    let of_group = |stage: &crate::report::StageReport| stage.groups.contains(&group_id);
    report.stages.iter().position(of_group).unwrap_or(report.stages.len() + group_id as usize)
}
