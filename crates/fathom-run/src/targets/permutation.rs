//! Visits every block exactly once, in random order, without storing which ones were visited.
//!
//! It is a keyed bijection of `0..2^bits`, composed of invertible steps. To restrict it to the blocks, it is
//! applied repeatedly until the value falls below the number of blocks ("cycle walking", as in
//! format-preserving encryption). It takes constant memory and needs no retries at the end of a pass.
//!
//! A round adds a key by xor, multiplies the value `x` by `2x + odd`, and folds the upper half of the bits into
//! the lower one. The product is a permutation modulo any power of two and, unlike a product with a constant,
//! makes each bit depend on all lower ones in a way that differs between values. Without the product, one key
//! in four gives an order with sequential stretches. Sources: R. Rivest, "Permutation polynomials modulo 2^w"
//! (2001), for the product, which the cipher RC6 is built on; J. Black and P. Rogaway, "Ciphers with arbitrary
//! finite domains" (2002), for the walk along the cycle.

use fathom_stats::split_mix::split_mix;

/// Number of mixing rounds. With three, the tests of order below cannot distinguish the result from a shuffled
/// list; with two they can, because some distances between consecutive blocks are too frequent.
const ROUNDS: usize = 3;

/// Number of blocks per batch; a batch of indices is on the stack.
const BATCH: usize = 64;

