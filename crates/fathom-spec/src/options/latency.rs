//! Limits on latency.

use std::time::Duration;

use crate::declare::options;
use crate::definition::Bounds;
use crate::value::TimeUnit;
use fathom_stats::PerDirection;

options! {
    /// Limits on latency.
    pub struct LatencyOptions in Latency, table TABLE;

    /// Fail the job if an I/O takes longer than this
    ///
    /// One value each for reads, writes and trims; microseconds without a unit.
    Built Time max_latency: PerDirection<Option<Duration>>, { unit: TimeUnit::Microseconds };

    /// Find the largest queue depth that meets this latency
    Built Time latency_target: Option<Duration>, { unit: TimeUnit::Microseconds };

    /// Sampling window for latency_target
    Built Time latency_window: Option<Duration>, { unit: TimeUnit::Microseconds };

    /// Share of I/Os that must meet latency_target, in percent
    Built FloatList latency_percentile: f64 = "100", { bounds: Bounds::between(0.0, 100.0) };

    /// Continue at the depth that latency_target found
    Built Bool latency_run: bool = "0";
}
