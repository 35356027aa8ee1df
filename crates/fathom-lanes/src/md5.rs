//! MD5 (RFC 1321) in eight lanes of 32 bits.

use crate::MD5_LANES;
use crate::padding::{Ending, rows};
use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_extract_epi32, _mm256_or_si256, _mm256_set_epi32,
    _mm256_set1_epi32, _mm256_slli_epi32, _mm256_srli_epi32, _mm256_xor_si256,
};

const BLOCK: usize = 64;

/// Initial state.
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// Step constants.
#[rustfmt::skip]
const STEPS: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// Hashes eight messages of equal length.
#[target_feature(enable = "avx2")]
pub(crate) fn digests(messages: [&[u8]; MD5_LANES]) -> [[u8; 16]; MD5_LANES] {
    let length = (messages[0].len() as u64 * 8).to_le_bytes();
    let endings = messages.map(|message| Ending::<BLOCK>::of(message, &length));
    let mut state = START.map(|word| _mm256_set1_epi32(word as i32));
    for blocks in rows(messages, &endings) {
        compress(&mut state, blocks);
    }
    let mut digests = [[0; 16]; MD5_LANES];
    for (index, &word) in state.iter().enumerate() {
        for (digest, word) in digests.iter_mut().zip(lanes(word)) {
            digest[index * 4..index * 4 + 4].copy_from_slice(&word.to_le_bytes());
        }
    }
    digests
}

#[target_feature(enable = "avx2")]
fn lanes(word: __m256i) -> [i32; MD5_LANES] {
    [
        _mm256_extract_epi32::<0>(word),
        _mm256_extract_epi32::<1>(word),
        _mm256_extract_epi32::<2>(word),
        _mm256_extract_epi32::<3>(word),
        _mm256_extract_epi32::<4>(word),
        _mm256_extract_epi32::<5>(word),
        _mm256_extract_epi32::<6>(word),
        _mm256_extract_epi32::<7>(word),
    ]
}

/// Compresses one block of each message into the state.
#[target_feature(enable = "avx2")]
fn compress(state: &mut [__m256i; 4], blocks: [&[u8; BLOCK]; MD5_LANES]) {
    let mut words = [_mm256_set1_epi32(0); 16];
    for (index, word) in words.iter_mut().enumerate() {
        let [a, b, c, d, e, f, g, h] = blocks;
        *word = _mm256_set_epi32(
            word_of(h, index),
            word_of(g, index),
            word_of(f, index),
            word_of(e, index),
            word_of(d, index),
            word_of(c, index),
            word_of(b, index),
            word_of(a, index),
        );
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for step in (0..16).step_by(4) {
        a = turned::<7, 25>(a, b, choice(b, c, d), words[step], STEPS[step]);
        d = turned::<12, 20>(d, a, choice(a, b, c), words[step + 1], STEPS[step + 1]);
        c = turned::<17, 15>(c, d, choice(d, a, b), words[step + 2], STEPS[step + 2]);
        b = turned::<22, 10>(b, c, choice(c, d, a), words[step + 3], STEPS[step + 3]);
    }
    for step in (16..32).step_by(4) {
        a = turned::<5, 27>(a, b, other_choice(b, c, d), words[(5 * step + 1) % 16], STEPS[step]);
        d = turned::<9, 23>(d, a, other_choice(a, b, c), words[(5 * (step + 1) + 1) % 16], STEPS[step + 1]);
        c = turned::<14, 18>(c, d, other_choice(d, a, b), words[(5 * (step + 2) + 1) % 16], STEPS[step + 2]);
        b = turned::<20, 12>(b, c, other_choice(c, d, a), words[(5 * (step + 3) + 1) % 16], STEPS[step + 3]);
    }
    for step in (32..48).step_by(4) {
        a = turned::<4, 28>(a, b, parity(b, c, d), words[(3 * step + 5) % 16], STEPS[step]);
        d = turned::<11, 21>(d, a, parity(a, b, c), words[(3 * (step + 1) + 5) % 16], STEPS[step + 1]);
        c = turned::<16, 16>(c, d, parity(d, a, b), words[(3 * (step + 2) + 5) % 16], STEPS[step + 2]);
        b = turned::<23, 9>(b, c, parity(c, d, a), words[(3 * (step + 3) + 5) % 16], STEPS[step + 3]);
    }
    for step in (48..64).step_by(4) {
        a = turned::<6, 26>(a, b, last(b, c, d), words[7 * step % 16], STEPS[step]);
        d = turned::<10, 22>(d, a, last(a, b, c), words[7 * (step + 1) % 16], STEPS[step + 1]);
        c = turned::<15, 17>(c, d, last(d, a, b), words[7 * (step + 2) % 16], STEPS[step + 2]);
        b = turned::<21, 11>(b, c, last(c, d, a), words[7 * (step + 3) % 16], STEPS[step + 3]);
    }
    for (word, new) in state.iter_mut().zip([a, b, c, d]) {
        *word = _mm256_add_epi32(*word, new);
    }
}

#[inline(always)]
fn word_of(block: &[u8; BLOCK], index: usize) -> i32 {
    i32::from_le_bytes(block.as_chunks::<4>().0[index])
}

/// One step: `b` plus the sum of the other inputs rotated left by `LEFT` bits. AVX2 has shifts only, so `RIGHT` must be 32 - `LEFT`.
#[target_feature(enable = "avx2")]
#[inline]
fn turned<const LEFT: i32, const RIGHT: i32>(
    a: __m256i,
    b: __m256i,
    mixed: __m256i,
    word: __m256i,
    constant: u32,
) -> __m256i {
    const { assert!(LEFT + RIGHT == 32) };
    let word = _mm256_add_epi32(word, _mm256_set1_epi32(constant as i32));
    let sum = _mm256_add_epi32(_mm256_add_epi32(a, word), mixed);
    _mm256_add_epi32(b, _mm256_or_si256(_mm256_slli_epi32::<LEFT>(sum), _mm256_srli_epi32::<RIGHT>(sum)))
}

/// F of the RFC: `b` selects between the bits of `c` and `d`.
#[target_feature(enable = "avx2")]
#[inline]
fn choice(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    xor(d, _mm256_and_si256(b, xor(c, d)))
}

/// G of the RFC: `d` selects.
#[target_feature(enable = "avx2")]
#[inline]
fn other_choice(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    choice(d, b, c)
}

/// H of the RFC.
#[target_feature(enable = "avx2")]
#[inline]
fn parity(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    xor(xor(b, c), d)
}

/// I of the RFC.
#[target_feature(enable = "avx2")]
#[inline]
fn last(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    xor(c, _mm256_or_si256(b, xor(d, _mm256_set1_epi32(-1))))
}

#[target_feature(enable = "avx2")]
#[inline]
fn xor(one: __m256i, other: __m256i) -> __m256i {
    _mm256_xor_si256(one, other)
}
