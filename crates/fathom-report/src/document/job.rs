//! The object of one job.

use super::layout::{Object, Value};
use super::steady;
use crate::shares;
use fathom_stats::LatencyStats;
use fathom_stats::histogram::RANGE_END_NS;
use fathom_stats::report::{
    CacheReport, DirectionReport, GroupReport, JobReport, PriorityReport, UnifiedReporting, ViewOptions,
};

const DEPTH_KEYS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCH_KEYS: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
const LATENCY_KEYS: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

/// The object of `job`; `with_bins` adds the histograms.
pub(super) fn object(job: &JobReport, groups: &[GroupReport], with_bins: bool) -> Object {
    let mut object = Object::default();
    object.add("jobname", job.name.as_str());
    object.add("groupid", job.group_id);
    object.add("job_start", job.job_start_ms);
    object.add("error", job.error.as_ref().map_or(0, |error| error.code));
    object.add("eta", job.eta_seconds);
    object.add("elapsed", job.elapsed_seconds);
    if !job.options.is_empty() {
        let options = job.options.iter().map(|(key, value)| (key, value.as_str()));
        object.add("job options", options.collect::<Object>());
    }
    add_directions(&mut object, job, groups, with_bins);
    add_processor(&mut object, job);
    add_distributions(&mut object, job);
    if let Some(errors) = &job.tolerated_errors {
        object.add("total_err", errors.total);
        object.add("first_error", errors.first);
    }
    if !job.never_ran {
        add_latency_goal(&mut object, job);
    }
    if let Some(description) = &job.description {
        object.add("desc", description.as_str());
    }
    if let Some(steady) = &job.steady_state {
        object.add("steadystate", steady::object(steady));
    }
    if let Some(resets) = job.zone_resets {
        object.add("zone_resets", resets);
    }
    object
}

fn add_directions(object: &mut Object, job: &JobReport, groups: &[GroupReport], with_bins: bool) {
    let (group_rates, mixed_rate) = shares::group_rates(groups, job.group_id);
    let mixed = || direction(&job.mixed(), &job.view, mixed_rate, with_bins);
    if job.view.unified == UnifiedReporting::Mixed {
        object.add("mixed", mixed());
        return;
    }
    for (index, key) in ["read", "write", "trim"].into_iter().enumerate() {
        object.add(key, direction(&job.directions[index], &job.view, group_rates[index], with_bins));
    }
    object.add("sync", sync(job, with_bins));
    if job.view.unified == UnifiedReporting::Both {
        object.add("mixed", mixed());
    }
}

fn direction(report: &DirectionReport, view: &ViewOptions, group_rate: u64, with_bins: bool) -> Object {
    let mut object = Object::default();
    let rate = report.bytes_per_second();
    object.add("io_bytes", report.io_bytes);
    object.add("io_kbytes", report.io_bytes >> 10);
    object.add("bw_bytes", rate);
    object.add("bw", rate >> 10);
    object.add("iops", report.iops());
    object.add("runtime", report.runtime_ms);
    // I/Os that failed were issued too; readers take this figure for what was asked of the device.
    object.add("total_ios", report.issued.max(report.total_ios));
    object.add("short_ios", report.short_ios);
    object.add("drop_ios", report.drop_ios);
    for (key, stats, shown) in [
        ("slat_ns", &report.slat, view.slat_percentiles),
        ("clat_ns", &report.clat, view.clat_percentiles),
        ("lat_ns", &report.lat, view.lat_percentiles),
    ] {
        object.add(key, latency(stats, view, shown, with_bins));
    }
    if report.priorities.len() > 1 {
        let entries = report.priorities.iter().map(|entry| priority(entry, view, with_bins));
        object.add("prios", entries.collect::<Vec<Object>>());
    }
    object.add("bw_min", report.bw.min);
    object.add("bw_max", report.bw.max);
    object.add("bw_agg", shares::of_group(report.bw.mean(), group_rate));
    object.add("bw_mean", report.bw.mean());
    object.add("bw_dev", report.bw.stddev());
    object.add("bw_samples", report.bw.samples);
    object.add("iops_min", report.iops.min);
    object.add("iops_max", report.iops.max);
    object.add("iops_mean", report.iops.mean());
    object.add("iops_stddev", report.iops.stddev());
    object.add("iops_samples", report.iops.samples);
    if let Some(cachehit) = report.cache.as_ref().map(CacheReport::hit_percent) {
        object.add("cachehit", cachehit);
    }
    object
}

