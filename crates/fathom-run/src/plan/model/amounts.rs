//! Amounts and offsets of a job, as percentages, zones or bytes.

use fathom_spec::value::SizeSpec;
use serde::{Deserialize, Serialize};

/// Amounts that can be converted to bytes only once the files are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amounts {
    /// How much of its files a job uses (`size`).
    pub size: Option<SizeSpec>,
    /// How much data the job moves in total (`io_size`).
    pub io_size: Option<SizeSpec>,
    /// Offset of the first clone in each file (`offset`).
    pub offset: SizeSpec,
    /// Distance between the offsets of consecutive clones (`offset_increment`).
    pub offset_increment: SizeSpec,
    /// Number of increments to apply: the clone's number, from 0.
    pub increments: u32,
}

impl Amounts {
    /// Returns a copy in which amounts in zones of `zone_size` bytes are converted to bytes.
    pub fn in_bytes(&self, zone_size: u64) -> Amounts {
        let convert = |amount: SizeSpec| match amount {
            SizeSpec::Zones(zones) => SizeSpec::Bytes(zones.saturating_mul(zone_size)),
            other => other,
        };
        Amounts {
            size: self.size.map(convert),
            io_size: self.io_size.map(convert),
            offset: convert(self.offset),
            offset_increment: convert(self.offset_increment),
            increments: self.increments,
        }
    }
}
