//! Every block exactly once, in random order, without remembering any of them.
//!
//! A keyed bijection of `0..2^bits` built from steps that can each be undone (multiplication by an odd number, xor with a
//! right shift of itself), walked along its cycle until the value falls below the number of blocks: a
//! format-preserving permutation. Constant memory, no retries at the end of a pass. Source: J. Black and P. Rogaway,
//! "Ciphers with arbitrary finite domains" (2002) for cycle walking.

use crate::random::HASH_FACTOR;

/// Rounds of mixing. Two pass the tests of uniformity below; one does not.
const ROUNDS: usize = 2;

/// A permutation of `0..blocks`.
#[derive(Clone, Debug)]
pub struct Permutation {
    blocks: u64,
    position: u64,
    key: u64,
    mask: u64,
    shift: u32,
    keys: [u64; ROUNDS],
    factors: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..blocks` that this key selects; `blocks` must not be 0.
    pub fn new(blocks: u64, key: u64) -> Permutation {
        let bits = (64 - (blocks - 1).leading_zeros()).max(2);
        let mut permutation = Permutation {
            blocks,
            position: 0,
            key,
            mask: if bits == 64 { u64::MAX } else { (1 << bits) - 1 },
            shift: bits.div_ceil(2),
            keys: [0; ROUNDS],
            factors: [1; ROUNDS],
        };
        permutation.rekey(key);
        permutation
    }

    /// Starts over with the order that another key selects.
    pub fn rekey(&mut self, key: u64) {
        self.key = key;
        let mut state = key;
        for round in 0..ROUNDS {
            self.keys[round] = split_mix(&mut state) & self.mask;
            self.factors[round] = split_mix(&mut state) | 1;
        }
        self.position = 0;
    }

    /// Starts over: in the same order, or in another that follows from it.
    pub fn restart(&mut self, again: bool) {
        match again {
            true => self.position = 0,
            false => self.rekey(self.key.wrapping_add(1)),
        }
    }

    /// The next block, or `None` when each has been given once.
    #[inline(always)]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<u64> {
        if self.position == self.blocks {
            return None;
        }
        let mut value = self.position;
        self.position += 1;
        loop {
            value = self.step(value);
            if value < self.blocks {
                return Some(value);
            }
        }
    }

    /// Lists the next blocks; returns how many there are (0 when each has been given once).
    #[inline(never)]
    pub fn fill(&mut self, blocks: &mut [u64]) -> usize {
        let left = usize::try_from(self.blocks - self.position).unwrap_or(usize::MAX);
        let count = left.min(blocks.len());
        // A copy, so that the state stays in registers.
        let this = self.clone();
        for (place, position) in blocks[..count].iter_mut().zip(this.position..) {
            let mut value = this.step(position);
            while value >= this.blocks {
                value = this.step(value);
            }
            *place = value;
        }
        self.position += count as u64;
        count
    }

    /// One application of the bijection of `0..=mask`.
    #[inline(always)]
    fn step(&self, mut value: u64) -> u64 {
        for round in 0..ROUNDS {
            value = (value ^ self.keys[round]).wrapping_mul(self.factors[round]) & self.mask;
            value ^= value >> self.shift;
        }
        value
    }
}

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(HASH_FACTOR.wrapping_neg());
    let mut value = *state;
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_block_exactly_once(blocks in 1u64..5000, key in any::<u64>()) {
            let mut permutation = Permutation::new(blocks, key);
            let mut seen = vec![false; blocks as usize];
            while let Some(block) = permutation.next() {
                prop_assert!(!std::mem::replace(&mut seen[block as usize], true));
            }
            prop_assert!(seen.iter().all(|&s| s));
        }
    }

    #[test]
    fn order_looks_uniform() {
        // Chi-square over 64 cells of the first 64k blocks out of 2^28: 63 degrees of freedom, 0.1 % limit 103.4.
        for key in 1..20u64 {
            let mut permutation = Permutation::new(1 << 28, key);
            let mut cells = [0u32; 64];
            for _ in 0..65536 {
                cells[(permutation.next().expect("not exhausted") >> 22) as usize] += 1;
            }
            let chi: f64 = cells.iter().map(|&c| (f64::from(c) - 1024.0).powi(2) / 1024.0).sum();
            assert!(chi < 120.0, "key {key}: {chi}");
        }
    }

    #[test]
    fn neighbours_in_time_are_not_neighbours_in_place() {
        let mut permutation = Permutation::new(1 << 20, 7);
        let order: Vec<u64> = std::iter::from_fn(|| permutation.next()).take(100_000).collect();
        let adjacent = order.windows(2).filter(|w| w[0].abs_diff(w[1]) < 16).count();
        // Expected for a uniform order: 100000 * 31 / 2^20 = 3.
        assert!(adjacent < 30, "{adjacent}");
        let ascending = order.windows(2).filter(|w| w[0] < w[1]).count();
        assert!((45_000..55_000).contains(&ascending), "{ascending}");
    }

    /// The inverse of an odd factor modulo 2^64, by Newton's iteration.
    fn inverse(factor: u64) -> u64 {
        (0..6)
            .fold(factor, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(inverse))))
    }

    /// The position at which a block comes: every step of the permutation undone.
    fn position_of(permutation: &Permutation, block: u64) -> u64 {
        let step_back = |mut value: u64| {
            for round in (0..ROUNDS).rev() {
                // The shift is at least half of the bits, so that the upper half is as it was.
                value ^= value >> permutation.shift;
                value = value.wrapping_mul(inverse(permutation.factors[round])) & permutation.mask;
                value ^= permutation.keys[round];
            }
            value
        };
        let mut value = step_back(block);
        while value >= permutation.blocks {
            value = step_back(value);
        }
        value
    }

    #[test]
    fn every_position_can_be_found_from_its_block() {
        // What can be undone gives no block twice, however many there are; 2^40 blocks cannot be listed.
        let sizes = (0..=40).flat_map(|bits| {
            let power = 1u64 << bits;
            [power, power + 1, power * 3 / 2]
        });
        for blocks in sizes.filter(|&blocks| blocks > 0) {
            let mut permutation = Permutation::new(blocks, blocks ^ 0x5eed);
            for sample in 0..500u64 {
                let position = (u128::from(blocks) * u128::from(sample) / 500) as u64;
                permutation.position = position;
                let block = permutation.next().expect("a block for each position");
                assert!(block < blocks);
                assert_eq!(position_of(&permutation, block), position, "{blocks} blocks");
            }
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_blocks() {
        // All of it lies in the value itself, which owns nothing: it can be forgotten without a trace.
        assert!(!std::mem::needs_drop::<Permutation>());
    }
}
