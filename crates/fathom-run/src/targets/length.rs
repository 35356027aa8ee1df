//! Lengths of I/Os.

use crate::plan::model::lengths::{LengthRule, WeightedSize};
use crate::random::{DrawnAhead, Generator, part_below};
use std::hint::select_unpredictable;
use strength_reduce::StrengthReducedU64;

impl LengthRule {
    /// A weighted choice. Entries are tried from the smallest share to the largest, as in fio, so that a seed
    /// yields the same lengths. The entry with the largest share gets the remainder.
    pub fn split(mut list: Vec<WeightedSize>) -> LengthRule {
        list.sort_by_key(|entry| entry.percent);
        let sum: u32 = list.iter().map(|entry| entry.percent).sum();
        if let Some(last) = list.last_mut() {
            last.percent += 100u32.saturating_sub(sum);
        }
        LengthRule::Split(list)
    }

    /// Smallest possible length.
    pub fn min(&self) -> u64 {
        match self {
            LengthRule::Fixed(size) => *size,
            LengthRule::Range { min, .. } => *min,
            LengthRule::Split(list) => list.iter().map(|entry| entry.size).min().unwrap_or(1),
        }
    }

    /// Mean of the lengths, at least 1.
    pub(crate) fn mean(&self) -> f64 {
        let mean = match self {
            LengthRule::Fixed(size) => *size as f64,
            LengthRule::Range { min, max, unaligned: true } => (*min as f64 + *max as f64) / 2.0,
            // All multiples of the smallest length are equally likely.
            LengthRule::Range { min, max, unaligned: false } => {
                *min as f64 * (1.0 + (max / (*min).max(1)) as f64) / 2.0
            }
            LengthRule::Split(list) => {
                let percent: f64 = list.iter().map(|entry| f64::from(entry.percent)).sum();
                let bytes: f64 = list.iter().map(|entry| entry.size as f64 * f64::from(entry.percent)).sum();
                bytes / percent.max(1.0)
            }
        };
        mean.max(1.0)
    }

    /// Largest possible length.
    pub fn max(&self) -> u64 {
        match self {
            LengthRule::Fixed(size) => *size,
            LengthRule::Range { max, .. } => *max,
            LengthRule::Split(list) => list.iter().map(|entry| entry.size).max().unwrap_or(1),
        }
    }
}

/// Draws the lengths of one direction.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    draw: Draw,
    /// Smallest length that can be drawn.
    least: u64,
    /// Length to return if not even the smallest one fits.
    smallest: u64,
    numbers: DrawnAhead,
}

/// A rule in precomputed form, because a division per draw would cost more than the rest of the draw.
#[derive(Clone, Debug)]
enum Draw {
    Fixed(u64),
    /// Multiples of `step`, between two lengths.
    Range {
        min: u64,
        max: u64,
        step: StrengthReducedU64,
    },
    /// Sizes, each with the largest random number that selects the size.
    Split(Vec<(u64, u64)>),
}

impl Lengths {
    /// Draws lengths by this rule from this generator.
    pub(super) fn new(rule: &LengthRule, generator: Generator) -> Lengths {
        let draw = match rule {
            LengthRule::Fixed(length) => Draw::Fixed(*length),
            LengthRule::Range { min, max, unaligned } => {
                let step = if *unaligned { 1 } else { (*min).max(1) };
                Draw::Range { min: *min, max: *max, step: StrengthReducedU64::new(step) }
            }
            LengthRule::Split(list) => Draw::Split(sizes_by_number(list, &generator)),
        };
        let least = match &draw {
            Draw::Split(sizes) => sizes.iter().map(|(_, size)| *size).min().unwrap_or(u64::MAX),
            _ => rule.min(),
        };
        Lengths { draw, least, smallest: rule.min(), numbers: DrawnAhead::new(generator) }
    }

    /// Restarts with the first length.
    pub(super) fn rewind(&mut self) {
        self.numbers.rewind();
    }

    /// Draws a length of at most `room` bytes; `None` if even the smallest does not fit.
    #[inline(always)]
    pub(super) fn draw(&mut self, room: u64) -> Option<u64> {
        if self.least > room {
            return None;
        }
        Some(match &self.draw {
            Draw::Fixed(length) => *length,
            Draw::Range { min, max, step } => draw_range(*min, *max, *step, room, &mut self.numbers),
            Draw::Split(sizes) => draw_split(sizes, room, &mut self.numbers),
        })
    }

    /// Computes the next lengths, provided that the largest length fits; returns their number. They count as
    /// drawn only when they are [used](Lengths::use_foreseen).
    #[inline(always)]
    pub(super) fn foresee(&mut self, lengths: &mut [u32]) -> usize {
        if let Draw::Fixed(length) = &self.draw {
            lengths.fill(*length as u32);
            return lengths.len();
        }
        let numbers = self.numbers.peek();
        let count = numbers.len().min(lengths.len());
        let (numbers, lengths) = (&numbers[..count], &mut lengths[..count]);
        match &self.draw {
            Draw::Fixed(_) => {}
            Draw::Range { min, max, step } => {
                for (length, &number) in lengths.iter_mut().zip(numbers) {
                    *length = range_length(*min, *max, *step, number) as u32;
                }
            }
            Draw::Split(sizes) => foresee_split(sizes, numbers, lengths),
        }
        count
    }

