//! The `steadystate` object.

use super::layout::Object;
use fathom_stats::report::{SteadyStateMetric, SteadyStateReport};

/// The search, its outcome and the window it was judged by.
pub(super) fn object(steady: &SteadyStateReport) -> Object {
    let percent = if steady.percent { "%" } else { "" };
    let slope = if steady.slope_mode { "_slope" } else { "" };
    let mut object = Object::default();
    object.add("ss", format!("{}{slope}:{:.6}{percent}", word(steady.metric), steady.limit).as_str());
    object.add("duration", steady.duration_seconds);
    object.add("attained", u32::from(steady.attained));
    object.add("criterion", format!("{:.6}{percent}", steady.criterion).as_str());
    object.add("max_deviation", steady.max_deviation);
    object.add("slope", steady.slope);
    object.add("data", data(steady));
    object
}

fn data(steady: &SteadyStateReport) -> Object {
    let with_latency = steady.metric == SteadyStateMetric::Latency;
    let mut data = Object::default();
    data.add("bw_mean", steady.bandwidth_mean());
    data.add("iops_mean", steady.iops_mean());
    if with_latency {
        data.add("lat_mean", steady.latency_mean_ns());
    }
    data.add("iops", steady.iops.clone());
    data.add("bw", steady.bytes_per_second.clone());
    if with_latency {
        data.add("lat_ns", steady.latency_ns.clone());
    }
    data
}

fn word(metric: SteadyStateMetric) -> &'static str {
    match metric {
        SteadyStateMetric::Iops => "iops",
        SteadyStateMetric::Bandwidth => "bw",
        SteadyStateMetric::Latency => "lat",
    }
}
