//! How long each I/O is.

use crate::plan::model::lengths::{LengthRule, WeightedSize};
use crate::random::Generator;

impl LengthRule {
    /// A weighted choice. The entries are tried from the smallest share to the largest, as fio does, so that a seed gives
    /// the same lengths.
    pub fn split(mut list: Vec<WeightedSize>) -> LengthRule {
        list.sort_by_key(|entry| entry.percent);
        LengthRule::Split(list)
    }

    /// Smallest length that the rule gives.
    pub fn min(&self) -> u64 {
        match self {
            LengthRule::Fixed(size) => *size,
            LengthRule::Range { min, .. } => *min,
            LengthRule::Split(list) => list.iter().map(|entry| entry.size).min().unwrap_or(1),
        }
    }

    /// Largest length that the rule gives.
    pub fn max(&self) -> u64 {
        match self {
            LengthRule::Fixed(size) => *size,
            LengthRule::Range { max, .. } => *max,
            LengthRule::Split(list) => list.iter().map(|entry| entry.size).max().unwrap_or(1),
        }
    }

    /// Draws a length of at most `room` bytes; `None` when even the smallest does not fit.
    #[inline]
    pub fn draw(&self, room: u64, generator: &mut Generator) -> Option<u64> {
        match self {
            LengthRule::Fixed(size) => (*size <= room).then_some(*size),
            LengthRule::Range { min, max, unaligned } => draw_range(*min, *max, *unaligned, room, generator),
            LengthRule::Split(list) => draw_split(list, room, generator),
        }
    }
}

/// `min + max * r`, `r` from 0 to 1, cut to a multiple of `min` and limited to `max`: the largest length comes up more often than
/// the others. That is what fio gives, and sequences of the same seed must agree.
fn draw_range(min: u64, max: u64, unaligned: bool, room: u64, generator: &mut Generator) -> Option<u64> {
    if min > room {
        return None;
    }
    loop {
        let mut length = (min + generator.below(max)).min(max);
        if !unaligned {
            length -= length % min;
        }
        if length <= room {
            return Some(length);
        }
    }
}

fn draw_split(list: &[WeightedSize], room: u64, generator: &mut Generator) -> Option<u64> {
    // A product in place of a quotient: that would cost more than all the rest of a draw.
    match generator {
        Generator::Bits32(generator) => {
            let max = u64::from(u32::MAX);
            let is_within = |random: u64, percent: u64| random * 100 <= max * percent;
            choose(list, room, || u64::from(generator.next_u32()), is_within)
        }
        Generator::Bits64(generator) => {
            let max = u128::from(u64::MAX);
            let is_within = |random: u64, percent: u64| u128::from(random) * 100 <= max * u128::from(percent);
            choose(list, room, || generator.next_u64(), is_within)
        }
    }
}

/// Draws until a size fits: that of the first entry whose share, and those before it, a random number is within.
#[inline(always)]
fn choose(
    list: &[WeightedSize],
    room: u64,
    mut draw: impl FnMut() -> u64,
    is_within: impl Fn(u64, u64) -> bool,
) -> Option<u64> {
    if !list.iter().any(|entry| entry.size <= room && entry.percent > 0) {
        return None;
    }
    loop {
        let random = draw();
        let mut cumulative = 0;
        for entry in list {
            cumulative += u64::from(entry.percent);
            if is_within(random, cumulative) && entry.size <= room && entry.percent > 0 {
                return Some(entry.size);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{SeedUse, Seeds};
    use proptest::prelude::*;

    fn golden(rule: &LengthRule) -> Vec<u64> {
        let mut generator = Generator::new(Seeds::new(0x89, 1).get(SeedUse::BlockSizeRead), false);
        (0..8).map(|_| rule.draw(4 << 20, &mut generator).expect("fits") / 4096).collect()
    }

    #[test]
    fn golden_lengths() {
        let range = LengthRule::Range { min: 4096, max: 65536, unaligned: false };
        assert_eq!(golden(&range), [3, 11, 13, 6, 15, 2, 16, 3]);
        let split = [(4096, 50), (8192, 30), (16384, 20)];
        let split = LengthRule::split(Vec::from(split.map(|(size, percent)| WeightedSize { size, percent })));
        assert_eq!(golden(&split), [4, 1, 1, 2, 1, 4, 1, 4]);
    }

    proptest! {
        #[test]
        fn a_length_fits_and_obeys_the_rule(min in 1u64..10_000, span in 0u64..100_000, room in 1u64..200_000, seed in any::<u64>(), has_64_bits in any::<bool>()) {
            let rule = LengthRule::Range { min, max: min + span, unaligned: false };
            let length = rule.draw(room, &mut Generator::new(seed, has_64_bits));
            prop_assert_eq!(length.is_some(), min <= room);
            if let Some(length) = length {
                prop_assert!(length <= room && length >= min && length <= min + span && length % min == 0);
            }
        }
    }
}