    /// Counts the next lengths as drawn.
    #[inline(always)]
    pub(super) fn use_foreseen(&mut self, count: usize) {
        if !matches!(self.draw, Draw::Fixed(_)) {
            self.numbers.skip(count);
        }
    }

    /// Returns the last of the lengths that were computed together; they are drawn again later.
    pub(super) fn put_back(&mut self, count: usize) {
        if !matches!(self.draw, Draw::Fixed(_)) {
            self.numbers.put_back(count);
        }
    }

    /// Like [`draw`](Lengths::draw); returns `room` if even the smallest does not fit.
    #[inline(always)]
    pub(super) fn draw_or_fill(&mut self, room: u64) -> u64 {
        self.draw(room).unwrap_or(self.smallest.min(room))
    }
}

/// `min + max * r`, `r` from 0 to 1, rounded down to a multiple of `min` and limited to `max`: the largest
/// length is more likely than the others. fio computes lengths the same way, and a seed must yield fio's
/// sequence.
#[inline(always)]
fn draw_range(min: u64, max: u64, step: StrengthReducedU64, room: u64, numbers: &mut DrawnAhead) -> u64 {
    loop {
        let length = range_length(min, max, step, numbers.next());
        if length <= room {
            return length;
        }
    }
}

#[inline(always)]
fn range_length(min: u64, max: u64, step: StrengthReducedU64, number: u64) -> u64 {
    let drawn = min + part_below(number, max);
    // The selection avoids a branch, which would be unpredictable.
    let length = select_unpredictable(drawn > max, max, drawn);
    length - length % step
}

/// Draws until a size fits; a draw selects the first entry whose cumulative share includes the random number.
#[inline(always)]
fn draw_split(sizes: &[(u64, u64)], room: u64, numbers: &mut DrawnAhead) -> u64 {
    loop {
        let drawn = numbers.next();
        // The entries are counted rather than searched, because the end of a search would be an unpredictable
        // branch.
        let first = sizes.iter().map(|(most, _)| usize::from(drawn > *most)).sum::<usize>();
        let mut possible = sizes[first.min(sizes.len())..].iter().map(|(_, size)| *size);
        // Usually the first possible size fits.
        if let Some(size) = possible.next()
            && size <= room
        {
            return size;
        }
        if let Some(size) = possible.find(|size| *size <= room) {
            return size;
        }
    }
}

/// Looks up the sizes for these random numbers, all of which fit.
// The loop uses an index, because some builds turn an iterator over two slices into a call.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn foresee_split(sizes: &[(u64, u64)], numbers: &[u64], lengths: &mut [u32]) {
    // The shares together cover every random number, so the last entry is the default.
    let Some(((_, last), others)) = sizes.split_last() else { return };
    lengths.fill(*last as u32);
    // Entries are compared from last to first, so that the first one whose share includes the number remains.
    for (most, size) in others.iter().rev() {
        for place in 0..lengths.len().min(numbers.len()) {
            lengths[place] = select_unpredictable(numbers[place] <= *most, *size as u32, lengths[place]);
        }
    }
}

/// The possible sizes, each with the largest fraction of 2^64 within its cumulative share.
fn sizes_by_number(list: &[WeightedSize], generator: &Generator) -> Vec<(u64, u64)> {
    let max: u128 = match generator {
        Generator::Bits32(_) => u32::MAX.into(),
        Generator::Bits64(_) => u64::MAX.into(),
    };
    let mut percent = 0;
    let some = list.iter().filter(|entry| entry.percent > 0);
    some.map(|entry| {
        percent += u128::from(entry.percent);
        let most = (max * percent / 100).min(max) as u64;
        // A 32-bit random number is the upper half of the fraction.
        let most = if max == u128::from(u32::MAX) { most << 32 } else { most };
        (most, entry.size)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{SeedUse, Seeds};
    use proptest::prelude::*;

    fn golden(rule: &LengthRule) -> Vec<u64> {
        let generator = Generator::new(Seeds::new(0x89, 1).get(SeedUse::BlockSizeRead), false);
        let mut lengths = Lengths::new(rule, generator);
        (0..8).map(|_| lengths.draw(4 << 20).expect("fits") / 4096).collect()
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
            let length = Lengths::new(&rule, Generator::new(seed, has_64_bits)).draw(room);
            prop_assert_eq!(length.is_some(), min <= room);
            if let Some(length) = length {
                prop_assert!(length <= room && length >= min && length <= min + span && length % min == 0);
            }
        }
    }
}
