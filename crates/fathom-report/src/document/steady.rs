//! The `steadystate` object.

use super::layout::{Object, object};
use fathom_stats::report::{SteadyStateMetric, SteadyStateReport};

/// The search, its outcome and the window it was judged by.
pub(super) fn object(steady: &SteadyStateReport) -> Object {
    let percent = if steady.percent { "%" } else { "" };
    let slope = if steady.slope_mode { "_slope" } else { "" };
    object! {
        "ss": format!("{}{slope}:{:.6}{percent}", word(steady.metric), steady.limit),
        "duration": steady.duration_seconds,
        "attained": u32::from(steady.attained),
        "criterion": format!("{:.6}{percent}", steady.criterion),
        "max_deviation": steady.max_deviation,
        "slope": steady.slope,
        "data": data(steady),
    }
}

fn data(steady: &SteadyStateReport) -> Object {
    let with_latency = steady.metric == SteadyStateMetric::Latency;
    object! {
        "bw_mean": steady.bandwidth_mean(),
        "iops_mean": steady.iops_mean(),
        "lat_mean": with_latency.then(|| steady.latency_mean_ns()),
        "iops": &steady.iops,
        "bw": &steady.bytes_per_second,
        "lat_ns": with_latency.then_some(&steady.latency_ns),
    }
}

fn word(metric: SteadyStateMetric) -> &'static str {
    match metric {
        SteadyStateMetric::Iops => "iops",
        SteadyStateMetric::Bandwidth => "bw",
        SteadyStateMetric::Latency => "lat",
    }
}
