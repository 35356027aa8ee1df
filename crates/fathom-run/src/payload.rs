//! What is written: the content of I/O buffers.

use crate::random::{HASH_FACTOR, Taus88};
use serde::{Deserialize, Serialize};

/// The rule for buffer content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PayloadRule {
    /// Zeros.
    Zero,
    /// Random bytes, filled once; `refill` makes them anew for every write, `scramble` changes a few places of
    /// every 512 bytes instead.
    Random {
        /// New content for every write.
        refill: bool,
        /// Change parts of every block for every write.
        scramble: bool,
    },
    /// A pattern, repeated; `offset_places` are the byte positions of 8-byte offsets in it.
    Pattern {
        /// The bytes.
        bytes: Vec<u8>,
        /// Where the file offset of the pattern's start goes, 8 bytes little-endian each.
        offset_places: Vec<usize>,
    },
}

/// Fills buffers of one worker.
#[derive(Clone, Debug)]
pub struct Payload {
    rule: PayloadRule,
    generator: Taus88,
}

impl Payload {
    /// A filler with the worker's buffer generator.
    pub fn new(rule: PayloadRule, generator: Taus88) -> Payload {
        Payload { rule, generator }
    }

    /// Content that a buffer has before the first I/O.
    pub fn prepare(&mut self, buffer: &mut [u8], first_seed: u64) {
        match &self.rule {
            PayloadRule::Zero => buffer.fill(0),
            PayloadRule::Random { .. } => fill_random(buffer, first_seed),
            PayloadRule::Pattern { bytes, .. } => repeat(buffer, bytes),
        }
    }

    /// The seed of the initial content of all buffers of a worker.
    pub fn next_seed(&mut self) -> u64 {
        self.generator.buffer_seed()
    }

    /// True when a write needs no work: the content stays as prepared.
    pub fn is_static(&self) -> bool {
        match &self.rule {
            PayloadRule::Zero => true,
            PayloadRule::Random { refill, scramble } => !refill && !scramble,
            PayloadRule::Pattern { offset_places, .. } => offset_places.is_empty(),
        }
    }

    /// Content for one write at this file offset; `now_ns` is its start time.
    pub fn refresh(&mut self, buffer: &mut [u8], offset: u64, now_ns: u64) {
        match &self.rule {
            PayloadRule::Zero => {}
            PayloadRule::Random { refill, scramble } => {
                if *refill {
                    fill_random(buffer, self.generator.buffer_seed());
                } else if *scramble {
                    scramble_blocks(buffer, offset, now_ns);
                }
            }
            PayloadRule::Pattern { bytes, offset_places } => {
                place_offsets(buffer, bytes.len(), offset_places, offset)
            }
        }
    }
}

/// Random bytes from one seed: four lanes of 64-bit words, each multiplied on after use.
pub fn fill_random(buffer: &mut [u8], seed: u64) {
    let mut lanes = [1u64, 2, 3, 5].map(|factor| seed.wrapping_mul(factor));
    let mut chunks = buffer.chunks_exact_mut(32);
    for chunk in &mut chunks {
        for (word, lane) in chunk.chunks_exact_mut(8).zip(&mut lanes) {
            word.copy_from_slice(&lane.to_le_bytes());
            *lane = lane.wrapping_mul(HASH_FACTOR);
        }
    }
    // What is left continues the first lane.
    for rest in chunks.into_remainder().chunks_mut(8) {
        rest.copy_from_slice(&lanes[0].to_le_bytes()[..rest.len()]);
        lanes[0] = lanes[0].wrapping_mul(HASH_FACTOR);
    }
}

/// Changes every 512-byte block a little, so that no two writes carry the same data: one of its eight lines starts with
/// the offset, and its first line ends with the time.
fn scramble_blocks(buffer: &mut [u8], offset: u64, now_ns: u64) {
    const BLOCK: usize = 512;
    const LINE: usize = 64;
    let line = ((now_ns ^ offset) & 7) as usize;
    let (seconds, nanoseconds) = (now_ns / 1_000_000_000, now_ns % 1_000_000_000);
    for (index, block) in buffer.chunks_exact_mut(BLOCK).enumerate() {
        let place = offset + (index * BLOCK) as u64;
        block[48..56].copy_from_slice(&seconds.to_le_bytes());
        block[56..64].copy_from_slice(&nanoseconds.to_le_bytes());
        block[line * LINE..line * LINE + 8].copy_from_slice(&place.to_le_bytes());
    }
}

fn repeat(buffer: &mut [u8], pattern: &[u8]) {
    if pattern.is_empty() {
        return;
    }
    for chunk in buffer.chunks_mut(pattern.len()) {
        chunk.copy_from_slice(&pattern[..chunk.len()]);
    }
}

fn place_offsets(buffer: &mut [u8], pattern_length: usize, places: &[usize], offset: u64) {
    if pattern_length == 0 {
        return;
    }
    for (index, chunk) in buffer.chunks_mut(pattern_length).enumerate() {
        let value = (offset + (index * pattern_length) as u64).to_le_bytes();
        for &place in places {
            let room = chunk.len().saturating_sub(place).min(8);
            if room > 0 {
                chunk[place..place + room].copy_from_slice(&value[..room]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{SeedUse, Seeds};

    #[test]
    fn golden_content() {
        let mut payload = Payload::new(
            PayloadRule::Random { refill: true, scramble: false },
            Seeds::new(0x89, 1).generator(SeedUse::Buffer),
        );
        let mut buffer = vec![0; 4096];
        let seed = payload.next_seed();
        payload.prepare(&mut buffer, seed);
        let first = [
            0x35, 0xe0, 0x28, 0xcc, 0x38, 0xa0, 0x99, 0x16, 0x6a, 0xc0, 0x51, 0x98, 0x71, 0x40, 0x33, 0x2d,
            0x9f, 0xa0, 0x7a, 0x64,
        ];
        assert_eq!(buffer[..20], first);
        payload.refresh(&mut buffer, 0, 0);
        let second = [
            0xa8, 0x71, 0x09, 0x48, 0xd3, 0xad, 0x5f, 0xc5, 0x50, 0xe3, 0x12, 0x90, 0xa6, 0x5b, 0xbf, 0x8a,
            0xf8, 0x54, 0x1c, 0xd8,
        ];
        assert_eq!(buffer[..20], second);
    }

    #[test]
    fn scrambling_makes_blocks_differ() {
        let generator = Taus88::new(1);
        let mut payload = Payload::new(PayloadRule::Random { refill: false, scramble: true }, generator);
        let mut buffer = vec![7; 4096];
        payload.refresh(&mut buffer, 8192, 3_000_000_005);
        let blocks: std::collections::HashSet<&[u8]> = buffer.chunks(512).collect();
        assert_eq!(blocks.len(), 8);
    }

    #[test]
    fn pattern_with_offset() {
        let rule = PayloadRule::Pattern { bytes: vec![0xaa; 16], offset_places: vec![4] };
        let mut payload = Payload::new(rule, Taus88::new(1));
        let mut buffer = vec![0; 40];
        payload.prepare(&mut buffer, 0);
        payload.refresh(&mut buffer, 0x1000, 0);
        assert_eq!(buffer[..6], [0xaa, 0xaa, 0xaa, 0xaa, 0x00, 0x10]);
        assert_eq!(buffer[20..22], [0x10, 0x10]);
        assert_eq!(buffer[36..40], [0x20, 0x10, 0, 0]);
    }
}
