//! The approximate method: a Bloom filter, whose size does not depend on the number of unique chunks.

use super::table::Hash;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bits per chunk. With [`PROBES`], about 1 in 1500 chunks is mistaken for a duplicate when the filter is full.
const BITS_PER_CHUNK: u64 = 16;
/// Number of bits set per chunk.
const PROBES: u64 = 8;
const SMALLEST_BITS: u64 = 1 << 16;
/// Maximum size of the filter in bits: 1 GiB of memory.
const LARGEST_BITS: u64 = 1 << 33;

/// A set of hashes without false negatives, but with some false positives. Source: B. H. Bloom, "Space/time
/// trade-offs in hash coding with allowable errors" (1970); the probes are derived from two hashes as in
/// Kirsch and Mitzenmacher, "Less hashing, same performance" (2006).
pub(super) struct Bloom {
    words: Vec<AtomicU64>,
}

impl Bloom {
    /// A filter for this number of chunks.
    pub(super) fn for_chunks(chunks: u64) -> Bloom {
        let bits = chunks.saturating_mul(BITS_PER_CHUNK).clamp(SMALLEST_BITS, LARGEST_BITS);
        Bloom { words: (0..bits.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Adds a hash; true if it was new. If two threads add the same new hash concurrently, both may get true.
    pub(super) fn insert(&self, hash: Hash) -> bool {
        let number = u128::from_ne_bytes(hash);
        let (start, step) = (number as u64, (number >> 64) as u64 | 1);
        let bits = self.words.len() as u64 * 64;
        let mut is_new = false;
        for probe in 0..PROBES {
            let bit = start.wrapping_add(probe.wrapping_mul(step)) % bits;
            let mask = 1 << (bit % 64);
            // The order is relaxed, because a bit does not guard other memory.
            is_new |= self.words[(bit / 64) as usize].fetch_or(mask, Relaxed) & mask == 0;
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_chunks_are_taken_for_others() {
        let bloom = Bloom::for_chunks(100_000);
        let hash = |number: u32| fast_md5::digest(&number.to_le_bytes());
        let new = (0..100_000).filter(|&number| bloom.insert(hash(number))).count();
        assert!(new > 99_900, "{new}");
        assert!((0..100_000).all(|number| !bloom.insert(hash(number))));
    }

    #[test]
    fn memory_has_a_limit() {
        assert_eq!(Bloom::for_chunks(1).words.len(), 1024);
        // The size is only computed, because 16 bits for each of 2^40 chunks would need 2 TiB.
        assert_eq!((1u64 << 40).saturating_mul(BITS_PER_CHUNK).clamp(SMALLEST_BITS, LARGEST_BITS), 1 << 33);
    }
}
