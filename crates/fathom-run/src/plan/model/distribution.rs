//! Distribution of random offsets over blocks.

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// Kind of distribution, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DistributionRule {
    /// All blocks are equally likely.
    Uniform,
    /// Zipf with exponent `theta`; `center` (0..1) is the position of the most popular block, random by
    /// default.
    Zipf {
        /// Exponent.
        theta: f64,
        /// Position of the most popular block.
        center: Option<f64>,
    },
    /// Pareto with shape `h`.
    Pareto {
        /// Shape, 0..1.
        h: f64,
        /// Position of the most popular block.
        center: Option<f64>,
    },
    /// A normal distribution with this deviation in percent of the range.
    Normal {
        /// Deviation in percent.
        deviation: f64,
        /// Position of the mean.
        center: Option<f64>,
    },
    /// A share of the I/Os for each zone, with zone sizes in percent of the range, per direction.
    Zoned(PerDirection<Vec<ZoneShare>>),
    /// A share of the I/Os for each zone, with zone sizes in bytes, per direction.
    ZonedAbsolute(PerDirection<Vec<ZoneShare>>),
    /// A repeated list of block numbers; with `stride`, each repetition is shifted by the length of the list.
    Sequence {
        /// Block numbers.
        blocks: Vec<u64>,
        /// True if each repetition is shifted by the length of the list.
        stride: bool,
    },
    /// One pass that brings a flash disk to the steady state of random writes.
    Precondition(PreconditionRule),
}

/// A zone of the range and its share of the I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZoneShare {
    /// Share of the I/Os in percent.
    pub access_percent: u32,
    /// Size of the zone: percent of the range, or bytes for absolute zones.
    pub size: u64,
}

/// Parameters of a preconditioning pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreconditionRule {
    /// Number of regions in which writes are counted.
    pub regions: u32,
    /// Over-provisioned flash, as a fraction of the logical size, from 0 to 1.
    pub over_provisioning: f64,
    /// Assumed write cache of the disk: a block is overwritten only after this many bytes of other data.
    pub cache_bytes: u64,
}

impl PreconditionRule {
    /// Number of writes in a preconditioning pass over this many blocks.
    pub fn writes(&self, blocks: u64) -> u64 {
        blocks + (blocks as f64 * self.over_provisioning).round() as u64
    }
}
