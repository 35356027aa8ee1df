//! Describes where the time of a direction's I/Os went (`--layers`).

use crate::figures;
use fathom_results::DirectionResult;
use fathom_stats::layers::{Layer, Made};

/// Minimum share of I/Os without a request, or with unknown layers, that is mentioned.
const LEAST_SHARE: f64 = 0.01;
/// Parts smaller than this share of a latency are left out of its sentence.
const LEAST_PART: f64 = 0.01;

/// What a layer is, in a sentence.
fn described(layer: Layer) -> &'static str {
    match layer {
        Layer::Above => "above the block layer (system call, file system)",
        Layer::Queue => "in its queue (limits, scheduler)",
        Layer::Device => "in the device",
        Layer::Completion => "between the device and the job (interrupt, wake-up)",
    }
}

/// Sentences about the layers of a direction; none without `--layers`. `many` is the plural of the direction.
pub(crate) fn told(many: &str, direction: &DirectionResult) -> Vec<String> {
    let Some(layers) = &direction.layers else { return Vec::new() };
    let mut told = Vec::new();
    if let Some(made) = layers.mean() {
        let parts = parts(&made)
            .into_iter()
            .map(|(layer, ns)| format!("{} {}", figures::duration(ns as f64), described(layer)));
        told.push(format!(
            "Of the mean latency of the {many}, {}: {}.",
            figures::duration(made.total_ns as f64),
            parts.collect::<Vec<_>>().join(", ")
        ));
    }
    for (name, percent) in [("p99", 99.0), ("p99.9", 99.9)] {
        if let Some(made) = layers.at(percent) {
            let (layer, _) = made.largest();
            told.push(format!(
                "Of the {name} of the {many}, {}, {} were {}.",
                figures::duration(made.total_ns as f64),
                figures::duration(made.layers_ns[layer as usize] as f64),
                described(layer)
            ));
        }
    }
    let known = layers.total.count as f64;
    if layers.without_request as f64 > LEAST_SHARE * known {
        let share = figures::percent(100.0 * layers.without_request as f64 / known);
        told.push(format!(
            "{share} of the {many} reached no block device: a cache or the file system served them."
        ));
    }
    let unseen = layers.unseen as f64;
    if unseen > LEAST_SHARE * (known + unseen) {
        let share = figures::percent(100.0 * unseen / (known + unseen));
        told.push(format!("The layers of {share} of the {many} are unknown."));
    }
    told
}

/// The parts of a latency that matter, largest first.
fn parts(made: &Made) -> Vec<(Layer, u64)> {
    let mut parts: Vec<(Layer, u64)> =
        Layer::ALL.into_iter().map(|layer| (layer, made.layers_ns[layer as usize])).collect();
    parts.retain(|(_, ns)| *ns as f64 >= LEAST_PART * made.total_ns as f64);
    parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_parts_are_named() {
        let text = r#"{"total_ios":200,"layers":{"unseen":100,"without_request":50,"total_ns":{"N":100},"made_of":[
            {"total_ns":1000000,"above_ns":4000,"queue_ns":196000,"device_ns":800000,"completion_ns":0},
            {"percentile":99,"total_ns":3100000,"above_ns":100000,"queue_ns":50000,"device_ns":2900000,
             "completion_ns":50000}]}}"#;
        let direction: DirectionResult = serde_json::from_str(text).expect("reads");
        assert_eq!(
            told("reads", &direction),
            [
                "Of the mean latency of the reads, 1.00 ms: 800 µs in the device, 196 µs in its queue (limits, scheduler).",
                "Of the p99 of the reads, 3.10 ms, 2.90 ms were in the device.",
                "50.0 % of the reads reached no block device: a cache or the file system served them.",
                "The layers of 50.0 % of the reads are unknown.",
            ]
        );
        assert_eq!(told("reads", &DirectionResult::default()), [""; 0]);
    }
}
