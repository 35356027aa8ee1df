//! Random numbers: the combined Tausworthe generators taus88 and taus258, and the seeds of a worker.
//!
//! Source: P. L'Ecuyer, "Maximally equidistributed combined Tausworthe generators" (1996) and "Tables of
//! maximally equidistributed combined LFSR generators" (1999). The seeding follows fio's documentation and
//! observed behaviour, so that the same seed gives the same sequence; golden vectors in the tests guard this.

use crate::lanes::{self, BATCH, STEPS};
use serde::{Deserialize, Serialize};

/// 2^64 divided by the golden ratio, as a multiplicative hash.
pub const HASH_FACTOR: u64 = 0x61C8_8646_80B5_83EB;

/// Multiplier that derives a seed from the previous one.
const SEED_STEP: u64 = 0x9e37_0001;
/// Multipliers of the seeding recurrence, for words of 32 and 64 bits.
const SEEDING_FACTOR: u32 = 69069;
const SEEDING_FACTOR_64: u64 = 6_906_969_069;
/// Initial value of the seeding recurrence; kept for compatibility of sequences.
const SEEDING_START: u32 = 53;
/// Number of values discarded after seeding.
const WARM_UP: usize = 6;

/// taus88: 32 bits per step, period 2^88.
#[derive(Clone, Debug)]
pub struct Taus88 {
    state: [u32; 3],
}

impl Taus88 {
    /// A generator seeded with the low 32 bits of `seed`.
    pub fn new(seed: u64) -> Taus88 {
        let seed = seed as u32;
        let mut word = SEEDING_START;
        let state = [1, 7, 15].map(|minimum| {
            word = word.wrapping_mul(SEEDING_FACTOR) ^ seed;
            if word < minimum { word + minimum } else { word }
        });
        let mut generator = Taus88 { state };
        for _ in 0..WARM_UP {
            generator.next_u32();
        }
        generator
    }

    /// The words of its state.
    pub fn state(&self) -> [u32; 3] {
        self.state
    }

    /// The next 32 bits.
    #[inline(always)]
    pub fn next_u32(&mut self) -> u32 {
        let [s1, s2, s3] = self.state;
        self.state = [STEPS[0].of(s1), STEPS[1].of(s2), STEPS[2].of(s3)];
        self.state[0] ^ self.state[1] ^ self.state[2]
    }

    /// A whole batch of [`next_u32`](Taus88::next_u32), as fractions of 2^64.
    pub(crate) fn fill(&mut self, numbers: &mut [u64; BATCH]) {
        self.state = lanes::draw(self.state, numbers);
    }

    /// A uniform number below `end`.
    #[inline(always)]
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(end) * u128::from(self.next_u32())) >> 32) as u64
    }

    /// A uniform whole percentage, 1..=100.
    #[inline(always)]
    pub fn percent(&mut self) -> u32 {
        1 + self.below(100) as u32
    }

    /// The product of two successive numbers, used as the seed of a buffer's content.
    pub fn buffer_seed(&mut self) -> u64 {
        let first = u64::from(self.next_u32());
        first.wrapping_mul(u64::from(self.next_u32()))
    }
}

/// taus258: 64 bits per step, period 2^258.
#[derive(Clone, Debug)]
pub struct Taus258 {
    state: [u64; 5],
}

impl Taus258 {
    /// A generator seeded with all 64 bits of `seed`.
    pub fn new(seed: u64) -> Taus258 {
        let mut word = u64::from(SEEDING_START);
        let state = [1, 7, 15, 33, 49].map(|minimum| {
            word = word.wrapping_mul(SEEDING_FACTOR_64) ^ seed;
            if word < minimum { word + minimum } else { word }
        });
        let mut generator = Taus258 { state };
        for _ in 0..WARM_UP {
            generator.next_u64();
        }
        generator
    }

