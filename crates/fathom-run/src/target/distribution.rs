//! Distributions of random offsets that favour some blocks over others.

use super::precondition::PreconditionRule;
use crate::random::{HASH_FACTOR, Taus88};
use serde::{Deserialize, Serialize};

/// Terms of the Zipf normaliser that are summed at most; beyond, the sum hardly changes.
const ZIPF_TERMS: u64 = 10_000_000;

/// A share of the range and the share of the I/Os that go there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZoneShare {
    /// Percent of the I/Os.
    pub access_percent: u32,
    /// Size of the zone: percent of the range, or bytes for absolute zones.
    pub size: u64,
}

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
    Zoned([Vec<ZoneShare>; 3]),
    /// Zones by size, per direction.
    ZonedAbsolute([Vec<ZoneShare>; 3]),
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

/// A sampler of `0..blocks` for Zipf, Pareto and normal distributions, with a generator of its own.
#[derive(Clone, Debug)]
pub struct Sampler {
    kind: Kind,
    blocks: u64,
    shift: u64,
    generator: Taus88,
}

#[derive(Clone, Debug)]
enum Kind {
    Zipf { theta: f64, normaliser: f64, second: f64 },
    Pareto { power: f64 },
    Normal { deviation: f64 },
}

impl Sampler {
    /// Zipf after Gray et al., "Quickly generating billion-record synthetic databases" (1994).
    pub fn zipf(theta: f64, center: Option<f64>, blocks: u64, seed: u64) -> Sampler {
        let normaliser = (1..=blocks.min(ZIPF_TERMS)).map(|rank| (rank as f64).powf(-theta)).sum();
        let kind = Kind::Zipf { theta, normaliser, second: 1.0 + 0.5f64.powf(theta) };
        Sampler::placed(kind, center, blocks, seed)
    }

    /// Pareto: a power of a uniform number.
    pub fn pareto(h: f64, center: Option<f64>, blocks: u64, seed: u64) -> Sampler {
        Sampler::placed(Kind::Pareto { power: h.ln() / (1.0 - h).ln() }, center, blocks, seed)
    }

    /// A bell from the mean of twelve uniform numbers.
    pub fn normal(deviation: f64, center: Option<f64>, blocks: u64, seed: u64) -> Sampler {
        let shift = ((center.unwrap_or(0.5) - 0.5) * blocks as f64).rem_euclid(blocks as f64) as u64;
        Sampler { kind: Kind::Normal { deviation }, blocks, shift, generator: Taus88::new(seed) }
    }

    fn placed(kind: Kind, center: Option<f64>, blocks: u64, seed: u64) -> Sampler {
        let mut generator = Taus88::new(seed);
        let shift = match center {
            Some(center) => (center * blocks as f64) as u64,
            None => u64::from(generator.next_u32()),
        };
        Sampler { kind, blocks, shift, generator }
    }

    /// The next block.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        let rank = self.next_rank();
        match self.kind {
            Kind::Normal { .. } => (rank + self.shift) % self.blocks,
            _ => rank.wrapping_mul(HASH_FACTOR).wrapping_add(self.shift) % self.blocks,
        }
    }

    /// The next draw in its own order: the most popular first (Zipf, Pareto), or as the bell lies (normal).
    pub fn next_rank(&mut self) -> u64 {
        match self.kind {
            Kind::Zipf { theta, normaliser, second } => self.zipf_rank(theta, normaliser, second),
            Kind::Pareto { power } => ((self.blocks - 1) as f64 * self.uniform().powf(power)) as u64,
            Kind::Normal { deviation } => self.normal_rank(deviation),
        }
    }

    fn zipf_rank(&mut self, theta: f64, normaliser: f64, second: f64) -> u64 {
        let blocks = self.blocks as f64;
        let uniform = self.uniform();
        let scaled = uniform * normaliser;
        let rank = if scaled < 1.0 {
            1.0
        } else if scaled < second {
            2.0
        } else {
            let eta = (1.0 - (2.0 / blocks).powf(1.0 - theta)) / (1.0 - second / normaliser);
            1.0 + blocks * (eta * uniform - eta + 1.0).powf(1.0 / (1.0 - theta))
        };
        rank as u64 - 1
    }

    fn normal_rank(&mut self, deviation: f64) -> u64 {
        // Twelve uniform numbers have a deviation of 1; scaled so that `deviation` is percent of the range.
        let bell: f64 = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
        let rank = self.blocks as f64 * (0.5 + bell * deviation / 100.0);
        (rank.rem_euclid(self.blocks as f64) as u64).min(self.blocks - 1)
    }

    fn uniform(&mut self) -> f64 {
        f64::from(self.generator.next_u32()) / 4_294_967_296.0
    }
}

