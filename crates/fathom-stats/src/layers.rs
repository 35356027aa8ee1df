//! Where the time of I/Os went, with `--layers`: above the block layer, in its queue, in the device, and between
//! the device's completion and the job's reaping. The four parts of an I/O add up to its total latency.

use crate::histogram::{BIN_COUNT, bin_of};
use crate::latency::LatencyStats;
use crate::samples::{LatencySamples, bump};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of layers.
const COUNT: usize = 4;

/// A part of an I/O's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layer {
    /// System call, file system, and whatever else precedes the block layer.
    Above,
    /// Limits of control groups, the scheduler, and the wait for a free request.
    Queue,
    /// The device and its driver.
    Device,
    /// Interrupt, wake-up and reaping.
    Completion,
}

impl Layer {
    /// All layers, in the order in which an I/O passes them.
    pub const ALL: [Layer; COUNT] = [Layer::Above, Layer::Queue, Layer::Device, Layer::Completion];

    /// Returns the name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Above => "above",
            Layer::Queue => "queue",
            Layer::Device => "device",
            Layer::Completion => "completion",
        }
    }
}

/// The parts of one I/O, ns, in the order of [`Layer::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Time in each layer.
    pub layers: [u64; COUNT],
    /// True if the I/O reached the block device; otherwise all of its time is above it.
    pub has_request: bool,
}

impl Split {
    /// The parts of an I/O that took this long and reached no block device.
    pub fn above(ns: u64) -> Split {
        Split { layers: [ns, 0, 0, 0], has_request: false }
    }

    /// Returns the time from the first request to the end of the last.
    pub fn in_block_layer(&self) -> u64 {
        self.layers[Layer::Queue as usize] + self.layers[Layer::Device as usize]
    }

    /// Returns the sum of the parts.
    pub fn total(&self) -> u64 {
        self.layers.iter().sum()
    }
}

/// Sums over the I/Os whose total latency is in one bin.
#[repr(C)]
struct Bin {
    ios: AtomicU64,
    layers: [AtomicU64; COUNT],
}

/// Counters of a worker's I/Os in one direction, with one writer and any number of readers. All-zero memory is
/// the empty value.
#[repr(C)]
pub struct LayerSamples {
    unseen: AtomicU64,
    without_request: AtomicU64,
    total: LatencySamples,
    block: LatencySamples,
    layers: [LatencySamples; COUNT],
    bins: [Bin; BIN_COUNT],
}

impl LayerSamples {
    /// Counts an I/O that stands for this many.
    pub fn record(&self, split: &Split, weight: u64) {
        let total = split.total();
        self.total.record_many(total, weight);
        for (samples, ns) in self.layers.iter().zip(split.layers) {
            samples.record_many(ns, weight);
        }
        match split.has_request {
            true => self.block.record_many(split.in_block_layer(), weight),
            false => bump(&self.without_request, weight),
        }
        if let Some(bin) = bin_of(total).map(|bin| &self.bins[bin]) {
            for (sum, ns) in bin.layers.iter().zip(split.layers) {
                bump(sum, ns * weight);
            }
            bump(&bin.ios, weight);
        }
    }

    /// Counts I/Os whose way is unknown.
    pub fn miss(&self, ios: u64) {
        bump(&self.unseen, ios);
    }

    /// Returns the time in each layer so far, ns.
    pub fn sums(&self) -> [u64; COUNT] {
        self.layers.each_ref().map(LatencySamples::sum_ns)
    }

    /// Returns the counts so far; `None` if there are none.
    pub fn snapshot(&self) -> Option<LayerStats> {
        let unseen = self.unseen.load(Relaxed);
        if self.total.count() == 0 && unseen == 0 {
            return None;
        }
        let bins = self.bins.iter().enumerate().filter_map(|(bin, sums)| {
            let ios = sums.ios.load(Relaxed);
            let layers = sums.layers.each_ref().map(|sum| sum.load(Relaxed));
            (ios > 0).then_some((bin as u32, BinSums { ios, layers }))
        });
        Some(LayerStats {
            unseen,
            without_request: self.without_request.load(Relaxed),
            total: self.total.snapshot(),
            block: self.block.snapshot(),
            layers: self.layers.each_ref().map(LatencySamples::snapshot),
            bins: bins.collect(),
        })
    }
}