fn priority(report: &PriorityReport, view: &ViewOptions, with_bins: bool) -> Object {
    let mut object = Object::default();
    object.add("prioclass", u32::from(report.class));
    object.add("prio", u32::from(report.level));
    object.add("priohint", u32::from(report.hint));
    let (key, shown) =
        if view.lat_percentiles { ("lat_ns", true) } else { ("clat_ns", view.clat_percentiles) };
    object.add(key, latency(&report.latency, view, shown, with_bins));
    object
}

fn sync(job: &JobReport, with_bins: bool) -> Object {
    let mut object = Object::default();
    object.add("total_ios", job.sync.count);
    let shown = job.view.clat_percentiles || job.view.lat_percentiles;
    let nothing = LatencyStats::default();
    let latencies = if job.view.hides_sync_latency { &nothing } else { &job.sync };
    object.add("lat_ns", latency(latencies, &job.view, shown, with_bins));
    object
}

fn latency(stats: &LatencyStats, view: &ViewOptions, shown: bool, with_bins: bool) -> Object {
    let mut object = Object::default();
    object.add("min", stats.min_ns);
    object.add("max", stats.max_ns);
    object.add("mean", stats.mean_ns());
    object.add("stddev", stats.stddev_ns());
    object.add("N", stats.count);
    if !shown || stats.histogram.count() == 0 {
        return object;
    }
    let values = stats.histogram.percentiles(&view.percentiles);
    if !values.is_empty() {
        let keys = view.percentiles.iter().map(|percentile| format!("{percentile:.6}"));
        object.add("percentile", keys.zip(values).collect::<Object>());
    }
    // Percentiles of these are lower bounds, which a number alone cannot say.
    if stats.histogram.beyond_range > 0 {
        object.add("beyond_range", stats.histogram.beyond_range);
    }
    if with_bins {
        let beyond =
            (stats.histogram.beyond_range > 0).then_some((RANGE_END_NS, stats.histogram.beyond_range));
        let bins = stats.histogram.values().chain(beyond);
        object.add("bins", bins.map(|(value, count)| (value.to_string(), count)).collect::<Object>());
    }
    object
}

fn add_processor(object: &mut Object, job: &JobReport) {
    let (user, system) = shares::processor(job);
    object.add("job_runtime", job.runtime_total_ms);
    object.add("usr_cpu", user);
    object.add("sys_cpu", system);
    object.add("ctx", job.cpu.context_switches);
    object.add("majf", job.cpu.major_faults);
    object.add("minf", job.cpu.minor_faults);
}

fn add_distributions(object: &mut Object, job: &JobReport) {
    object.add("iodepth_level", keyed(&DEPTH_KEYS, &shares::depths(job)));
    object.add("iodepth_submit", keyed(&BATCH_KEYS, &shares::batches(&job.submit_map)));
    object.add("iodepth_complete", keyed(&BATCH_KEYS, &shares::batches(&job.complete_map)));
    let latency = shares::distribution(job);
    object.add("latency_ns", keyed(&LATENCY_KEYS, &latency[..10]));
    object.add("latency_us", keyed(&LATENCY_KEYS, &latency[10..20]));
    object.add("latency_ms", keyed(&LATENCY_KEYS, &latency[20..]));
}

fn keyed(keys: &[&str], shares: &[f64]) -> Value {
    keys.iter().zip(shares).map(|(&key, &share)| (key, share)).collect::<Object>().into()
}

fn add_latency_goal(object: &mut Object, job: &JobReport) {
    let goal = &job.latency_goal;
    object.add("latency_depth", goal.depth);
    object.add("latency_target", goal.target_ns);
    object.add("latency_target_ns", goal.target_ns);
    object.add("latency_percentile", goal.percentile);
    object.add("latency_window", goal.window_ns / 1000);
    object.add("latency_window_us", goal.window_ns / 1000);
}
