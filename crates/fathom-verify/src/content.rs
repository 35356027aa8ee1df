//! Content of blocks: reproducible random bytes, and patterns.

use fathom_random::HASH_FACTOR;
use serde::{Deserialize, Serialize};

/// Fills a buffer with random bytes from one seed: four lanes of 64-bit words, each multiplied after use.
pub fn fill_random(buffer: &mut [u8], seed: u64) {
    let mut lanes = [1u64, 2, 3, 5].map(|factor| seed.wrapping_mul(factor));
    let mut chunks = buffer.chunks_exact_mut(32);
    for chunk in &mut chunks {
        for (word, lane) in chunk.chunks_exact_mut(8).zip(&mut lanes) {
            word.copy_from_slice(&lane.to_le_bytes());
            *lane = lane.wrapping_mul(HASH_FACTOR);
        }
    }
    // The remainder of the buffer continues the first lane.
    for rest in chunks.into_remainder().chunks_mut(8) {
        rest.copy_from_slice(&lanes[0].to_le_bytes()[..rest.len()]);
        lanes[0] = lanes[0].wrapping_mul(HASH_FACTOR);
    }
}

/// Fills a buffer with the part from byte `from` on of the `total` bytes of [`fill_random`], without computing
/// the bytes before it.
pub fn fill_random_part(part: &mut [u8], seed: u64, from: usize, total: usize) {
    const ROW: usize = 32;
    let (first, end) = (from / ROW * ROW, from + part.len());
    let ahead = power_of_factor((first / ROW) as u64);
    let mut lanes = [1u64, 2, 3, 5].map(|factor| seed.wrapping_mul(factor).wrapping_mul(ahead));
    let mut put = |at: usize, bytes: &[u8]| {
        let (start, stop) = (at.max(from), (at + bytes.len()).min(end));
        if start < stop {
            part[start - from..stop - from].copy_from_slice(&bytes[start - at..stop - at]);
        }
    };
    let whole_rows = total / ROW * ROW;
    let mut at = first;
    while at < end.min(whole_rows) {
        for (index, lane) in lanes.iter_mut().enumerate() {
            put(at + index * 8, &lane.to_le_bytes());
            *lane = lane.wrapping_mul(HASH_FACTOR);
        }
        at += ROW;
    }
    while at < end {
        put(at, &lanes[0].to_le_bytes());
        lanes[0] = lanes[0].wrapping_mul(HASH_FACTOR);
        at += 8;
    }
}

/// Returns a power of [`HASH_FACTOR`], modulo 2^64.
fn power_of_factor(mut exponent: u64) -> u64 {
    let (mut result, mut square) = (1u64, HASH_FACTOR);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    result
}

/// A pattern; `offset_places` are the positions of 8-byte offsets within it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Positions of offsets, each of which has 8 bytes in little-endian order.
    pub offset_places: Vec<usize>,
}

impl Pattern {
    /// Fills a buffer with repetitions of the pattern. Offsets keep their value in [`bytes`](Pattern::bytes).
    pub fn repeat(&self, buffer: &mut [u8]) {
        if self.bytes.is_empty() {
            return;
        }
        for chunk in buffer.chunks_mut(self.bytes.len()) {
            chunk.copy_from_slice(&self.bytes[..chunk.len()]);
        }
    }

    /// Returns the same pattern with at least `length` bytes, which is faster to fill and compare, if all
    /// offsets in it are the same.
    pub fn extended_to(&self, length: usize) -> Pattern {
        if self.bytes.is_empty() {
            return self.clone();
        }
        let times = length.div_ceil(self.bytes.len()).max(1);
        let starts = (0..times).map(|index| index * self.bytes.len());
        Pattern {
            bytes: self.bytes.repeat(times),
            offset_places: starts
                .flat_map(|start| self.offset_places.iter().map(move |place| start + place))
                .collect(),
        }
    }

    /// Writes offsets into a buffer that holds the pattern; `value_at` returns the offset for the repetition at
    /// a byte.
    pub fn place_offsets(&self, buffer: &mut [u8], value_at: impl Fn(u64) -> u64) {
        if self.offset_places.is_empty() || self.bytes.is_empty() {
            return;
        }
        for (index, chunk) in buffer.chunks_mut(self.bytes.len()).enumerate() {
            let value = value_at((index * self.bytes.len()) as u64).to_le_bytes();
            for &place in &self.offset_places {
                let room = chunk.len().saturating_sub(place).min(8);
                if room > 0 {
                    chunk[place..place + room].copy_from_slice(&value[..room]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_part_is_that_of_the_whole(total in 0usize..300, cut in any::<(usize, usize)>(), seed in any::<u64>()) {
            let mut whole = vec![0; total];
            fill_random(&mut whole, seed);
            let (one, other) = (cut.0 % (total + 1), cut.1 % (total + 1));
            let (from, to) = (one.min(other), one.max(other));
            let mut part = vec![0; to - from];
            fill_random_part(&mut part, seed, from, total);
            prop_assert_eq!(&part[..], &whole[from..to]);
        }
    }

    #[test]
    fn the_first_bytes_of_a_known_seed() {
        let mut buffer = [0; 40];
        fill_random(&mut buffer, 46_386_204_153_304_124);
        assert_eq!(buffer[..8], 46_386_204_153_304_124u64.to_le_bytes());
        assert_eq!(buffer[8..16], (2 * 46_386_204_153_304_124u64).to_le_bytes());
        let lane = 46_386_204_153_304_124u64.wrapping_mul(HASH_FACTOR);
        assert_eq!(buffer[32..], lane.to_le_bytes());
    }
}