/// A permutation of `0..blocks`.
#[derive(Clone, Debug)]
pub struct Permutation {
    blocks: u64,
    position: u64,
    key: u64,
    first_key: u64,
    mask: u64,
    /// True if the mask has at most 32 bits. This is a separate field because a comparison at the point of use
    /// would let the compiler conclude that products need no truncation, and it would use 64-bit
    /// multiplications.
    is_narrow: bool,
    shift: u32,
    keys: [u64; ROUNDS],
    /// The odd constants of the rounds' products.
    terms: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..blocks` that this key selects; `blocks` must not be 0.
    pub fn new(blocks: u64, key: u64) -> Permutation {
        let bits = (64 - (blocks - 1).leading_zeros()).max(2);
        let mut permutation = Permutation {
            blocks,
            position: 0,
            key,
            first_key: key,
            mask: if bits == 64 { u64::MAX } else { (1 << bits) - 1 },
            is_narrow: bits <= 32,
            shift: bits.div_ceil(2),
            keys: [0; ROUNDS],
            terms: [1; ROUNDS],
        };
        permutation.rekey(key);
        permutation
    }

    /// Restarts with the order of another key.
    pub fn rekey(&mut self, key: u64) {
        self.key = key;
        let mut state = key;
        for round in 0..ROUNDS {
            self.keys[round] = split_mix(&mut state) & self.mask;
            self.terms[round] = split_mix(&mut state) | 1;
        }
        self.position = 0;
    }

    /// Restarts with the first order, or with a new one derived from the last.
    pub fn restart(&mut self, again: bool) {
        self.rekey(if again { self.first_key } else { self.key.wrapping_add(1) });
    }

    /// The next block; `None` once each block has been returned.
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

    /// Lists the next blocks; returns their number (0 once each block has been returned).
    pub fn fill(&mut self, blocks: &mut [u64]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor supports these vector instructions.
            return unsafe { self.fill_in_wide_vectors(blocks) };
        }
        self.fill_in_vectors(blocks)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn fill_in_wide_vectors(&mut self, blocks: &mut [u64]) -> usize {
        self.fill_in_vectors(blocks)
    }

    #[inline(always)]
    fn fill_in_vectors(&mut self, blocks: &mut [u64]) -> usize {
        let left = usize::try_from(self.blocks - self.position).unwrap_or(usize::MAX);
        let count = left.min(blocks.len());
        for batch in blocks[..count].chunks_mut(BATCH) {
            let position = self.position;
            self.position += batch.len() as u64;
            if self.step_all(batch, |index, _| position + index as u64) {
                self.walk_on(batch);
            }
        }
        count
    }

    /// Steps values that are too large until all values are below the number of blocks. Which values are too
    /// large is unpredictable, so these are gathered without a branch and stepped together.
    #[inline(never)]
    fn walk_on(&self, batch: &mut [u64]) {
        let (mut places, mut values) = ([0u8; BATCH], [0u64; BATCH]);
        let mut count = 0;
        for (index, &value) in batch.iter().enumerate() {
            places[count] = index as u8;
            count += usize::from(value >= self.blocks);
        }
        while count > 0 {
            for (value, &place) in values.iter_mut().zip(&places[..count]) {
                *value = batch[usize::from(place)];
            }
            self.step_all(&mut values[..count], |_, value| value);
            let walking = std::mem::take(&mut count);
            for number in 0..walking {
                let (place, value) = (places[number], values[number]);
                batch[usize::from(place)] = value;
                places[count] = place;
                count += usize::from(value >= self.blocks);
            }
        }
    }

    /// Fills the slice with one step of each input; true if a result may be beyond the number of blocks.
    #[inline(always)]
    fn step_all(&self, values: &mut [u64], from: impl Fn(usize, u64) -> u64) -> bool {
        // A local copy keeps the keys in registers.
        let this = self.clone();
        let last = this.blocks - 1;
        // The comparison uses the sign of the difference, as vector instructions provide it. This is not valid
        // for numbers that use all 64 bits.
        let mut signs = last;
        match this.is_narrow {
            true => values.iter_mut().enumerate().for_each(|(index, value)| {
                *value = this.step_narrow(from(index, *value));
                signs |= last.wrapping_sub(*value);
            }),
            false => values.iter_mut().enumerate().for_each(|(index, value)| {
                *value = this.step(from(index, *value));
                signs |= last.wrapping_sub(*value);
            }),
        }
        signs >> 63 != 0
    }

    /// One application of the bijection of `0..=mask`.
    #[inline(always)]
    fn step(&self, mut value: u64) -> u64 {
        for round in 0..ROUNDS {
            value ^= self.keys[round];
            value = value.wrapping_mul(value.wrapping_add(value).wrapping_add(self.terms[round])) & self.mask;
            value ^= value >> self.shift;
        }
        value
    }

    /// Like `step`, for values below 2^32, where only the lower halves of the factors matter: every processor
    /// has vector instructions for such products.
    #[inline(always)]
    fn step_narrow(&self, mut value: u64) -> u64 {
        let low = |number: u64| number & u64::from(u32::MAX);
        for round in 0..ROUNDS {
            value ^= self.keys[round];
            let factor = value.wrapping_add(value).wrapping_add(self.terms[round]);
            value = low(value).wrapping_mul(low(factor)) & self.mask;
            value ^= value >> self.shift;
        }
        value
    }
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
            let mut listed = vec![0; blocks as usize + 1];
            prop_assert_eq!(permutation.clone().fill(&mut listed), blocks as usize);
            for one in &listed[..blocks as usize] {
                let block = permutation.next();
                prop_assert_eq!(block, Some(*one));
                prop_assert!(!std::mem::replace(&mut seen[*one as usize], true));
            }
            prop_assert_eq!(permutation.next(), None);
        }
    }

    /// Inverts a product: the value that yields it, modulo 2^64. A bit of the value affects the same bit of the
    /// product but no lower one, so the bits can be found one after the other.
    fn factor_of(product: u64, term: u64) -> u64 {
        let of = |value: u64| value.wrapping_mul(value.wrapping_add(value).wrapping_add(term));
        (0..64).fold(0, |value, bit| value | ((of(value) ^ product) & (1 << bit)))
    }

    /// The position of a block in the order, found by inverting every step of the permutation.
    fn position_of(permutation: &Permutation, block: u64) -> u64 {
        let step_back = |mut value: u64| {
            for round in (0..ROUNDS).rev() {
                // The shift is at least half of the bits, so the upper half is unchanged.
                value ^= value >> permutation.shift;
                value = factor_of(value, permutation.terms[round]) & permutation.mask;
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
        // An invertible step never returns a block twice, regardless of the number of blocks. This is tested
        // instead of listing the blocks, because 2^40 blocks are too many to list.
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
    fn listed_blocks_are_those_that_come_one_by_one() {
        // These sizes are around those at which a step needs another bit or its products no longer fit into 32
        // bits.
        for bits in [3, 7, 31, 32, 33, 63] {
            for blocks in [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1, 3 << (bits - 1)] {
                let mut permutation = Permutation::new(blocks, blocks ^ 0xf111);
                permutation.position = blocks - blocks.min(1000);
                let mut listed = [0; 1000];
                let count = permutation.clone().fill(&mut listed);
                let one_by_one: Vec<u64> = std::iter::from_fn(|| permutation.next()).collect();
                assert_eq!(listed[..count], one_by_one, "{blocks} blocks");
            }
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_blocks() {
        // The permutation owns no memory besides the value itself, so dropping it is free.
        assert!(!std::mem::needs_drop::<Permutation>());
    }
}
