//! Random numbers: fio's generators and seeds, and the distributions based on them.

#![forbid(unsafe_code)]

mod ahead;
mod curve;
mod gaps;
mod generators;
mod lanes;
mod sampler;

pub use ahead::{DrawnAhead, part_below};
pub use gaps::{Gaps, Shares, exponential_gap};
pub use generators::{Generator, HASH_FACTOR, SeedUse, Seeds, Taus88, Taus258, file_hash};
pub use sampler::Sampler;