/// Zones laid out over `0..blocks`.
#[derive(Clone, Debug)]
pub struct Zones {
    /// Per zone: cumulative access percent, first block, number of blocks.
    zones: Vec<(u32, u64, u64)>,
}

impl Zones {
    /// Zones given as percent of the range.
    pub fn by_percent(shares: &[ZoneShare], blocks: u64) -> Zones {
        Zones::laid_out(shares, blocks, |percent| (blocks as f64 * percent as f64 / 100.0) as u64)
    }

    /// Zones given in bytes; `unit` is the size of a block.
    pub fn by_size(shares: &[ZoneShare], blocks: u64, unit: u64) -> Zones {
        Zones::laid_out(shares, blocks, |bytes| bytes / unit)
    }

    fn laid_out(shares: &[ZoneShare], blocks: u64, blocks_of: impl Fn(u64) -> u64) -> Zones {
        let (mut access, mut first) = (0, 0);
        let mut zones = Vec::new();
        for share in shares {
            access += share.access_percent;
            let length = blocks_of(share.size).min(blocks - first);
            if share.access_percent > 0 && length > 0 {
                zones.push((access, first, length));
            }
            first += length;
        }
        Zones { zones }
    }

    /// The next block: the percentage, 1 to 100, picks the zone, and `below` draws the place in it.
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
    fn zipf_follows_its_exponent() {
        // With theta 1.2 over 1000 blocks the most popular block takes 1/zeta of the draws: 23.1 %.
        let mut sampler = Sampler::zipf(1.2, Some(0.0), 1000, 99);
        let hits = (0..100_000).filter(|_| sampler.next() == 0).count();
        let expected = 1.0 / (1..=1000).map(|r| f64::from(r).powf(-1.2)).sum::<f64>();
        assert!((hits as f64 / 100_000.0 - expected).abs() < 0.01, "{hits} against {expected}");
    }

    #[test]
    fn normal_has_its_mean_and_deviation() {
        let mut sampler = Sampler::normal(10.0, Some(0.5), 1_000_000, 5);
        let values: Vec<f64> = (0..50_000).map(|_| sampler.next() as f64).collect();
        let mean = values.iter().sum::<f64>() / 50_000.0;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 50_000.0).sqrt();
        assert!((mean - 500_000.0).abs() < 3_000.0, "{mean}");
        assert!((deviation - 100_000.0).abs() < 2_000.0, "{deviation}");
    }

    #[test]
    fn golden_zones() {
        let seeds = Seeds::new(0x89, 1);
        let shares = [(60, 10), (40, 90)].map(|(access_percent, size)| ZoneShare { access_percent, size });
        let zones = Zones::by_percent(&shares, 256);
        let (mut chooser, mut offsets) = (seeds.generator(SeedUse::Zone), seeds.generator(SeedUse::Offset));
        let order: Vec<u64> =
            (0..16).filter_map(|_| zones.next(chooser.percent(), |end| offsets.below(end))).collect();
        assert_eq!(order, [24, 21, 16, 143, 163, 24, 28, 5, 100, 217, 180, 14, 23, 9, 27, 18]);
    }
}
