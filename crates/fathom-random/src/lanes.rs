//! taus88 in four SIMD lanes: the same numbers in the same order, each lane drawing its own stretch of them.
//!
//! Each number depends on the previous one, so a single stretch cannot use vectors. A lane begins where the previous lane ends;
//! the jump there is linear over GF(2) and is looked up in a table.

/// Number of lanes: as many 32-bit words as a vector of every x86-64 and AArch64 processor holds.
const LANES: usize = 4;

/// Numbers that a lane draws per batch.
const STRETCH: usize = 32;

/// Numbers drawn together.
pub(crate) const BATCH: usize = LANES * STRETCH;

/// A word of the state for each lane.
type Lanes = [u32; LANES];

/// Number of hexadecimal digits in a word of the state.
const DIGITS: usize = 8;

/// Recurrence of one word of the state.
pub(crate) struct Step {
    mask: u32,
    left: u32,
    inner: u32,
    right: u32,
}

/// The steps of the three words of taus88.
pub(crate) const STEPS: [Step; 3] = [
    Step { mask: !1, left: 12, inner: 13, right: 19 },
    Step { mask: !7, left: 4, inner: 2, right: 25 },
    Step { mask: !15, left: 17, inner: 3, right: 11 },
];

impl Step {
    #[inline(always)]
    pub(crate) const fn of(&self, word: u32) -> u32 {
        ((word & self.mask) << self.left) ^ (((word << self.inner) ^ word) >> self.right)
    }
}

/// Jump table: a word many steps later is the XOR of its hexadecimal digits, each that many steps later. Those are in
/// `STARTS[word][digit][value of the digit]`; lane `n` is `n` stretches later.
static STARTS: [[[Lanes; 16]; DIGITS]; 3] = {
    let mut starts = [[[[0; LANES]; 16]; DIGITS]; 3];
    let mut place = 0;
    while place < 3 * DIGITS * 16 {
        let (word, digit, value) = (place / (DIGITS * 16), place / 16 % DIGITS, place % 16);
        let mut state = (value as u32) << (4 * digit);
        let mut drawn = 0;
        while drawn < BATCH {
            if drawn % STRETCH == 0 {
                starts[word][digit][value][drawn / STRETCH] = state;
            }
            state = STEPS[word].of(state);
            drawn += 1;
        }
        place += 1;
    }
    starts
};

/// Draws numbers as fractions of 2^64; returns the state after the last.
#[inline(never)]
pub(crate) fn draw(state: [u32; 3], numbers: &mut [u64; BATCH]) -> [u32; 3] {
    // Each word has a separate loop, because the compiler does not vectorize one loop over all three.
    let mut sums = [[0; LANES]; STRETCH];
    let state = std::array::from_fn(|word| {
        let mut lanes = start(word, state[word]);
        for sum in &mut sums {
            lanes = std::array::from_fn(|lane| STEPS[word].of(lanes[lane]));
            *sum = std::array::from_fn(|lane| sum[lane] ^ lanes[lane]);
        }
        lanes[LANES - 1]
    });
    for (step, sum) in sums.iter().enumerate() {
        for (lane, &number) in sum.iter().enumerate() {
            numbers[lane * STRETCH + step] = u64::from(number) << 32;
        }
    }
    state
}

/// Initial value of a word in each lane.
#[inline(always)]
fn start(word: usize, value: u32) -> Lanes {
    let mut lanes = [0; LANES];
    for (digit, sums) in STARTS[word].iter().enumerate() {
        let sum = sums[(value >> (4 * digit)) as usize & 15];
        lanes = std::array::from_fn(|lane| lanes[lane] ^ sum[lane]);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SeedUse, Seeds, Taus88};

    #[test]
    fn numbers_and_states_are_those_of_single_steps() {
        for thread in 1..50 {
            let mut one_by_one = Seeds::new(0x89, thread).generator(SeedUse::Offset);
            let mut state = one_by_one.state();
            for _ in 0..4 {
                let mut numbers = [0; BATCH];
                state = draw(state, &mut numbers);
                let expected = numbers.map(|_| u64::from(one_by_one.next_u32()) << 32);
                assert_eq!((numbers, state), (expected, one_by_one.state()));
            }
        }
        let mut zero = Taus88::new(0);
        let mut numbers = [0; BATCH];
        draw(zero.state(), &mut numbers);
        assert_eq!(numbers[127] >> 32, u64::from((0..BATCH).map(|_| zero.next_u32()).last().unwrap_or(0)));
    }
}
