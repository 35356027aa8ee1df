//! Lengths of I/Os.

use serde::{Deserialize, Serialize};

/// One entry of a weighted list of block sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightedSize {
    /// Block size in bytes.
    pub size: u64,
    /// Share of the I/Os in percent.
    pub percent: u32,
}

/// How the lengths of one direction's I/Os are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LengthRule {
    /// A single length.
    Fixed(u64),
    /// Any length between two sizes. Lengths are multiples of the smaller size unless `unaligned` is set.
    Range {
        /// Smallest length in bytes.
        min: u64,
        /// Largest length in bytes.
        max: u64,
        /// True if lengths may be any number of bytes.
        unaligned: bool,
    },
    /// A weighted choice; see [`LengthRule::split`].
    Split(Vec<WeightedSize>),
}
