//! Skewed distributions of random offsets.

pub use crate::random::Sampler;

use crate::plan::model::distribution::ZoneShare;

/// Zones over `0..blocks`.
#[derive(Clone, Debug)]
pub struct Zones {
    /// For each zone: cumulative access percentage, first block, number of blocks.
    zones: Vec<(u32, u64, u64)>,
}

impl Zones {
    /// Zones given as percent of the range.
    pub fn by_percent(shares: &[ZoneShare], blocks: u64) -> Zones {
        // Fractions of blocks are rounded down separately for the start and the length of a zone.
        let blocks_of = |percent: u64| (blocks as f64 * percent as f64 / 100.0) as u64;
        Zones::laid_out(shares, blocks, |before, size| (blocks_of(before), blocks_of(size)))
    }

    /// Zones given in bytes; `unit` is the size of a block.
    pub fn by_size(shares: &[ZoneShare], blocks: u64, unit: u64) -> Zones {
        Zones::laid_out(shares, blocks, |before, size| {
            let first = before / unit;
            (first, before.saturating_add(size) / unit - first)
        })
    }

    /// `place` computes the first block and the number of blocks of a zone from the sum of the previous sizes
    /// and its own size.
    fn laid_out(shares: &[ZoneShare], blocks: u64, place: impl Fn(u64, u64) -> (u64, u64)) -> Zones {
        let (mut access, mut before) = (0, 0u64);
        let mut zones = Vec::new();
        for share in shares {
            access += share.access_percent;
            let (first, length) = place(before, share.size);
            let length = length.min(blocks.saturating_sub(first));
            // A zone smaller than a block gets its first block.
            if share.access_percent > 0 && first < blocks {
                zones.push((access, first, length));
            }
            before = before.saturating_add(share.size);
        }
        Zones { zones }
    }

    /// The next block: the percentage, 1 to 100, selects the zone, and `below` draws the position in it.
    pub fn next(&self, percent: u32, below: impl FnOnce(u64) -> u64) -> Option<u64> {
        let zone = self.zones.iter().find(|(cumulative, ..)| percent <= *cumulative).or(self.zones.last())?;
        Some(zone.1 + below(zone.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{SeedUse, Seeds};

    #[test]
    fn golden_zones() {
        let seeds = Seeds::new(0x89, 1);
        let shares = [(60, 10), (40, 90)].map(|(access_percent, size)| ZoneShare { access_percent, size });
        let zones = Zones::by_percent(&shares, 256);
        let (mut chooser, mut offsets) = (seeds.generator(SeedUse::Zone), seeds.generator(SeedUse::Offset));
        let order: Vec<u64> =
            (0..16).filter_map(|_| zones.next(chooser.percent(), |end| offsets.below(end))).collect();
        assert_eq!(order, [24, 21, 16, 143, 163, 24, 28, 5, 100, 217, 180, 14, 23, 9, 27, 18]);
        let shares = [(30, 20), (8, 30), (2, 40), (60, 10)]
            .map(|(access_percent, size)| ZoneShare { access_percent, size });
        let zones = Zones::by_percent(&shares, 256);
        let (mut chooser, mut offsets) = (seeds.generator(SeedUse::Zone), seeds.generator(SeedUse::Offset));
        let order: Vec<u64> =
            (0..12).filter_map(|_| zones.next(chooser.percent(), |end| offsets.below(end))).collect();
        assert_eq!(order, [49, 44, 246, 242, 245, 125, 230, 235, 238, 250, 246, 28]);
    }
}
