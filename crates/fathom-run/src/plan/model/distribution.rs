//! Which blocks random offsets favour.

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// Which distribution a job uses, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DistributionRule {
    /// All blocks alike.
    Uniform,
    /// Zipf with exponent `theta`; `center` (0..1) places the favourite block, else chance does.
    Zipf {
        /// Exponent.
        theta: f64,
        /// Place of the most popular block.
        center: Option<f64>,
    },
    /// Pareto with shape `h`.
    Pareto {
        /// Shape, 0..1.
        h: f64,
        /// Place of the most popular block.
        center: Option<f64>,
    },
    /// A bell with this deviation in percent of the range.
    Normal {
        /// Deviation in percent.
        deviation: f64,
        /// Place of the middle.
        center: Option<f64>,
    },
    /// Zones by share of the range, per direction.
    Zoned(PerDirection<Vec<ZoneShare>>),
    /// Zones by size, per direction.
    ZonedAbsolute(PerDirection<Vec<ZoneShare>>),
    /// These block numbers in turn; with `stride` each repetition moves on by the length of the list.
    Sequence {
        /// Block numbers.
        blocks: Vec<u64>,
        /// Move on at each repetition.
        stride: bool,
    },
    /// One pass that leaves a disk in the steady state of random writes.
    Precondition(PreconditionRule),
}

/// A share of the range and the share of the I/Os that go there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZoneShare {
    /// Percent of the I/Os.
    pub access_percent: u32,
    /// Size of the zone: percent of the range, or bytes for absolute zones.
    pub size: u64,
}

/// What a preconditioning pass is to look like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreconditionRule {
    /// Regions that the writes are counted in.
    pub regions: u32,
    /// Flash beyond the logical size, as a share of the logical size: between 0 and 1.
    pub over_provisioning: f64,
    /// Bytes that the disk may hold in its cache: a block is overwritten only after as many others.
    pub cache_bytes: u64,
}

impl PreconditionRule {
    /// Writes of a pass over so many blocks.
    pub fn writes(&self, blocks: u64) -> u64 {
        blocks + (blocks as f64 * self.over_provisioning).round() as u64
    }
}