/// Sums over the I/Os whose total latency is in one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct BinSums {
    ios: u64,
    layers: [u64; COUNT],
}

/// Where the time of the I/Os of one direction went. Counts are of the job's I/Os: an I/O of a sample counts as
/// often as it stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerStats {
    /// I/Os whose way is unknown: events were lost, or the place of their data is.
    pub unseen: u64,
    /// I/Os that the block device had no part in, such as those that a cache served.
    pub without_request: u64,
    /// Total latency.
    pub total: LatencyStats,
    /// Queue and device together, of the I/Os that have requests: what a recording of the device calls latency.
    pub block: LatencyStats,
    layers: [LatencyStats; COUNT],
    bins: BTreeMap<u32, BinSums>,
}

/// A latency and the layers that it is made of, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// The latency.
    pub total_ns: u64,
    /// The parts, in the order of [`Layer::ALL`]; their sum is the latency.
    pub layers_ns: [u64; COUNT],
}

impl Made {
    /// Returns the layer with the largest part, and its share of the latency from 0 to 1.
    pub fn largest(&self) -> (Layer, f64) {
        let largest = Layer::ALL.into_iter().max_by_key(|layer| self.layers_ns[*layer as usize]);
        let layer = largest.unwrap_or(Layer::Above);
        (layer, self.layers_ns[layer as usize] as f64 / self.total_ns.max(1) as f64)
    }
}

impl LayerStats {
    /// Returns the statistics of one layer.
    pub fn layer(&self, layer: Layer) -> &LatencyStats {
        &self.layers[layer as usize]
    }

    /// Adds the I/Os of `other`, as if both had been recorded together.
    pub fn merge(&mut self, other: &LayerStats) {
        self.unseen += other.unseen;
        self.without_request += other.without_request;
        self.total.merge(&other.total);
        self.block.merge(&other.block);
        for (own, theirs) in self.layers.iter_mut().zip(&other.layers) {
            own.merge(theirs);
        }
        for (bin, theirs) in &other.bins {
            let own = self.bins.entry(*bin).or_default();
            own.ios += theirs.ios;
            for (sum, more) in own.layers.iter_mut().zip(theirs.layers) {
                *sum += more;
            }
        }
    }

    /// Returns the mean and its parts; `None` without I/Os.
    pub fn mean(&self) -> Option<Made> {
        let sums = self.layers.each_ref().map(|layer| layer.sum_ns);
        (self.total.count > 0).then(|| made(self.total.mean_ns().round() as u64, sums))
    }

    /// Returns a percentile of the total latency (0 to 100) and what it is made of: the parts of the I/Os whose
    /// latencies are nearest to it. `None` without I/Os.
    pub fn at(&self, percent: f64) -> Option<Made> {
        let total_ns = self.total.percentile(percent)?;
        let ios = self.bins.values().map(|bin| bin.ios).sum::<u64>() as f64;
        // Near a high percentile are few I/Os: half of those beyond it, on either side.
        let reach = ((100.0 - percent) / 2.0).clamp(0.0, 5.0);
        let [first, last] = [percent - reach, percent + reach].map(|percent| percent / 100.0 * ios);
        let (mut before, mut sums) = (0.0, [0; COUNT]);
        for bin in self.bins.values() {
            let end = before + bin.ios as f64;
            if end >= first && before <= last {
                for (sum, more) in sums.iter_mut().zip(bin.layers) {
                    *sum += more;
                }
            }
            before = end;
        }
        Some(made(total_ns, sums))
    }
}

/// Divides a latency in the proportion of these sums. Rounding is left to the largest part.
fn made(total_ns: u64, sums: [u64; COUNT]) -> Made {
    let all: u128 = sums.iter().map(|&sum| u128::from(sum)).sum();
    if all == 0 {
        return Made { total_ns, layers_ns: [total_ns, 0, 0, 0] };
    }
    let mut layers_ns = sums.map(|sum| (u128::from(sum) * u128::from(total_ns) / all) as u64);
    let largest = (0..COUNT).max_by_key(|&layer| sums[layer]).unwrap_or(0);
    layers_ns[largest] += total_ns - layers_ns.iter().sum::<u64>();
    Made { total_ns, layers_ns }
}

