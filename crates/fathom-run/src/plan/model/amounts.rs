//! How much a job asks for and where it begins, as shares, zones or bytes.

use fathom_spec::value::SizeSpec;
use serde::{Deserialize, Serialize};

/// Amounts that mean bytes only once the files are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amounts {
    /// What of its files a job works on (`size`).
    pub size: Option<SizeSpec>,
    /// What it moves in all (`io_size`).
    pub io_size: Option<SizeSpec>,
    /// Where the first clone begins in each file (`offset`).
    pub offset: SizeSpec,
    /// How much further on each next clone begins (`offset_increment`).
    pub offset_increment: SizeSpec,
    /// How often: the number of the clone, from 0.
    pub increments: u32,
}

impl Amounts {
    /// The same with bytes in place of zones of this size.
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
