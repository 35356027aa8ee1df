//! Uniform random blocks of one file, drawn with their lengths by fio's generators.

use super::block_map::BlockMap;
use super::length::Lengths;
use crate::plan::model::lengths::LengthRule;
use crate::random::{DrawnAhead, Generator, part_below};
use fathom_stats::{Direction, PerDirection};
use strength_reduce::StrengthReducedU64;

/// The blocks of one file; with a map, without repetition within a pass.
#[derive(Clone)]
pub(super) struct Uniform {
    size: u64,
    grains: PerDirection<Grain>,
    map: Option<BlockMap>,
    lengths: PerDirection<Lengths>,
    /// All directions draw from one generator.
    offsets: DrawnAhead,
    /// After all blocks have been covered they are started over immediately, and the pass does not end.
    begins_anew: bool,
    is_over: bool,
    /// Blocks and lengths given so far.
    given: u64,
}

/// Granularity of the random offsets of a direction.
#[derive(Clone, Copy)]
pub(super) struct Grain {
    /// Blocks that can be drawn.
    blocks: u64,
    alignment: u64,
    /// The alignment as a precomputed divisor: a multiplication or a shift per I/O instead of a division.
    divisor: StrengthReducedU64,
    /// Every I/O is one block.
    has_one_block: bool,
}

impl Grain {
    /// Blocks at this distance, in bytes, for lengths by this rule.
    pub(super) fn new(blocks: u64, alignment: u64, lengths: &LengthRule) -> Grain {
        Grain {
            blocks,
            alignment,
            divisor: StrengthReducedU64::new(alignment),
            has_one_block: *lengths == LengthRule::Fixed(alignment),
        }
    }
}

/// Offset and length of an I/O.
pub(super) struct Extent {
    /// Bytes from the start of the file, or of its used part.
    pub(super) offset: u64,
    /// Bytes.
    pub(super) length: u32,
}

impl Uniform {
    /// Blocks of a file of this size.
    pub(super) fn new(
        size: u64,
        grains: PerDirection<Grain>,
        map: Option<BlockMap>,
        lengths: PerDirection<Lengths>,
        offsets: Generator,
        begins_anew: bool,
    ) -> Uniform {
        let offsets = DrawnAhead::new(offsets);
        Uniform { size, grains, map, lengths, offsets, begins_anew, is_over: false, given: 0 }
    }

    /// The next block with its length; `None` when all have been covered, until the next pass begins.
    #[inline(never)]
    pub(super) fn next(&mut self, direction: Direction) -> Option<Extent> {
        if self.is_over {
            return None;
        }
        let Grain { blocks, alignment, divisor, has_one_block } = self.grains[direction];
        if self.offsets.is_used_up() {
            self.draw_offsets(blocks);
        }
        let drawn = part_below(self.offsets.next(), blocks);
        let free = match &self.map {
            Some(map) => map.next_free_below(blocks, drawn).or_else(|| self.next_covered(blocks)),
            None => Some(drawn),
        };
        let Some(block) = free else {
            self.is_over = true;
            return None;
        };
        self.given += 1;
        let position = block * alignment;
        if has_one_block && position + alignment <= self.size {
            if let Some(map) = &mut self.map {
                map.take_one(block);
            }
            return Some(Extent { offset: position, length: alignment as u32 });
        }
        let length = self.lengths[direction].draw_or_fill(self.size - position);
        let Some(map) = &mut self.map else {
            return Some(Extent { offset: position, length: length as u32 });
        };
        let wanted = (length + alignment - 1) / divisor;
        let free = map.take(block, wanted);
        let length = if free < wanted { free * alignment } else { length };
        Some(Extent { offset: position, length: length as u32 })
    }

    /// Draws the next offsets, and preloads the map of large files for them.
    fn draw_offsets(&mut self, blocks: u64) {
        let numbers = self.offsets.draw();
        if let Some(map) = &self.map {
            map.preload(numbers.iter().map(|&number| part_below(number, blocks)));
        }
    }

    /// The first block of another round.
    #[cold]
    fn next_covered(&mut self, blocks: u64) -> Option<u64> {
        if !self.begins_anew {
            return None;
        }
        let map = self.map.as_mut()?;
        map.clear();
        map.next_free_below(blocks, part_below(self.offsets.next(), blocks))
    }

    /// Starts another pass; `again` repeats the order, otherwise the draws continue.
    pub(super) fn restart(&mut self, again: bool) {
        if let Some(map) = &mut self.map {
            map.clear();
        }
        if again {
            self.offsets.rewind();
            self.lengths.values_mut().for_each(Lengths::rewind);
        }
        self.is_over = false;
    }

    /// Number of I/Os given so far.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// State of the generator of offsets, and whether its words have 64 bits.
    pub(super) fn generator_state(&self) -> (Vec<u64>, bool) {
        self.offsets.state()
    }
}
