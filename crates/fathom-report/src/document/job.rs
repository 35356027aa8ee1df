//! The object of one job.

use super::arrivals;
use super::histogram::{bins, percentiles};
use super::layout::{Object, list, object, options};
use super::steady;
use crate::shares;
use fathom_stats::engine_figures::EngineFigures;
use fathom_stats::report::{
    CacheReport, DirectionReport, GroupReport, JobReport, LatencyGoal, PriorityReport, UnifiedReporting,
    ViewOptions,
};
use fathom_stats::{Direction, LatencyStats};

const DEPTH_KEYS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCH_KEYS: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
const LATENCY_KEYS: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

/// The object of `job`; `with_bins` adds the histograms.
pub(super) fn object(job: &JobReport, groups: &[GroupReport], with_bins: bool) -> Object {
    let mut object = object! {
        "jobname": &job.name,
        "groupid": job.group_id,
        "job_start": job.job_start_ms,
        "error": job.error.as_ref().map_or(0, |error| error.code),
        "eta": job.eta_seconds,
        "elapsed": job.elapsed_seconds,
        "job options": options(&job.options),
    };
    object.append(directions(job, groups, with_bins));
    object.append(processor(job));
    object.append(distributions(job));
    object.append(object! {
        "total_err": job.tolerated_errors.as_ref().map(|errors| errors.total),
        "first_error": job.tolerated_errors.as_ref().map(|errors| errors.first),
    });
    if !job.never_ran {
        object.append(latency_goal(&job.latency_goal));
    }
    object.append(object! {
        "desc": job.description.as_ref(),
        "steadystate": job.steady_state.as_ref().map(steady::object),
        "zone_resets": job.zone_resets,
        "fathom engine": (!job.engine.is_empty()).then(|| engine(&job.engine, &job.view, with_bins)),
    });
    object
}

/// The object of a job that a server has run: as [`object`](fn@object), but for what is told of a run that is here.
pub(super) fn object_of_client(job: &JobReport, groups: &[GroupReport], with_bins: bool) -> Object {
    let mut object = object(job, groups, with_bins);
    object.remove(&["eta", "elapsed"]);
    object
}

/// The object of all of them together, which lacks what is not added up.
pub(super) fn object_of_all_clients(job: &JobReport, groups: &[GroupReport], with_bins: bool) -> Object {
    let mut object = object_of_client(job, groups, with_bins);
    object.remove(&["job options", "steadystate"]);
    object.remove(&LATENCY_GOAL_KEYS);
    object
}

/// What the engine has counted and timed beside the I/Os.
fn engine(figures: &EngineFigures, view: &ViewOptions, with_bins: bool) -> Object {
    let times = figures.times.iter();
    object! {
        "counts": figures.counts.iter().map(|(what, count)| (what, *count)).collect::<Object>(),
        "times_ns": times.map(|(what, stats)| (what, latency(stats, view, true, with_bins))).collect::<Object>(),
    }
}

fn directions(job: &JobReport, groups: &[GroupReport], with_bins: bool) -> Object {
    let (group_rates, mixed_rate) = shares::group_rates(groups, job.group_id);
    let one = |which: Direction| direction(&job.directions[which], &job.view, group_rates[which], with_bins);
    let is_apart = job.view.unified != UnifiedReporting::Mixed;
    let is_mixed = job.view.unified != UnifiedReporting::Apart;
    object! {
        "read": is_apart.then(|| one(Direction::Read)),
        "write": is_apart.then(|| one(Direction::Write)),
        "trim": is_apart.then(|| one(Direction::Trim)),
        "sync": is_apart.then(|| sync(job, with_bins)),
        "mixed": is_mixed.then(|| direction(&job.mixed(), &job.view, mixed_rate, with_bins)),
    }
}

