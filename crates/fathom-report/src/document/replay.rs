//! How logs were replayed: what there was to do, and how late it was done.

use super::histogram::percentiles;
use super::layout::{Object, object};
use fathom_stats::LatencyStats;
use fathom_stats::report::ReplayReport;

/// The percentiles shown.
const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// The replay of one job.
pub(super) fn object(report: &ReplayReport, with_bins: bool) -> Object {
    object! {
        "jobname": &report.job,
        "logs": &report.logs,
        "entries": report.entries,
        "lateness_ns": lateness(&report.lateness, with_bins),
    }
}

fn lateness(stats: &LatencyStats, with_bins: bool) -> Object {
    let bins = || {
        let bins = stats.histogram.values().map(|(value, count)| (value.to_string(), count));
        bins.collect::<Object>()
    };
    object! {
        "N": stats.count,
        "min": stats.min_ns,
        "max": stats.max_ns,
        "mean": stats.mean_ns(),
        "stddev": stats.stddev_ns(),
        "percentile": (stats.count > 0).then(|| percentiles(&stats.histogram, &PERCENTILES)),
        "bins": with_bins.then(bins),
    }
}