    /// The words of its state.
    pub fn state(&self) -> [u64; 5] {
        self.state
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let [z1, z2, z3, z4, z5] = self.state;
        self.state = [
            ((z1 & !0x1) << 10) ^ (((z1 << 1) ^ z1) >> 53),
            ((z2 & !0x1ff) << 5) ^ (((z2 << 24) ^ z2) >> 50),
            ((z3 & !0xfff) << 29) ^ (((z3 << 3) ^ z3) >> 23),
            ((z4 & !0x1ffff) << 23) ^ (((z4 << 5) ^ z4) >> 24),
            ((z5 & !0x7fffff) << 8) ^ (((z5 << 3) ^ z5) >> 33),
        ];
        self.state.iter().fold(0, |all, word| all ^ word)
    }
}

/// The generators of `random_generator`.
#[derive(Clone, Debug)]
pub enum Generator {
    /// 32 bits per step.
    Bits32(Taus88),
    /// 64 bits per step.
    Bits64(Taus258),
}

impl Generator {
    /// A generator seeded with all 64 bits of `seed`.
    pub fn new(seed: u64, has_64_bits: bool) -> Generator {
        match has_64_bits {
            true => Generator::Bits64(Taus258::new(seed)),
            false => Generator::Bits32(Taus88::new(seed)),
        }
    }

    /// A uniform number below `end`.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        match self {
            Generator::Bits32(generator) => generator.below(end),
            Generator::Bits64(generator) => {
                ((u128::from(end) * u128::from(generator.next_u64())) >> 64) as u64
            }
        }
    }

    /// The words of its state, and whether they have 64 bits.
    pub fn state(&self) -> (Vec<u64>, bool) {
        match self {
            Generator::Bits32(generator) => (generator.state().map(u64::from).to_vec(), false),
            Generator::Bits64(generator) => (generator.state().to_vec(), true),
        }
    }
}

/// Purpose of a seed; its number is the index in the sequence of seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedUse {
    /// Block sizes of reads; writes and trims follow.
    BlockSizeRead = 0,
    /// Block sizes of writes.
    BlockSizeWrite = 1,
    /// Block sizes of trims.
    BlockSizeTrim = 2,
    /// Content of verified writes.
    Verify = 3,
    /// Choice of direction in a mix.
    Mix = 4,
    /// Choice of the file.
    File = 5,
    /// Offsets.
    Offset = 6,
    /// File sizes.
    FileSize = 7,
    /// Buffer content.
    Buffer = 9,
    /// Sequential or random, in mixed patterns.
    SequentialOrRandom = 10,
    /// Choice of the verified blocks to trim.
    Trim = 12,
    /// Start delays.
    StartDelay = 13,
    /// Duplicate writes.
    Dedupe = 14,
    /// Arrivals of a Poisson process.
    Poisson = 15,
    /// Choice of the zone of a zoned distribution.
    Zone = 16,
    /// Choice of the I/Os with a different priority.
    Priority = 19,
    /// Choice of the duplicated page of the working set.
    DedupeWorkingSet = 20,
}

/// All seeds of one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeds {
    values: [u64; 24],
    thread_number: u32,
}

impl Seeds {
    /// Seeds for the worker with this thread number (from 1), derived from the job's `randseed`.
    pub fn new(randseed: u64, thread_number: u32) -> Seeds {
        let mut base = (0..4).fold(randseed, |seed, _| seed.wrapping_mul(SEED_STEP));
        let mut values = [0; 24];
        for (index, value) in values.iter_mut().enumerate() {
            *value = base.wrapping_mul(u64::from(thread_number)).wrapping_add(index as u64);
            base = base.wrapping_mul(SEED_STEP);
        }
        Seeds { values, thread_number }
    }

    /// Unpredictable seeds (`randrepeat=0`).
    pub fn from_system() -> Seeds {
        use std::hash::{BuildHasher, RandomState};
        // RandomState is seeded by the operating system, and a separate state per value keeps the values
        // independent.
        Seeds { values: std::array::from_fn(|index| RandomState::new().hash_one(index)), thread_number: 1 }
    }

    /// All seeds, in order.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// One seed.
    pub fn get(&self, purpose: SeedUse) -> u64 {
        self.values[purpose as usize]
    }

