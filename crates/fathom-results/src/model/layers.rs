//! Where the time of the I/Os of one direction went (`--layers`).

use super::LatencyResult;
use crate::lenient;
use fathom_stats::layers::{Layer, LayerStats, Made};
use serde::{Deserialize, Serialize};

/// The layers of a direction's I/Os; an I/O of a sample counts as often as it stands for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayersResult {
    /// I/Os whose layers are unknown.
    #[serde(deserialize_with = "lenient::whole")]
    pub unseen: u64,
    /// I/Os that reached no block device, such as those that a cache served.
    #[serde(deserialize_with = "lenient::whole")]
    pub without_request: u64,
    /// Total latency of the I/Os whose layers are known.
    #[serde(rename = "total_ns")]
    pub total: LatencyResult,
    /// Queue and device together, of the I/Os that reached a block device.
    #[serde(rename = "block_ns")]
    pub block: LatencyResult,
    /// Above the block layer.
    #[serde(rename = "above_ns")]
    pub above: LatencyResult,
    /// Limits and scheduler.
    #[serde(rename = "queue_ns")]
    pub queue: LatencyResult,
    /// The device.
    #[serde(rename = "device_ns")]
    pub device: LatencyResult,
    /// From the end of the request to the end of the I/O.
    #[serde(rename = "completion_ns")]
    pub completion: LatencyResult,
    /// What the mean and some percentiles of the total latency are made of.
    #[serde(deserialize_with = "lenient::parts")]
    pub made_of: Vec<MadeOf>,
}

/// A latency, and the parts that add up to it; ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MadeOf {
    /// The percentile; absent for the mean.
    #[serde(deserialize_with = "lenient::some_number", skip_serializing_if = "Option::is_none")]
    pub percentile: Option<f64>,
    /// The latency.
    #[serde(deserialize_with = "lenient::whole")]
    pub total_ns: u64,
    /// Above the block layer.
    #[serde(deserialize_with = "lenient::whole")]
    pub above_ns: u64,
    /// Limits and scheduler.
    #[serde(deserialize_with = "lenient::whole")]
    pub queue_ns: u64,
    /// The device.
    #[serde(deserialize_with = "lenient::whole")]
    pub device_ns: u64,
    /// From the end of the request to the end of the I/O.
    #[serde(deserialize_with = "lenient::whole")]
    pub completion_ns: u64,
}

/// The percentiles of [`LayersResult::made_of`].
const MADE_PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

impl MadeOf {
    fn of(percentile: Option<f64>, made: Made) -> MadeOf {
        let [above_ns, queue_ns, device_ns, completion_ns] = made.layers_ns;
        MadeOf { percentile, total_ns: made.total_ns, above_ns, queue_ns, device_ns, completion_ns }
    }

    /// Returns the latency and its parts in the form in which they are computed.
    pub fn made(&self) -> Made {
        let layers_ns = [self.above_ns, self.queue_ns, self.device_ns, self.completion_ns];
        Made { total_ns: self.total_ns, layers_ns }
    }
}

impl LayersResult {
    /// Returns the result of these layers, with latencies in the form that `latency` gives them.
    pub fn of(stats: &LayerStats, latency: impl Fn(&fathom_stats::LatencyStats) -> LatencyResult) -> Self {
        let mean = stats.mean().map(|made| MadeOf::of(None, made));
        let at = MADE_PERCENTILES
            .iter()
            .filter_map(|&percent| Some(MadeOf::of(Some(percent), stats.at(percent)?)));
        LayersResult {
            unseen: stats.unseen,
            without_request: stats.without_request,
            total: latency(&stats.total),
            block: latency(&stats.block),
            above: latency(stats.layer(Layer::Above)),
            queue: latency(stats.layer(Layer::Queue)),
            device: latency(stats.layer(Layer::Device)),
            completion: latency(stats.layer(Layer::Completion)),
            made_of: mean.into_iter().chain(at).collect(),
        }
    }

    /// Returns what a percentile of the latency is made of, if it is known.
    pub fn at(&self, percent: f64) -> Option<Made> {
        self.made_of.iter().find(|made| made.percentile == Some(percent)).map(MadeOf::made)
    }

    /// Returns what the mean latency is made of, if it is known.
    pub fn mean(&self) -> Option<Made> {
        self.made_of.iter().find(|made| made.percentile.is_none()).map(MadeOf::made)
    }
}
