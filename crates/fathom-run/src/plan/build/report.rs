//! Builds the report settings of a job from options.

use super::Subject;
use crate::plan::model::report::{RatesShown, ReportPlan, SteadyPlan};
use fathom_spec::JobSpec;
use fathom_spec::engines::EngineDef;
use fathom_spec::options::description::{KbBase, UnitBase};
use fathom_spec::options::measurement::UnifiedReporting as Unified;
use fathom_spec::value::SteadyCriterion;
use fathom_stats::report::{LatencyGoal, SteadyStateMetric, UnifiedReporting, ViewOptions};
use fathom_stats::steady_state::Criterion;
use std::time::Duration;

/// The report settings of a clone.
pub(super) fn report_plan(subject: &Subject<'_>) -> ReportPlan {
    let job = subject.job;
    let (options, rate) = (&job.measurement, &job.rate);
    ReportPlan {
        is_shown: options.stats,
        is_grouped: options.group_reporting,
        options: fathom_spec::engines::without_secrets(&job.written),
        description: job.job_description.description.clone(),
        latency_goal: latency_goal(job),
        counts_errors: counts_errors(job),
        view: view(subject),
        is_sampled: !options.disable_bw_measurement,
        bandwidth_window_ms: options.bwavgtime,
        iops_window_ms: options.iopsavgtime,
        watches_disks: options.disk_util,
        rates: RatesShown {
            bytes: rate.rate,
            least_bytes: rate.rate_min,
            ios: rate.rate_iops,
            least_ios: rate.rate_iops_min,
        },
    }
}

/// The steady-state criterion of a job, if it ends by one.
pub(super) fn steady_plan(job: &JobSpec) -> Option<SteadyPlan> {
    let options = &job.steady_state;
    if !job.is_set("steadystate") || options.steadystate_duration.is_zero() {
        return None;
    }
    use SteadyCriterion::{Bandwidth, BandwidthSlope, Iops, IopsSlope, Latency, LatencySlope};
    let (metric, slope) = match options.steadystate.criterion {
        Iops => (SteadyStateMetric::Iops, false),
        IopsSlope => (SteadyStateMetric::Iops, true),
        Bandwidth => (SteadyStateMetric::Bandwidth, false),
        BandwidthSlope => (SteadyStateMetric::Bandwidth, true),
        Latency => (SteadyStateMetric::Latency, false),
        LatencySlope => (SteadyStateMetric::Latency, true),
    };
    let (limit, percent) = (options.steadystate.limit, options.steadystate.percent);
    Some(SteadyPlan {
        criterion: Criterion { metric, slope, percent, limit },
        ramp_ns: options.steadystate_ramp_time.as_nanos() as u64,
        interval_ns: (options.steadystate_check_interval.as_nanos() as u64).max(1),
        duration: options.steadystate_duration,
    })
}

fn latency_goal(job: &JobSpec) -> LatencyGoal {
    let options = &job.latency;
    let nanoseconds = |time: Option<Duration>| time.map_or(0, |time| time.as_nanos() as u64);
    LatencyGoal {
        depth: job.asked_iodepth,
        target_ns: nanoseconds(options.latency_target),
        percentile: options.latency_percentile,
        window_ns: nanoseconds(options.latency_window),
    }
}

fn counts_errors(job: &JobSpec) -> bool {
    let options = &job.error_handling;
    let chosen = options.continue_on_error;
    chosen.read || chosen.write || chosen.verify || options.ignore_error.is_some()
}

fn kb_base(job: &JobSpec) -> u32 {
    match job.job_description.kb_base {
        KbBase::Binary => 1024,
        KbBase::Decimal => 1000,
    }
}

fn unit_base(job: &JobSpec, engine: &EngineDef) -> u32 {
    match job.job_description.unit_base {
        Some(UnitBase::Bits) => 1,
        None | Some(UnitBase::Auto) if engine.shows_bits => 1,
        _ => 8,
    }
}

fn view(subject: &Subject<'_>) -> ViewOptions {
    let job = subject.job;
    let options = &job.measurement;
    let mut percentiles = options.percentile_list.clone();
    percentiles.sort_by(f64::total_cmp);
    ViewOptions {
        kb_base: kb_base(job),
        unit_base: unit_base(job, &subject.engine),
        significant_figures: options.significant_figures,
        percentiles,
        slat_percentiles: options.slat_percentiles,
        clat_percentiles: options.clat_percentiles,
        lat_percentiles: options.lat_percentiles,
        hides_sync_latency: options.disable_clat,
        operations: subject.engine.metadata.map(|metadata| metadata.plural().to_owned()),
        unified: match options.unified_rw_reporting {
            Unified::None => UnifiedReporting::Apart,
            Unified::Mixed => UnifiedReporting::Mixed,
            Unified::Both => UnifiedReporting::Both,
        },
    }
}
