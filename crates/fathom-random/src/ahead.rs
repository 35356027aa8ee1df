//! Random numbers drawn in batches.

use crate::Generator;
use crate::lanes::BATCH as DRAWN;

/// The numbers of a generator in sequence. They are drawn in batches, several together in the lanes of a
/// vector, and callers can examine the next numbers before they use them.
#[derive(Clone, Debug)]
pub struct DrawnAhead {
    /// The batch, as fractions of 2^64.
    drawn: [u64; DRAWN],
    used: usize,
    /// The generator's state before and after the batch.
    before: Generator,
    after: Generator,
    /// The generator's initial state.
    beginning: Generator,
}

impl DrawnAhead {
    /// The numbers of this generator.
    pub fn new(generator: Generator) -> DrawnAhead {
        let (before, after) = (generator.clone(), generator.clone());
        DrawnAhead { drawn: [0; DRAWN], used: DRAWN, before, after, beginning: generator }
    }

    /// The next number, as a fraction of 2^64; 32-bit numbers are in the upper half.
    #[inline(always)]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        if self.is_used_up() {
            self.draw();
        }
        let number = self.drawn[self.used & (DRAWN - 1)];
        self.used += 1;
        number
    }

    /// The next numbers, at most one batch.
    #[inline(always)]
    pub fn next_of<const COUNT: usize>(&mut self) -> [u64; COUNT] {
        match self.drawn[self.used..].first_chunk() {
            Some(numbers) => {
                self.used += COUNT;
                *numbers
            }
            None => self.next_of_two_batches(),
        }
    }

    #[inline(never)]
    fn next_of_two_batches<const COUNT: usize>(&mut self) -> [u64; COUNT] {
        const { assert!(COUNT <= DRAWN) }
        let (mut numbers, rest) = ([0; COUNT], &self.drawn[self.used..]);
        let (first, second) = numbers.split_at_mut(rest.len());
        first.copy_from_slice(rest);
        self.draw();
        self.used = second.len();
        second.copy_from_slice(&self.drawn[..self.used]);
        numbers
    }

    /// The next numbers of the batch, without using them; at least one.
    #[inline(always)]
    pub fn peek(&mut self) -> &[u64] {
        if self.is_used_up() {
            self.draw();
        }
        &self.drawn[self.used..]
    }

    /// Uses the next numbers after they have been examined.
    #[inline(always)]
    pub fn skip(&mut self, count: usize) {
        debug_assert!(
            self.used + count <= DRAWN,
            "{count} numbers are skipped after {} of a batch",
            self.used
        );
        self.used += count;
    }

    /// Returns the last `count` numbers, all from one batch, so that they come next again.
    pub fn put_back(&mut self, count: usize) {
        assert!(count <= self.used, "{count} numbers are put back of {} of a batch", self.used);
        self.used -= count;
    }

    /// True if the next number has not been drawn yet.
    #[inline(always)]
    pub fn is_used_up(&self) -> bool {
        self.used == DRAWN
    }

    /// Draws and returns the next batch; unused numbers are lost.
    #[inline(never)]
    pub fn draw(&mut self) -> &[u64; DRAWN] {
        self.before.clone_from(&self.after);
        match &mut self.after {
            Generator::Bits32(generator) => generator.fill(&mut self.drawn),
            Generator::Bits64(generator) => self.drawn.fill_with(|| generator.next_u64()),
        }
        self.used = 0;
        &self.drawn
    }

    /// Restarts with the first number.
    pub fn rewind(&mut self) {
        self.after.clone_from(&self.beginning);
        self.used = DRAWN;
    }

    /// The generator's state words as if only the used numbers had been drawn, and whether they have 64 bits.
    pub fn state(&self) -> (Vec<u64>, bool) {
        self.state_without(0)
    }

    /// The state as if the last `unused` numbers, all from one batch, had not been drawn either.
    pub fn state_without(&self, unused: usize) -> (Vec<u64>, bool) {
        if self.used == DRAWN && unused == 0 {
            return self.after.state();
        }
        let mut generator = self.before.clone();
        (unused..self.used).for_each(|_| _ = generator.below(1));
        generator.state()
    }
}

/// Scales a fraction of 2^64 to `0..end`.
#[inline(always)]
pub fn part_below(fraction: u64, end: u64) -> u64 {
    ((u128::from(end) * u128::from(fraction)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_states_are_those_of_the_generator() {
        for has_64_bits in [false, true] {
            let first = Generator::new(0x89, has_64_bits);
            let (mut generator, mut ahead) = (first.clone(), DrawnAhead::new(first.clone()));
            for count in 1..400 {
                let before = generator.state();
                assert_eq!(part_below(ahead.next(), 1000), generator.below(1000));
                assert_eq!(ahead.state_without(1), before, "{count}");
                assert_eq!(ahead.state(), generator.state(), "{count}");
            }
            // Some of these span two batches.
            for _ in 0..100 {
                let expected = [(); 12].map(|()| generator.below(1 << 32));
                assert_eq!(ahead.next_of::<12>().map(|number| part_below(number, 1 << 32)), expected);
            }
            for _ in 0..100 {
                let examined = ahead.peek().len().min(9);
                let expected: Vec<u64> = ahead.peek()[..examined].to_vec();
                ahead.skip(examined);
                ahead.put_back(examined / 2);
                let used = examined - examined / 2;
                for &number in &expected[..used] {
                    assert_eq!(part_below(number, 1000), generator.below(1000));
                }
                assert_eq!(ahead.state(), generator.state());
            }
            ahead.rewind();
            assert_eq!(ahead.state(), first.state());
            assert_eq!(part_below(ahead.next(), 1 << 40), first.clone().below(1 << 40));
        }
    }
}
