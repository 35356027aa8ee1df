//! Non-uniform block distributions.

use crate::curve::{Curve, Line, uniform};
use crate::{DrawnAhead, Generator, HASH_FACTOR, part_below};
use strength_reduce::StrengthReducedU64;

/// Maximum number of summed terms of the Zipf normalizer; beyond that, the sum hardly changes.
const ZIPF_TERMS: u64 = 10_000_000;

/// Maximum number of attempts to draw a complete block.
const REDRAWS: usize = 64;

/// A sampler of `0..blocks` for Zipf, Pareto and normal distributions, with its own generator. Its sequence
/// equals that of fio for the same seed, according to its documentation and logs: each program must find data
/// written by the other.
#[derive(Clone, Debug)]
pub struct Sampler {
    kind: Kind,
    blocks: u64,
    /// The number of blocks as a divisor, to replace the division per draw by a multiplication.
    divisor: StrengthReducedU64,
    shift: u64,
    numbers: DrawnAhead,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Numbers below these two give the two most popular ranks; all others are on the curve.
    Zipf {
        first: u64,
        second: u64,
        curve: Curve,
    },
    Pareto {
        curve: Curve,
    },
    /// The divisor is the number of blocks plus one; `narrow` is the same if it fits in 32 bits.
    Normal {
        width: u64,
        divisor: StrengthReducedU64,
        narrow: Option<NarrowDivisor>,
    },
}

impl Sampler {
    /// Zipf after Gray et al., "Quickly generating billion-record synthetic databases" (1994).
    pub fn zipf(theta: f64, center: Option<f64>, blocks: u64, seed: u64) -> Sampler {
        let normaliser: f64 = (1..=blocks.min(ZIPF_TERMS)).map(|rank| (rank as f64).powf(-theta)).sum();
        let second = 1.0 + 0.5f64.powf(theta);
        let eta = (1.0 - (2.0 / blocks as f64).powf(1.0 - theta)) / (1.0 - second / normaliser);
        let curve = Curve::new(blocks as f64, Line::ToOne { slope: eta }, 1.0 / (1.0 - theta));
        let below = |end: f64| first_number(|number| uniform(number) * normaliser >= end);
        Sampler::placed(Kind::Zipf { first: below(1.0), second: below(second), curve }, center, blocks, seed)
    }

    /// Pareto: a power of a uniform number.
    pub fn pareto(h: f64, center: Option<f64>, blocks: u64, seed: u64) -> Sampler {
        let curve = Curve::new((blocks - 1) as f64, Line::Uniform, h.ln() / (1.0 - h).ln());
        Sampler::placed(Kind::Pareto { curve }, center, blocks, seed)
    }

    /// A bell curve: the mean of twelve uniform numbers, shifted by up to half of `deviation` percent of the
    /// blocks to either side.
    pub fn normal(deviation: f64, center: Option<f64>, blocks: u64, seed: u64) -> Sampler {
        let shift = center.map_or(0.0, |center| (blocks as f64 * (center - 0.5)).trunc()) as i64;
        let width = ((blocks as f64 * deviation / 100.0).ceil() as u64).min(blocks / 2);
        // A position left of the middle is a 32-bit number that wrapped around, unless it is too large.
        let wrapped = shift.checked_add(1 << 32).filter(|wrapped| shift < 0 && *wrapped >= 0);
        let shift = wrapped.unwrap_or(shift).cast_unsigned() % blocks;
        let narrow = u32::try_from(blocks + 1).ok().map(NarrowDivisor::new);
        let kind = Kind::Normal { width, divisor: StrengthReducedU64::new(blocks + 1), narrow };
        Sampler::of(kind, blocks, shift, DrawnAhead::new(Generator::new(seed, false)))
    }

    fn placed(kind: Kind, center: Option<f64>, blocks: u64, seed: u64) -> Sampler {
        let mut generator = Generator::new(seed, false);
        // A number is drawn even if a centre is specified, so that the sequence is the same.
        let drawn = generator.below(1 << 32);
        let shift = center.map_or(drawn, |center| (center * blocks as f64) as u64);
        Sampler::of(kind, blocks, shift, DrawnAhead::new(generator))
    }

    fn of(kind: Kind, blocks: u64, shift: u64, numbers: DrawnAhead) -> Sampler {
        Sampler { kind, blocks, divisor: StrengthReducedU64::new(blocks), shift, numbers }
    }

    /// Speeds up all further draws with the same results, using 80 KiB (Zipf and Pareto).
    pub fn make_table(&mut self) {
        if let Kind::Zipf { curve, .. } | Kind::Pareto { curve } = &mut self.kind {
            curve.cut();
        }
    }

    /// Restarts with the first block.
    pub fn rewind(&mut self) {
        self.numbers.rewind();
    }

