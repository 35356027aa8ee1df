//! Limits on latency.

use std::time::Duration;

use crate::definition::{Bounds, options};
use crate::value::{PerDir, TimeUnit};

options! {
    /// Limits on latency.
    pub struct LatencyOptions at job.latency, in Latency, table TABLE;

    /// Latency above which the job fails
    ///
    /// One value each for reads, writes and trims; in microseconds, unless it has a unit.
    Built Time max_latency: PerDir<Option<Duration>>, { unit: TimeUnit::Microseconds };

    /// Search the depth that still meets this latency
    Built Time latency_target: Option<Duration>, { unit: TimeUnit::Microseconds };

    /// Sampling window of the latency target search
    Built Time latency_window: Option<Duration>, { unit: TimeUnit::Microseconds };

    /// Share of I/Os that must meet latency_target
    Built FloatList latency_percentile: f64 = "100", { bounds: Bounds::between(0.0, 100.0) };

    /// Continue after the depth has been found
    Built Bool latency_run: bool = "0";
}