    /// The seed for offsets in one file, for distributions with one generator per file.
    pub fn of_file(&self, name: &str) -> u64 {
        u64::from(file_hash(name.as_bytes()))
            .wrapping_mul(u64::from(self.thread_number))
            .wrapping_mul(self.get(SeedUse::Offset))
    }

    /// A taus88 generator for one purpose.
    pub fn generator(&self, purpose: SeedUse) -> Taus88 {
        Taus88::new(self.get(purpose))
    }
}

/// The hash of a file name that seeds the offsets: Bob Jenkins' lookup3 (public domain,
/// burtleburtle.net/bob/c/lookup3.c) with another initial value and, except for the last twelve bytes, only
/// every fourth byte. That is weaker than lookup3, and kept for compatibility of sequences.
pub fn file_hash(bytes: &[u8]) -> u32 {
    let start = 0x61c8_8647_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut rest = bytes;
    let word = |chunk: &[u8], at: usize| {
        (0..4).fold(0u32, |all, i| all | u32::from(*chunk.get(at + i).unwrap_or(&0)) << (8 * i))
    };
    while rest.len() > 12 {
        a = a.wrapping_add(u32::from(rest[0]));
        b = b.wrapping_add(u32::from(rest[4]));
        c = c.wrapping_add(u32::from(rest[8]));
        for (shift, step) in [(4, 0), (6, 1), (8, 2), (16, 0), (19, 1), (4, 2)] {
            match step {
                0 => {
                    a = a.wrapping_sub(c) ^ c.rotate_left(shift);
                    c = c.wrapping_add(b);
                }
                1 => {
                    b = b.wrapping_sub(a) ^ a.rotate_left(shift);
                    a = a.wrapping_add(c);
                }
                _ => {
                    c = c.wrapping_sub(b) ^ b.rotate_left(shift);
                    b = b.wrapping_add(a);
                }
            }
        }
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(rest, 0));
    b = b.wrapping_add(word(rest, 4));
    c = c.wrapping_add(word(rest, 8));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_of_the_first_worker() {
        let seeds = Seeds::new(0x89, 1);
        let expected = [
            0x52780a68adbc0089,
            0x2a2f6621592b008a,
            0xb06218b3049a008b,
            0x7baf221db009008c,
            0x22b582615b78008d,
            0x3c14397e06e7008e,
            0x5e6a4773b256008f,
            0x2056ac425dc50090,
            0x187867ea09340091,
            0xdd6e7a6ab4a30092,
        ];
        assert_eq!(seeds.values[..10], expected);
    }

    #[test]
    fn first_numbers_of_the_offset_generator() {
        let mut generator = Seeds::new(0x89, 1).generator(SeedUse::Offset);
        let numbers: Vec<u32> = (0..4).map(|_| generator.next_u32()).collect();
        assert_eq!(numbers, [4196289317, 3719163915, 2820806093, 2217523518]);
    }

    #[test]
    fn first_buffer_seeds() {
        let mut generator = Seeds::new(0x89, 1).generator(SeedUse::Buffer);
        let seeds: Vec<u64> = (0..3).map(|_| generator.buffer_seed()).collect();
        assert_eq!(seeds, [1628508906074988597, 14222277271217598888, 10662605594482762401]);
    }

    #[test]
    fn golden_hashes_of_file_names() {
        for (name, hash) in [
            ("f", 0x6112_1e47),
            ("g", 0xebf8_56eb),
            ("a.0.0", 0xa027_5764),
            ("abcdefghijkl", 0xd855_beeb),
            ("abcdefghijklm", 0x5953_6a0b),
            ("/dev/nvme0n1", 0x55a7_2e6e),
            ("long-directory/some-file-name.0.0", 0x89cf_e2bc),
        ] {
            assert_eq!(file_hash(name.as_bytes()), hash, "{name}");
        }
        assert_eq!(Seeds::new(0x89, 1).of_file("f") as u32, 3_271_092_649);
    }
}
