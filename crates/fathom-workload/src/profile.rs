//! The properties of a recorded load.

use crate::arrivals::Arrivals;
use crate::depth::Depth;
use crate::parts::Part;
use crate::places::Map;
use crate::programs::Program;
use crate::service::Service;
use crate::sizes::Sizes;
use crate::skew::Skew;
use crate::space::Space;
use crate::streams::Streams;
use fathom_stats::Direction;
use fathom_stats::latency::LatencyStats;
use fathom_trace::Device;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Properties of a recorded load. Times are in ns unless the name says otherwise, shares are fractions of 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Time from the first arrival to the last event in s.
    pub seconds: f64,
    /// Number of requests with data.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// All devices with requests.
    pub devices: Vec<DeviceProfile>,
    /// All directions with requests: reads, writes, trims.
    pub directions: Vec<DirectionProfile>,
    /// Flushes, and writes that must be durable on completion.
    pub flushes: Flushes,
    /// Largest mean number of concurrent sequential streams in a bin of the timeline.
    pub most_streams: f64,
    /// Use of the address space.
    pub space: Space,
    /// Arrivals of requests.
    pub arrivals: Arrivals,
    /// Depth, the number of requests in flight; `None` if the trace has no completions.
    pub depth: Option<Depth>,
    /// A period of the rate, if one was found.
    pub cycle: Option<Cycle>,
    /// Programs, the busiest first; empty if the trace has no names of programs.
    pub programs: Vec<Program>,
    /// The load over time, in at most 256 steps of equal length.
    pub over_time: Vec<Moment>,
    /// Accesses by offset and time.
    pub maps: Vec<Map>,
    /// Parts from which a model can be made, if [`Characterizer::with_parts`](crate::Characterizer::with_parts) asked for them.
    #[serde(skip)]
    pub parts: Vec<Part>,
    /// Requests whose completion is not in the trace, though others are.
    pub incomplete: u64,
}

/// One device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceProfile {
    /// Number of the device; for a volume of another system, a number that stands for its name.
    pub device: Option<Device>,
    /// Name of the device or volume; empty if the trace does not contain it.
    pub name: String,
    /// Model of the device; empty if the trace does not contain it.
    pub model: String,
    /// Size of the device in bytes; 0 if the trace does not contain it.
    pub size: u64,
    /// Number of requests with data.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// One direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionProfile {
    /// Reads, writes or trims.
    #[serde(with = "word")]
    pub direction: Direction,
    /// Number of requests with data.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sizes and alignment.
    pub sizes: Sizes,
    /// Sequential streams.
    pub streams: Streams,
    /// Inequality of the popularity of blocks; `None` for trims, and if too few blocks were accessed again.
    pub skew: Option<Skew>,
    /// Latencies; empty if the trace has no completions.
    pub service: Service,
}

/// Requests that make data durable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flushes {
    /// Number of flushes without data.
    pub flushes: u64,
    /// Number of writes that flush earlier data first.
    pub flushing_writes: u64,
    /// Number of writes that are durable once complete (FUA).
    pub durable_writes: u64,
    /// Number of writes whose caller waits for them.
    pub sync_writes: u64,
    /// Number of requests for metadata of a file system.
    pub metadata: u64,
    /// Number of reads ahead of their use.
    pub read_ahead: u64,
    /// Time between flushes of either kind.
    pub gaps: LatencyStats,
    /// Time from the arrival of a flush without data to its completion.
    pub latency: LatencyStats,
}

/// A period of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cycle {
    /// Length of the period in s.
    pub period_s: f64,
    /// Correlation of the rate with the rate one period earlier, at most 1.
    pub strength: f64,
}

/// A step of the timeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Start in s since the first arrival; the end follows.
    pub start_s: f64,
    /// See `start_s`.
    pub end_s: f64,
    /// Number of arrivals: reads, writes, trims.
    pub requests: [u64; 3],
    /// Their bytes.
    pub bytes: [u64; 3],
    /// Number of flushes, and of writes that flush.
    pub flushes: u64,
    /// Mean depth; 0 if the trace has no completions.
    pub depth: f64,
    /// Estimated bytes accessed in this step; a block counts once.
    pub working_set: f64,
    /// Estimated bytes accessed from the start until the end of this step.
    pub footprint: f64,
    /// Number of completions by latency: for reads, writes and trims, the centre of a bin in ns, and the
    /// number.
    pub latencies: [BTreeMap<u64, u64>; 3],
}

/// A direction by its word.
pub(crate) mod word {
    use fathom_stats::Direction;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(direction: &Direction, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(direction.word())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Direction, D::Error> {
        let word = String::deserialize(deserializer)?;
        Direction::from_word(&word).ok_or_else(|| D::Error::custom("not a direction"))
    }
}