    /// The next block: popular ranks are spread over the whole range.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.next_rank().wrapping_mul(HASH_FACTOR).wrapping_add(self.shift) % self.divisor
    }

    /// The next block below `end`: blocks beyond it are drawn again.
    pub fn next_below(&mut self, end: u64) -> u64 {
        let drawn = self.next();
        if drawn < end { drawn } else { self.draw_again_below(end) }
    }

    #[cold]
    fn draw_again_below(&mut self, end: u64) -> u64 {
        // The most popular block may be beyond `end`, so the number of attempts is limited.
        (0..REDRAWS).map(|_| self.next()).find(|&drawn| drawn < end).unwrap_or_else(|| self.next() % end)
    }

    /// The next draw in rank order plus the shift, so that neighbouring ranks stay adjacent.
    pub fn next_in_order(&mut self) -> u64 {
        self.next_rank().wrapping_add(self.shift) % self.divisor
    }

    /// The next rank: the most popular first (Zipf, Pareto), or by position (normal).
    pub fn next_rank(&mut self) -> u64 {
        match &self.kind {
            Kind::Zipf { first, second, curve } => {
                let number = next_number(&mut self.numbers);
                let is_popular = u64::from(number) < *second;
                let popular = u64::from(u64::from(number) >= *first);
                match curve.foreseen(number) {
                    Some(rank) => {
                        if is_popular {
                            popular
                        } else {
                            rank
                        }
                    }
                    None if is_popular => popular,
                    None => curve.computed(number),
                }
            }
            Kind::Pareto { curve } => curve.whole_part(next_number(&mut self.numbers)),
            &Kind::Normal { width, divisor, narrow } => self.normal_rank(width, divisor, narrow),
        }
    }

    fn normal_rank(&mut self, width: u64, divisor: StrengthReducedU64, narrow: Option<NarrowDivisor>) -> u64 {
        let bell = match narrow {
            Some(narrow) => {
                let numbers = self.numbers.next_of::<12>().map(|number| number >> 32);
                i128::from(narrow.sum_of_remainders(numbers).div_ceil(12))
            }
            None => self.wide_bell(divisor),
        };
        if width == 0 {
            return bell as u64;
        }
        let mut noise = i128::from(part_below(self.numbers.next(), width)) - i128::from(width / 2);
        while noise != 0 && !(0..i128::from(self.blocks)).contains(&(bell + noise)) {
            noise /= 2;
        }
        (bell + noise) as u64
    }

    #[cold]
    fn wide_bell(&mut self, divisor: StrengthReducedU64) -> i128 {
        let draws = std::array::from_fn::<u64, 12, _>(|_| self.up_to_blocks(divisor));
        draws.map(u128::from).iter().sum::<u128>().div_ceil(12) as i128
    }

    /// A uniform number up to the number of blocks. Uses 64 bits if fio's 32 bits would leave most of them out.
    fn up_to_blocks(&mut self, divisor: StrengthReducedU64) -> u64 {
        let low = u64::from(next_number(&mut self.numbers));
        let drawn = match self.blocks >> 32 {
            0 => low,
            _ => u64::from(next_number(&mut self.numbers)) << 32 | low,
        };
        drawn % divisor
    }
}

/// A divisor for 32-bit numbers.
#[derive(Clone, Copy, Debug)]
struct NarrowDivisor {
    divisor: u64,
    /// 2^64 divided by it, rounded up: exact for such numbers (Lemire, Kaser, Kurz, "Faster remainder by direct
    /// computation", 2019).
    reciprocal: u64,
}

impl NarrowDivisor {
    /// The divisor must be above 1.
    fn new(divisor: u32) -> NarrowDivisor {
        let divisor = u64::from(divisor);
        NarrowDivisor { divisor, reciprocal: u64::MAX / divisor + 1 }
    }

    /// The sum of `number % divisor`: individual remainders are not needed, so the quotients are summed first.
    #[inline(always)]
    fn sum_of_remainders(self, numbers: [u64; 12]) -> u64 {
        let quotient = |number: &u64| ((u128::from(*number) * u128::from(self.reciprocal)) >> 64) as u64;
        numbers.iter().sum::<u64>() - numbers.iter().map(quotient).sum::<u64>() * self.divisor
    }
}

/// The next 32-bit number.
#[inline(always)]
fn next_number(numbers: &mut DrawnAhead) -> u32 {
    (numbers.next() >> 32) as u32
}

