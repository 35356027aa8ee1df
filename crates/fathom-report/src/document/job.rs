//! The figures of one job.

use super::latency::{bins, latency, percentiles};
use crate::shares;
use fathom_results::figure;
use fathom_results::model::{
    ArrivalsResult, BlockErrorResult, BlockStates, DirectionResult, EngineResult, JobResult, LayersResult,
    PriorityResult, SteadyStateResult, SteadyStateWindow, SyncResult,
};
use fathom_stats::arrivals::ArrivalsReport;
use fathom_stats::block_errors::BlockErrorReport;
use fathom_stats::engine_figures::EngineFigures;
use fathom_stats::report::{
    CacheReport, DirectionReport, GroupReport, JobError, JobReport, LatencyGoal, PriorityReport,
    SteadyStateMetric, SteadyStateReport, UnifiedReporting, ViewOptions,
};
use fathom_stats::{Direction, LatencyStats};
use std::collections::BTreeMap;

const DEPTH_KEYS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCH_KEYS: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
const LATENCY_KEYS: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

/// Returns the result of `job`; `with_bins` adds the histograms.
pub(super) fn result(job: &JobReport, groups: &[GroupReport], with_bins: bool) -> JobResult {
    let (user, system) = shares::processor(job);
    let by_latency = shares::distribution(job);
    let result = JobResult {
        name: job.name.clone(),
        group_id: job.group_id.into(),
        start_ms: Some(job.job_start_ms),
        error: job.error.as_ref().map_or(0, |error| error.code.into()),
        error_message: job.error.as_ref().map(JobError::message),
        eta_seconds: Some(job.eta_seconds),
        elapsed_seconds: Some(job.elapsed_seconds),
        options: job.options.clone(),
        devices: job.devices.iter().cloned().collect(),
        runtime_ms: job.runtime_total_ms,
        usr_cpu: figure(user),
        sys_cpu: figure(system),
        context_switches: job.cpu.context_switches,
        major_faults: job.cpu.major_faults,
        minor_faults: job.cpu.minor_faults,
        iodepth_level: keyed(&DEPTH_KEYS, &shares::depths(job)),
        iodepth_submit: keyed(&BATCH_KEYS, &shares::batches(&job.submit_map)),
        iodepth_complete: keyed(&BATCH_KEYS, &shares::batches(&job.complete_map)),
        latency_ns: keyed(&LATENCY_KEYS, &by_latency[..10]),
        latency_us: keyed(&LATENCY_KEYS, &by_latency[10..20]),
        latency_ms: keyed(&LATENCY_KEYS, &by_latency[20..]),
        total_err: job.tolerated_errors.as_ref().map(|errors| errors.total),
        first_error: job.tolerated_errors.as_ref().map(|errors| errors.first.into()),
        description: job.description.clone(),
        block_errors: job.block_errors.as_ref().map(|blocks| block_errors(blocks, &job.view, with_bins)),
        steady_state: job.steady_state.as_ref().map(steady_state),
        zone_resets: job.zone_resets,
        engine: engine(&job.engine, &job.view, with_bins),
        ..JobResult::default()
    };
    let result = with_directions(result, job, groups, with_bins);
    if job.never_ran { result } else { with_goal(result, &job.latency_goal) }
}

/// Returns the result of a job that a server ran: [`result`] without the times that only a local run reports.
pub(crate) fn result_of_client(job: &JobReport, groups: &[GroupReport], with_bins: bool) -> JobResult {
    JobResult { eta_seconds: None, elapsed_seconds: None, ..result(job, groups, with_bins) }
}

/// Returns the result of all clients together, without figures that cannot be summed.
pub(crate) fn result_of_all_clients(job: &JobReport, groups: &[GroupReport], with_bins: bool) -> JobResult {
    let added_up = JobReport { never_ran: true, options: Vec::new(), steady_state: None, ..job.clone() };
    result_of_client(&added_up, groups, with_bins)
}

fn with_directions(result: JobResult, job: &JobReport, groups: &[GroupReport], with_bins: bool) -> JobResult {
    let (group_rates, mixed_rate) = shares::group_rates(groups, job.group_id);
    let is_apart = job.view.unified != UnifiedReporting::Mixed;
    let is_mixed = job.view.unified != UnifiedReporting::Apart;
    let one = |which: Direction| {
        is_apart.then(|| direction(&job.directions[which], &job.view, group_rates[which], with_bins))
    };
    JobResult {
        read: one(Direction::Read),
        write: one(Direction::Write),
        trim: one(Direction::Trim),
        sync: is_apart.then(|| sync(job, with_bins)),
        mixed: is_mixed.then(|| direction(&job.mixed(), &job.view, mixed_rate, with_bins)),
        ..result
    }
}