/// What recording the layers of a run was like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayerRun {
    /// Processor time of the recorder, ns. The events themselves cost the kernel time as well, which is part of the
    /// job's latencies.
    pub cpu_ns: u64,
    /// Time for which it recorded, ns.
    pub span_ns: u64,
    /// Events recorded.
    pub events: u64,
    /// Events that the kernel lost.
    pub lost_events: u64,
    /// One part of this many of the devices was recorded when the rate was highest; 1 if all was recorded.
    pub one_in: u64,
    /// True if the recorder ended before the jobs did.
    pub ended_early: bool,
}

impl LayerRun {
    /// Adds the recorder of another host.
    pub fn merge(&mut self, other: &LayerRun) {
        self.cpu_ns += other.cpu_ns;
        self.span_ns = self.span_ns.max(other.span_ns);
        self.events += other.events;
        self.lost_events += other.lost_events;
        self.one_in = self.one_in.max(other.one_in);
        self.ended_early |= other.ended_early;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tests::zeroed;
    use proptest::prelude::*;

    fn recorded(splits: &[([u64; COUNT], u64)]) -> LayerStats {
        let samples = empty();
        for (layers, weight) in splits {
            samples.record(&Split { layers: *layers, has_request: layers[2] > 0 }, *weight);
        }
        samples.snapshot().unwrap_or_default()
    }

    fn empty() -> Box<LayerSamples> {
        let bin = || Bin { ios: AtomicU64::new(0), layers: Default::default() };
        Box::new(LayerSamples {
            unseen: AtomicU64::new(0),
            without_request: AtomicU64::new(0),
            total: zeroed(),
            block: zeroed(),
            layers: std::array::from_fn(|_| zeroed()),
            bins: std::array::from_fn(|_| bin()),
        })
    }

    #[test]
    fn a_percentile_is_made_of_the_ios_near_it() {
        // The device is slow once in a hundred times, and else the system call.
        let mut splits = vec![([70_000, 5_000, 20_000, 5_000], 1); 990];
        splits.extend(vec![([70_000, 5_000, 4_000_000, 5_000], 1); 10]);
        let stats = recorded(&splits);
        let median = stats.at(50.0).expect("I/Os");
        assert_eq!(
            (median.largest().0, median.layers_ns.iter().sum::<u64>()),
            (Layer::Above, median.total_ns)
        );
        let slow = stats.at(99.9).expect("I/Os");
        assert_eq!(slow.largest().0, Layer::Device);
        assert!(slow.largest().1 > 0.97 && slow.total_ns > 4_000_000, "{slow:?}");
        assert_eq!(stats.mean().expect("I/Os").layers_ns.iter().sum::<u64>(), 139_800);
    }

    #[test]
    fn an_io_of_a_sample_counts_as_often_as_it_stands_for() {
        let stats = recorded(&[([1, 2, 3, 4], 8), ([5, 0, 0, 0], 2)]);
        assert_eq!((stats.total.count, stats.without_request), (10, 2));
        assert_eq!((stats.block.count, stats.block.sum_ns), (8, 8 * (2 + 3)));
        assert_eq!(stats.layer(Layer::Completion).sum_ns, 32);
        assert_eq!(LayerStats::default().at(50.0), None);
    }

    proptest! {
        #[test]
        fn parts_add_up_and_merging_is_recording_together(
            one in prop::collection::vec((prop::array::uniform4(0u64..1 << 40), 1u64..9), 1..40),
            other in prop::collection::vec((prop::array::uniform4(0u64..1 << 40), 1u64..9), 0..40),
            percent in 0f64..100.0,
        ) {
            let mut merged = recorded(&one);
            merged.merge(&recorded(&other));
            let together = recorded(&[one, other].concat());
            prop_assert_eq!(&merged, &together);
            let at = merged.at(percent).expect("I/Os");
            prop_assert_eq!(at.layers_ns.iter().sum::<u64>(), at.total_ns);
            let sums: u64 = Layer::ALL.iter().map(|layer| merged.layer(*layer).sum_ns).sum();
            prop_assert_eq!(sums, merged.total.sum_ns);
        }
    }
}