fn direction(report: &DirectionReport, view: &ViewOptions, group_rate: u64, with_bins: bool) -> Object {
    let rate = report.bytes_per_second();
    let has_priorities = report.priorities.len() > 1;
    object! {
        "io_bytes": report.io_bytes,
        "io_kbytes": report.io_bytes >> 10,
        "bw_bytes": rate,
        "bw": rate >> 10,
        "iops": report.iops(),
        "runtime": report.runtime_ms,
        // I/Os that failed were issued too; readers take this figure for what was asked of the device.
        "total_ios": report.issued.max(report.total_ios),
        "short_ios": report.short_ios,
        "drop_ios": report.drop_ios,
        "slat_ns": latency(&report.slat, view, view.slat_percentiles, with_bins),
        "clat_ns": latency(&report.clat, view, view.clat_percentiles, with_bins),
        "lat_ns": latency(&report.lat, view, view.lat_percentiles, with_bins),
        "resp_ns": report.arrivals.as_ref().map(|arrivals| latency(&arrivals.response, view, true, with_bins)),
        "arrivals": report.arrivals.as_ref().map(|all| arrivals::object(all, view, with_bins)),
        "prios": has_priorities.then(|| list(&report.priorities, |entry| priority(entry, view, with_bins))),
        "bw_min": report.bw.min,
        "bw_max": report.bw.max,
        "bw_agg": shares::of_group(report.bw.mean(), group_rate),
        "bw_mean": report.bw.mean(),
        "bw_dev": report.bw.stddev(),
        "bw_samples": report.bw.samples,
        "iops_min": report.iops.min,
        "iops_max": report.iops.max,
        "iops_mean": report.iops.mean(),
        "iops_stddev": report.iops.stddev(),
        "iops_samples": report.iops.samples,
        "cachehit": report.cache.as_ref().map(CacheReport::hit_percent),
    }
}

fn priority(report: &PriorityReport, view: &ViewOptions, with_bins: bool) -> Object {
    let is_total = view.lat_percentiles;
    let figures = |shown| latency(&report.latency, view, shown, with_bins);
    object! {
        "prioclass": u32::from(report.class),
        "prio": u32::from(report.level),
        "priohint": u32::from(report.hint),
        "lat_ns": is_total.then(|| figures(true)),
        "clat_ns": (!is_total).then(|| figures(view.clat_percentiles)),
    }
}

fn sync(job: &JobReport, with_bins: bool) -> Object {
    let shown = job.view.clat_percentiles || job.view.lat_percentiles;
    let nothing = LatencyStats::default();
    let latencies = if job.view.hides_sync_latency { &nothing } else { &job.sync };
    object! {
        "total_ios": job.sync.count,
        "lat_ns": latency(latencies, &job.view, shown, with_bins),
    }
}

/// A latency; with percentiles and bins if they are shown.
pub(super) fn latency(stats: &LatencyStats, view: &ViewOptions, shown: bool, with_bins: bool) -> Object {
    let mut object = object! {
        "min": stats.min_ns,
        "max": stats.max_ns,
        "mean": stats.mean_ns(),
        "stddev": stats.stddev_ns(),
        "N": stats.count,
    };
    if !shown || stats.histogram.count() == 0 {
        return object;
    }
    let beyond = stats.histogram.beyond_range;
    object.append(object! {
        "percentile": (!view.percentiles.is_empty()).then(|| percentiles(&stats.histogram, &view.percentiles)),
        // Percentiles of these are lower bounds, which a number alone cannot say.
        "beyond_range": (beyond > 0).then_some(beyond),
        "bins": with_bins.then(|| bins(&stats.histogram)),
    });
    object
}

fn processor(job: &JobReport) -> Object {
    let (user, system) = shares::processor(job);
    object! {
        "job_runtime": job.runtime_total_ms,
        "usr_cpu": user,
        "sys_cpu": system,
        "ctx": job.cpu.context_switches,
        "majf": job.cpu.major_faults,
        "minf": job.cpu.minor_faults,
    }
}

fn distributions(job: &JobReport) -> Object {
    let latency = shares::distribution(job);
    object! {
        "iodepth_level": keyed(&DEPTH_KEYS, &shares::depths(job)),
        "iodepth_submit": keyed(&BATCH_KEYS, &shares::batches(&job.submit_map)),
        "iodepth_complete": keyed(&BATCH_KEYS, &shares::batches(&job.complete_map)),
        "latency_ns": keyed(&LATENCY_KEYS, &latency[..10]),
        "latency_us": keyed(&LATENCY_KEYS, &latency[10..20]),
        "latency_ms": keyed(&LATENCY_KEYS, &latency[20..]),
    }
}

fn keyed(keys: &[&str], shares: &[f64]) -> Object {
    keys.iter().zip(shares).map(|(&key, &share)| (key, share)).collect()
}

/// The keys of [`latency_goal`].
const LATENCY_GOAL_KEYS: [&str; 6] = [
    "latency_depth",
    "latency_target",
    "latency_target_ns",
    "latency_percentile",
    "latency_window",
    "latency_window_us",
];

fn latency_goal(goal: &LatencyGoal) -> Object {
    object! {
        "latency_depth": goal.depth,
        "latency_target": goal.target_ns,
        "latency_target_ns": goal.target_ns,
        "latency_percentile": goal.percentile,
        "latency_window": goal.window_ns / 1000,
        "latency_window_us": goal.window_ns / 1000,
    }
}
