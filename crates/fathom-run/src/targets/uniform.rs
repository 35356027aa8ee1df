//! Uniform random blocks of one file, drawn together with their lengths by fio's generators.

use super::ahead::{Ahead, DRAWN, Extent};
use super::block_map::BlockMap;
use super::direction::Following;
use super::length::Lengths;
use crate::plan::model::lengths::LengthRule;
use crate::random::{DrawnAhead, Generator, part_below};
use fathom_stats::{Direction, PerDirection};
use strength_reduce::StrengthReducedU64;

/// The directions of a mix.
const OF_MIX: [Direction; 2] = [Direction::Read, Direction::Write];

/// Random blocks of one file; with a map, without repetition within a pass.
#[derive(Clone)]
pub(super) struct Uniform {
    size: u64,
    grains: PerDirection<Grain>,
    /// Grain of a mix whose reads and writes have the same blocks.
    mixed: Option<Grain>,
    map: Option<BlockMap>,
    lengths: PerDirection<Lengths>,
    /// Offsets of all directions, from one generator.
    offsets: DrawnAhead,
    /// True if I/O starts over immediately after all blocks have been covered, without ending the pass.
    begins_anew: bool,
    is_over: bool,
    /// Number of blocks and lengths drawn so far.
    given: u64,
}

/// Granularity of the random offsets of a direction.
#[derive(Clone, Copy)]
pub(super) struct Grain {
    /// Number of blocks that can be drawn.
    blocks: u64,
    alignment: u64,
    /// The alignment as a precomputed divisor, so that an I/O takes a multiplication or a shift instead of a
    /// division.
    divisor: StrengthReducedU64,
    /// True if every I/O is exactly one block.
    has_one_block: bool,
    /// Number of roomy blocks: the first blocks, after which every length fits.
    roomy: u64,
    /// Expected number of I/Os in roomy blocks between two I/Os in other blocks.
    run: usize,
}

impl Grain {
    /// Creates the grain of a file of `size` bytes, for these lengths.
    pub(super) fn new(size: u64, blocks: u64, alignment: u64, lengths: &LengthRule) -> Grain {
        let longest = lengths.max();
        // Lengths drawn ahead are stored in 32 bits.
        let roomy = match size.checked_sub(longest) {
            Some(last) if u32::try_from(longest).is_ok() => blocks.min(last / alignment + 1),
            _ => 0,
        };
        let grain = Grain {
            blocks,
            alignment,
            divisor: StrengthReducedU64::new(alignment),
            has_one_block: *lengths == LengthRule::Fixed(alignment),
            roomy,
            run: 0,
        };
        grain.limited_to(roomy)
    }

    /// Limits the number of roomy blocks.
    fn limited_to(self, most: u64) -> Grain {
        let roomy = self.roomy.min(most);
        let run = roomy.checked_div(self.blocks - roomy).unwrap_or(roomy).min(DRAWN as u64);
        Grain { roomy, run: run as usize, ..self }
    }

    /// The grain of a mix, if its two directions have the same blocks.
    fn mixed(reads: Grain, writes: Grain) -> Option<Grain> {
        let are_equal = (reads.blocks, reads.alignment) == (writes.blocks, writes.alignment);
        are_equal.then(|| reads.limited_to(writes.roomy))
    }

    /// Draws blocks from these random numbers until one is not roomy; returns the number of blocks drawn.
    #[inline(always)]
    fn draw(&self, numbers: &[u64], ahead: &mut Ahead) -> usize {
        let drawn = numbers.iter().map(|&number| part_below(number, self.blocks));
        let roomy = drawn.take_while(|block| *block < self.roomy);
        ahead.blocks.iter_mut().zip(roomy).map(|(place, block)| *place = block).count()
    }

    /// Takes blocks by these random numbers until one is not roomy or none is free; shortens the lengths to the
    /// free space. Returns the number of blocks taken.
    #[inline(always)]
    fn take(&self, map: &mut BlockMap, numbers: &[u64], ahead: &mut Ahead) -> usize {
        let Grain { blocks, alignment, divisor, roomy, .. } = *self;
        let places = ahead.blocks.iter_mut().zip(&mut ahead.lengths);
        let mut count = 0;
        for (&number, (place, length)) in numbers.iter().zip(places) {
            let wanted = (u64::from(*length) + alignment - 1) / divisor;
            let taken = map.take_next(blocks, part_below(number, blocks), wanted, roomy);
            let Some((block, free)) = taken else { break };
            *place = block;
            if free < wanted {
                *length = (free * alignment) as u32;
            }
            count += 1;
        }
        count
    }
}

impl Uniform {
    /// Number of blocks in a file of this size.
    pub(super) fn new(
        size: u64,
        grains: PerDirection<Grain>,
        map: Option<BlockMap>,
        lengths: PerDirection<Lengths>,
        offsets: Generator,
        begins_anew: bool,
    ) -> Uniform {
        let offsets = DrawnAhead::new(offsets);
        let mixed = Grain::mixed(grains[Direction::Read], grains[Direction::Write]);
        Uniform { size, grains, mixed, map, lengths, offsets, begins_anew, is_over: false, given: 0 }
    }

