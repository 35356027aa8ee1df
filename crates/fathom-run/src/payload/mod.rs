//! Content of written data.

pub mod shaped;

use crate::plan::model::payload::PayloadRule;
use crate::random::{SeedUse, Seeds, Taus88};
pub use fathom_verify::content::{Pattern, fill_random};
pub use shaped::NoRoomForPages;
use shaped::Shaper;

/// Generates the content of one worker's write buffers.
#[derive(Clone, Debug)]
pub struct Payload {
    content: Content,
    /// True if reads use the same buffers and thus overwrite their content.
    beside_reads: bool,
    generator: Taus88,
}

/// State of the payload rule.
#[derive(Clone, Debug)]
enum Content {
    Zero,
    Random { refill: bool, scramble: bool },
    Pattern(Pattern),
    Shaped(Box<Shaper>),
}

impl Payload {
    /// Creates the generator for the worker with these seeds, whose files have `bytes` bytes in total.
    pub fn new(rule: PayloadRule, seeds: &Seeds, bytes: u64) -> Result<Payload, NoRoomForPages> {
        let content = match rule {
            PayloadRule::Zero => Content::Zero,
            PayloadRule::Random { refill, scramble } => Content::Random { refill, scramble },
            PayloadRule::Pattern(pattern) => Content::Pattern(pattern),
            PayloadRule::Shaped(rule) => Content::Shaped(Box::new(Shaper::new(rule, seeds, bytes)?)),
        };
        Ok(Payload { content, beside_reads: false, generator: seeds.generator(SeedUse::Buffer) })
    }

    /// Sets whether reads use the buffers as well.
    pub fn beside_reads(self, beside_reads: bool) -> Payload {
        Payload { beside_reads, ..self }
    }

    /// Generates the initial content of a buffer, before the first I/O.
    pub fn prepare(&mut self, buffer: &mut [u8]) {
        match &mut self.content {
            Content::Zero => buffer.fill(0),
            Content::Random { .. } => fill_random(buffer, self.generator.buffer_seed()),
            Content::Pattern(pattern) => pattern.repeat(buffer),
            Content::Shaped(shaper) => shaper.fill(buffer, 0),
        }
    }

    /// True if buffers need no filling before a write, because they keep their prepared content or any content
    /// will do.
    pub fn is_static(&self) -> bool {
        match &self.content {
            Content::Zero => !self.beside_reads,
            Content::Random { refill, scramble } => !refill && !scramble,
            Content::Pattern(pattern) => pattern.offset_places.is_empty() && !self.beside_reads,
            Content::Shaped(shaper) => shaper.is_static() && !self.beside_reads,
        }
    }

    /// Fills the buffer for one write at this file offset. `now_ns` is the start time of the write.
    pub fn refresh(&mut self, buffer: &mut [u8], offset: u64, now_ns: u64) {
        match &mut self.content {
            Content::Zero if self.beside_reads => buffer.fill(0),
            Content::Zero => {}
            Content::Random { refill: true, .. } => fill_random(buffer, self.generator.buffer_seed()),
            Content::Random { scramble, .. } => {
                if *scramble {
                    scramble_blocks(buffer, offset, now_ns);
                }
            }
            Content::Pattern(pattern) => {
                if self.beside_reads {
                    pattern.repeat(buffer);
                }
                pattern.place_offsets(buffer, |at| offset + at);
            }
            Content::Shaped(shaper) => shaper.fill(buffer, offset),
        }
    }
}

/// Stamps every 512-byte block to make each write's data unique: one of the block's eight 64-byte lines starts
/// with the offset, and its first line ends with the time.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(rule: PayloadRule) -> Payload {
        Payload::new(rule, &Seeds::new(0x89, 1), 0).expect("memory")
    }

    #[test]
    fn golden_content() {
        let mut payload = payload(PayloadRule::Random { refill: true, scramble: false });
        let mut buffer = vec![0; 4096];
        payload.prepare(&mut buffer);
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
        let mut payload = payload(PayloadRule::Random { refill: false, scramble: true });
        let mut buffer = vec![7; 4096];
        payload.refresh(&mut buffer, 8192, 3_000_000_005);
        let blocks: std::collections::HashSet<&[u8]> = buffer.chunks(512).collect();
        assert_eq!(blocks.len(), 8);
    }

    #[test]
    fn pattern_with_offset() {
        let pattern = Pattern { bytes: vec![0xaa; 16], offset_places: vec![4] };
        let mut payload = payload(PayloadRule::Pattern(pattern));
        let mut buffer = vec![0; 40];
        payload.prepare(&mut buffer);
        payload.refresh(&mut buffer, 0x1000, 0);
        assert_eq!(buffer[..6], [0xaa, 0xaa, 0xaa, 0xaa, 0x00, 0x10]);
        assert_eq!(buffer[20..22], [0x10, 0x10]);
        assert_eq!(buffer[36..40], [0x20, 0x10, 0, 0]);
    }
}
