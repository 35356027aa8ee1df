//! How logs were replayed: what there was to do, and how late it was done.

use super::layout::Object;
use fathom_stats::report::ReplayReport;

/// The percentiles shown.
const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// The replay of one job.
pub(super) fn object(report: &ReplayReport, with_bins: bool) -> Object {
    let mut object = Object::default();
    object.add("jobname", report.job.as_str());
    object.add("logs", report.logs.iter().map(String::as_str).collect::<Vec<&str>>());
    object.add("entries", report.entries);
    let stats = &report.lateness;
    let mut lateness = Object::default();
    lateness.add("N", stats.count);
    lateness.add("min", stats.min_ns);
    lateness.add("max", stats.max_ns);
    lateness.add("mean", stats.mean_ns());
    lateness.add("stddev", stats.stddev_ns());
    if stats.count > 0 {
        let keys = PERCENTILES.iter().map(|percentile| format!("{percentile:.6}"));
        let values = stats.histogram.percentiles(&PERCENTILES);
        lateness.add("percentile", keys.zip(values).collect::<Object>());
    }
    if with_bins {
        let bins = stats.histogram.values().map(|(value, count)| (value.to_string(), count));
        lateness.add("bins", bins.collect::<Object>());
    }
    object.add("lateness_ns", lateness);
    object
}