fn direction(
    report: &DirectionReport,
    view: &ViewOptions,
    group_rate: u64,
    with_bins: bool,
) -> DirectionResult {
    let rate = report.bytes_per_second();
    let priorities: &[PriorityReport] = if report.priorities.len() > 1 { &report.priorities } else { &[] };
    DirectionResult {
        io_bytes: report.io_bytes,
        io_kbytes: report.io_bytes >> 10,
        bytes_per_second: rate as f64,
        bw: rate >> 10,
        iops: figure(report.iops()),
        runtime_ms: report.runtime_ms,
        // Failed I/Os were issued as well, and readers interpret this figure as the load on the device.
        total_ios: report.issued.max(report.total_ios),
        short_ios: report.short_ios,
        drop_ios: report.drop_ios,
        slat: latency(&report.slat, view, view.slat_percentiles, with_bins),
        clat: latency(&report.clat, view, view.clat_percentiles, with_bins),
        lat: latency(&report.lat, view, view.lat_percentiles, with_bins),
        response: report.arrivals.as_ref().map(|all| latency(&all.response, view, true, with_bins)),
        arrivals: report.arrivals.as_ref().map(|all| arrivals(all, view, with_bins)),
        layers: report
            .layers
            .as_ref()
            .map(|all| LayersResult::of(all, |stats| latency(stats, view, true, with_bins))),
        priorities: priorities.iter().map(|entry| priority(entry, view, with_bins)).collect(),
        bw_min: report.bw.min as f64,
        bw_max: report.bw.max as f64,
        bw_agg: figure(shares::of_group(report.bw.mean(), group_rate)),
        bw_mean: figure(report.bw.mean()),
        bw_dev: figure(report.bw.stddev()),
        bw_samples: report.bw.samples,
        iops_min: report.iops.min as f64,
        iops_max: report.iops.max as f64,
        iops_mean: figure(report.iops.mean()),
        iops_stddev: figure(report.iops.stddev()),
        iops_samples: report.iops.samples,
        cache_hit: report.cache.as_ref().map(|cache: &CacheReport| figure(cache.hit_percent())),
    }
}

/// Returns the number of trims after which blocks had their first error, and the states of all blocks.
fn block_errors(blocks: &BlockErrorReport, view: &ViewOptions, with_bins: bool) -> BlockErrorResult {
    let [untouched, trimmed, written, trim_failed, write_failed] = blocks.states;
    BlockErrorResult {
        percentiles: percentiles(&blocks.trims, &view.percentiles),
        states: BlockStates { untouched, trimmed, written, trim_failed, write_failed },
        bins: if with_bins { bins(&blocks.trims) } else { BTreeMap::new() },
    }
}

/// Returns the number of I/Os that were due and of those not yet started at the end, the backlog, and the
/// components of the response time.
fn arrivals(arrivals: &ArrivalsReport, view: &ViewOptions, with_bins: bool) -> ArrivalsResult {
    let figures = |stats| latency(stats, view, true, with_bins);
    ArrivalsResult {
        due: arrivals.due(),
        offered_iops: figure(arrivals.offered_per_second()),
        waiting: arrivals.waiting,
        backlog_mean: figure(arrivals.mean_backlog()),
        backlog_max: arrivals.highest_backlog,
        unfinished: arrivals.unfinished(),

        start_delay: figures(&arrivals.start_delay),
        own_delay: figures(&arrivals.own_delay),
        service: figures(&arrivals.service),
    }
}

fn priority(report: &PriorityReport, view: &ViewOptions, with_bins: bool) -> PriorityResult {
    let is_total = view.lat_percentiles;
    let figures = |shown| latency(&report.latency, view, shown, with_bins);
    PriorityResult {
        class: report.class.into(),
        level: report.level.into(),
        hint: report.hint.into(),
        lat: is_total.then(|| figures(true)),
        clat: (!is_total).then(|| figures(view.clat_percentiles)),
    }
}

fn sync(job: &JobReport, with_bins: bool) -> SyncResult {
    let shown = job.view.clat_percentiles || job.view.lat_percentiles;
    let nothing = LatencyStats::default();
    let latencies = if job.view.hides_sync_latency { &nothing } else { &job.sync };
    SyncResult { total_ios: job.sync.count, latency: latency(latencies, &job.view, shown, with_bins) }
}

/// Returns the engine's own counters and timers.
fn engine(figures: &EngineFigures, view: &ViewOptions, with_bins: bool) -> EngineResult {
    let times = figures.times.iter();
    EngineResult {
        counts: figures.counts.iter().map(|(what, count)| (what.clone(), *count as f64)).collect(),
        times: times.map(|(what, stats)| (what.clone(), latency(stats, view, true, with_bins))).collect(),
    }
}

fn keyed(keys: &[&str], shares: &[f64]) -> Vec<(String, f64)> {
    keys.iter().zip(shares).map(|(&key, &share)| (key.to_owned(), figure(share))).collect()
}

fn with_goal(result: JobResult, goal: &LatencyGoal) -> JobResult {
    JobResult {
        latency_depth: Some(goal.depth.into()),
        latency_target: Some(goal.target_ns),
        latency_target_ns: Some(goal.target_ns),
        latency_percentile: Some(figure(goal.percentile)),
        latency_window: Some(goal.window_ns / 1000),
        latency_window_us: Some(goal.window_ns / 1000),
        ..result
    }
}

fn steady_state(steady: &SteadyStateReport) -> SteadyStateResult {
    let percent = if steady.percent { "%" } else { "" };
    let slope = if steady.slope_mode { "_slope" } else { "" };
    let (word, with_latency) = match steady.metric {
        SteadyStateMetric::Iops => ("iops", false),
        SteadyStateMetric::Bandwidth => ("bw", false),
        SteadyStateMetric::Latency => ("lat", true),
    };
    SteadyStateResult {
        requested: format!("{word}{slope}:{:.6}{percent}", steady.limit),
        duration_seconds: steady.duration_seconds,
        attained: steady.attained.into(),
        criterion: format!("{:.6}{percent}", steady.criterion),
        max_deviation: figure(steady.max_deviation),
        slope: figure(steady.slope),
        data: SteadyStateWindow {
            bw_mean: steady.bandwidth_mean(),
            iops_mean: steady.iops_mean(),
            lat_mean: with_latency.then(|| figure(steady.latency_mean_ns())),
            iops: steady.iops.clone(),
            bw: steady.bytes_per_second.clone(),
            lat_ns: with_latency.then(|| steady.latency_ns.clone()),
        },
    }
}