    /// The next block with its length, in a file whose used part begins at `start`; `None` once all have been
    /// covered, until the next pass begins.
    #[inline(never)]
    pub(super) fn next_from(&mut self, start: u64, direction: Direction) -> Option<Extent> {
        if self.is_over {
            return None;
        }
        let Grain { blocks, alignment, divisor, has_one_block, .. } = self.grains[direction];
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
            return Some(Extent { offset: start + position, length: alignment as u32 });
        }
        let length = self.lengths[direction].draw_or_fill(self.size - position);
        let Some(map) = &mut self.map else {
            return Some(Extent { offset: start + position, length: length as u32 });
        };
        let wanted = (length + alignment - 1) / divisor;
        let free = map.take(block, wanted);
        let length = if free < wanted { free * alignment } else { length };
        Some(Extent { offset: start + position, length: length as u32 })
    }

    /// Draws a batch of I/Os of the only direction, which keeps the state in registers. The batch ends when the
    /// random numbers that were drawn together are used up, or before a block that is not [roomy](Grain) or
    /// begins another round. Each I/O of a batch has therefore taken one number from each generator.
    #[inline(never)]
    pub(super) fn fill(&mut self, ahead: &mut Ahead, direction: Direction) {
        let grain = self.grains[direction];
        let most = self.prepare_to_fill(ahead, &grain);
        let most = self.lengths[direction].foresee(&mut ahead.lengths[..most]);
        let count = self.fill_blocks(ahead, &grain, most);
        self.lengths[direction].use_foreseen(count);
    }

    /// Like [`fill`](Uniform::fill) for a mix, up to the last known direction.
    #[inline(never)]
    pub(super) fn fill_mix(&mut self, ahead: &mut Ahead, direction: Direction, following: Following) {
        ahead.count = 0;
        let Some(grain) = self.mixed else { return };
        let known = following.count as usize + 1;
        let writes = following.writes << 1 | u64::from(direction == Direction::Write);
        let most = self.prepare_to_fill(ahead, &grain).min(known);
        let mut foreseen = [[0; DRAWN]; 2];
        let drawn = [0, 1].map(|which| self.lengths[OF_MIX[which]].foresee(&mut foreseen[which][..most]));
        let (mut used, mut count) = ([0; 2], 0);
        for length in &mut ahead.lengths[..most] {
            let which = (writes >> count & 1) as usize;
            if used[which] == drawn[which] {
                break;
            }
            *length = foreseen[which][used[which] % DRAWN];
            used[which] += 1;
            count += 1;
        }
        let count = self.fill_blocks(ahead, &grain, count);
        ahead.writes = (writes & ((1 << count) - 1)) as u32;
        let writes = ahead.writes.count_ones() as usize;
        self.lengths[Direction::Read].use_foreseen(count - writes);
        self.lengths[Direction::Write].use_foreseen(writes);
    }

    /// Draws random numbers if there are none left; returns the maximum number of I/Os to draw together.
    #[inline(always)]
    fn prepare_to_fill(&mut self, ahead: &mut Ahead, grain: &Grain) -> usize {
        (ahead.unit, ahead.count) = (grain.alignment, 0);
        if self.is_over || grain.run < 2 {
            return 0;
        }
        if self.offsets.is_used_up() {
            self.draw_offsets(grain.blocks);
        }
        self.offsets.peek().len().min(grain.run)
    }

    /// Draws at most this many blocks for the lengths drawn ahead; returns their number.
    #[inline(always)]
    fn fill_blocks(&mut self, ahead: &mut Ahead, grain: &Grain, most: usize) -> usize {
        if most == 0 {
            return 0;
        }
        let numbers = &self.offsets.peek()[..most];
        let count = match &mut self.map {
            Some(map) => grain.take(map, numbers, ahead),
            None => grain.draw(numbers, ahead),
        };
        self.offsets.skip(count);
        self.given += count as u64;
        ahead.count = count;
        count
    }

    /// Takes back the unused I/Os of a batch, which are then drawn again.
    pub(super) fn put_back(&mut self, ahead: &Ahead, only: Option<Direction>) {
        let count = ahead.unused();
        self.offsets.put_back(count);
        self.given -= count as u64;
        match only {
            Some(direction) => self.lengths[direction].put_back(count),
            None => {
                let writes = ahead.unused_writes();
                self.lengths[Direction::Write].put_back(writes);
                self.lengths[Direction::Read].put_back(count - writes);
            }
        }
    }

    /// Draws the next offsets and prefetches their words in the map of large files.
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

    /// Starts another pass; with `again`, the order is repeated; otherwise, the draws continue.
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

    /// Number of I/Os drawn so far.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// State of the offset generator before the last `unused` I/Os drawn together, and whether it uses 64-bit
    /// words.
    pub(super) fn generator_state(&self, unused: usize) -> (Vec<u64>, bool) {
        self.offsets.state_without(unused)
    }
}