/// The first 32-bit number from which this remains true, or 2^32.
fn first_number(is_reached: impl Fn(u32) -> bool) -> u64 {
    let (mut low, mut high) = (0u64, 1 << 32);
    while low < high {
        let middle = (low + high) / 2;
        if is_reached(middle as u32) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_follows_its_exponent() {
        // With theta 1.2 over 1000 blocks the most popular block takes 1/zeta of the draws: 23.1 %.
        let mut sampler = Sampler::zipf(1.2, Some(0.0), 1000, 99);
        let hits = (0..100_000).filter(|_| sampler.next() == 0).count();
        let expected = 1.0 / (1..=1000).map(|r| f64::from(r).powf(-1.2)).sum::<f64>();
        assert!((hits as f64 / 100_000.0 - expected).abs() < 0.01, "{hits} against {expected}");
    }

    /// Seeds of the first clone with the default seed.
    const OF_F: u64 = 3_271_092_649;
    const OF_G: u64 = 1_756_007_749;

    #[test]
    fn golden_draws() {
        let check = |mut sampler: Sampler, blocks: &[u64]| {
            let drawn: Vec<u64> = blocks.iter().map(|_| sampler.next()).collect();
            assert_eq!(drawn, blocks);
        };
        check(
            Sampler::zipf(1.2, None, 256, OF_F),
            &[247, 12, 163, 242, 125, 12, 209, 247, 95, 163, 209, 45, 247, 247, 79, 74],
        );
        check(
            Sampler::zipf(1.2, Some(0.25), 256, OF_F),
            &[43, 64, 215, 38, 177, 64, 5, 43, 147, 215, 5, 97, 43, 43, 131, 126],
        );
        check(Sampler::zipf(1.2, None, 256, OF_G), &[113, 92, 113, 117, 192, 113, 234, 180, 91, 71, 92, 3]);
        check(
            Sampler::pareto(0.2, None, 256, OF_F),
            &[12, 12, 205, 124, 213, 12, 83, 12, 191, 205, 83, 95, 12, 12, 58, 170],
        );
        check(Sampler::pareto(0.2, Some(0.25), 256, OF_F), &[64, 64, 1, 176, 9, 64, 135, 64, 243, 1, 135]);
        for center in [None, Some(0.5)] {
            check(
                Sampler::normal(20.0, center, 256, OF_F),
                &[224, 103, 229, 115, 140, 254, 91, 107, 120, 27, 128, 145, 166, 86, 161, 107],
            );
        }
        check(Sampler::normal(20.0, None, 256, OF_G), &[249, 98, 166, 153, 115, 65, 65, 254]);
        check(Sampler::normal(20.0, Some(0.3), 256, OF_F), &[173, 52, 178, 64, 89, 203, 40, 56, 69]);
        check(Sampler::normal(20.0, Some(0.8), 256, OF_F), &[44, 179, 49, 191, 216, 74, 167, 183, 196]);
        check(Sampler::normal(5.0, Some(0.2), 5120, OF_F), &[2821, 873, 2369, 1383, 2458, 2115, 2752, 4239]);
        check(Sampler::normal(1.0, None, 10, OF_F), &[8, 4, 9, 5, 9, 9, 9, 4, 5, 9]);
        check(Sampler::normal(0.0, None, 10, OF_F), &[8, 5, 8, 5, 4, 9, 4, 9, 5, 9]);
    }

    #[test]
    fn remainders_are_summed_exactly() {
        let mut generator = crate::Taus88::new(7);
        for divisor in [2, 3, 7, 12, 4096, 1_048_577, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX] {
            let edges = [0, 1, divisor - 1, divisor, divisor.wrapping_mul(u32::MAX / divisor) - 1, u32::MAX];
            for _ in 0..1000 {
                let numbers: [u32; 12] = std::array::from_fn(|place| match edges.get(place) {
                    Some(&edge) => edge,
                    None => generator.next_u32(),
                });
                let sum = numbers.iter().map(|number| u64::from(number % divisor)).sum::<u64>();
                assert_eq!(NarrowDivisor::new(divisor).sum_of_remainders(numbers.map(u64::from)), sum);
            }
        }
    }

    #[test]
    fn every_draw_lies_in_the_range() {
        for blocks in [1, 2, 3, 5, 100, 1 << 32, 1 << 40, u64::MAX >> 12] {
            for seed in 0..20 {
                let samplers = [
                    Sampler::zipf(0.8, None, blocks, seed),
                    Sampler::zipf(1.2, Some(1.0), blocks, seed),
                    Sampler::pareto(0.9, None, blocks, seed),
                    Sampler::normal(99.0, Some(0.0), blocks, seed),
                    Sampler::normal(0.1, Some(1.0), blocks, seed),
                ];
                for mut sampler in samplers {
                    (0..100).for_each(|_| assert!(sampler.next() < blocks, "{sampler:?}"));
                }
            }
        }
    }

    #[test]
    fn normal_lies_around_its_middle() {
        for blocks in [1_000_000u64, 1 << 40] {
            let mut sampler = Sampler::normal(10.0, None, blocks, 5);
            let values: Vec<f64> = (0..50_000).map(|_| sampler.next_rank() as f64 / blocks as f64).collect();
            let mean = values.iter().sum::<f64>() / 50_000.0;
            let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 50_000.0).sqrt();
            assert!((mean - 0.5).abs() < 0.003, "{mean}");
            // The mean of twelve uniform numbers has a variance of 1/144: the deviation is a tenth of the range
            // times the root of 1/12, for a tenth.
            let expected = (1.0f64 / 144.0 + 0.01 / 12.0).sqrt();
            assert!((deviation - expected).abs() < 0.002, "{deviation} instead of {expected}");
        }
    }
}
