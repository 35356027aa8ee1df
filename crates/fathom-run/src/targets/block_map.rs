//! The blocks that a random job has already covered: a bitmap with summary levels above it, so the next free
//! block is found in a few steps, regardless of how full the map is.

use crate::invariant::holds;

/// A map of `0..blocks`, which has at least one block; all blocks are free at first.
#[derive(Clone, Debug)]
pub struct BlockMap {
    blocks: u64,
    free: u64,
    /// `levels[0]` has a bit per block; each higher level has a bit per word below that means "this word is
    /// full".
    levels: Vec<Vec<u64>>,
}

impl BlockMap {
    /// An empty map; `None` if the memory cannot be allocated.
    pub fn new(blocks: u64) -> Option<BlockMap> {
        let mut levels = Vec::new();
        let mut bits = blocks.max(1);
        loop {
            let words = usize::try_from(bits.div_ceil(64)).ok()?;
            let mut level: Vec<u64> = Vec::new();
            level.try_reserve_exact(words).ok()?;
            level.resize(words, 0);
            // Bits beyond the end count as taken, so that searches never find them.
            if !bits.is_multiple_of(64) {
                level[words - 1] = u64::MAX << (bits % 64);
            }
            levels.push(level);
            if words == 1 {
                break;
            }
            bits = words as u64;
        }
        Some(BlockMap { blocks, free: blocks, levels })
    }

    /// Frees all blocks.
    pub fn clear(&mut self) {
        let mut bits = self.blocks.max(1);
        for level in &mut self.levels {
            level.fill(0);
            if !bits.is_multiple_of(64) {
                let words = level.len();
                level[words - 1] = u64::MAX << (bits % 64);
            }
            bits = level.len() as u64;
        }
        self.free = self.blocks;
    }

    /// Number of free blocks.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// True if the block has been taken.
    pub fn is_taken(&self, block: u64) -> bool {
        self.levels[0][(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    /// The first free block at or after `from`, wrapping to the start; `None` when all are taken.
    pub fn next_free(&self, from: u64) -> Option<u64> {
        self.search(from).or_else(|| self.search(0))
    }

    /// Like [`next_free`](BlockMap::next_free), among the first `end` blocks, which include `from`.
    #[inline(always)]
    pub fn next_free_below(&self, end: u64, from: u64) -> Option<u64> {
        // Usually the word of `from` has a free block. Whether that is `from` itself is unpredictable, so no
        // branch tests it.
        let free = !self.levels[0][(from / 64) as usize] & (u64::MAX << (from % 64));
        let block = (from & !63) + u64::from(free.trailing_zeros());
        if free != 0 && block < end { Some(block) } else { self.search_below(end, from) }
    }

    #[inline(never)]
    fn search_below(&self, end: u64, from: u64) -> Option<u64> {
        let below = |block: &u64| *block < end;
        self.search(from).filter(below).or_else(|| self.search(0).filter(below))
    }

    fn search(&self, from: u64) -> Option<u64> {
        let mut position = from;
        let mut level = 0;
        // Climbs until a word at or after the position has a free bit, then descends to the first free one.
        loop {
            let word_index = (position / 64) as usize;
            let words = self.levels.get(level)?;
            if let Some(word) = words.get(word_index) {
                let candidates = !word & (u64::MAX << (position % 64));
                if candidates != 0 {
                    let mut bit = word_index as u64 * 64 + u64::from(candidates.trailing_zeros());
                    while level > 0 {
                        level -= 1;
                        let below = self.levels[level][bit as usize];
                        bit = bit * 64 + u64::from((!below).trailing_zeros());
                    }
                    return Some(bit);
                }
            }
            position = position / 64 + 1;
            level += 1;
        }
    }

    /// Prefetches the words of these blocks: fetching all of them takes little longer than fetching one.
    #[inline]
    pub fn preload(&self, blocks: impl Iterator<Item = u64>) {
        let words = blocks.map(|block| self.levels[0][(block / 64) as usize]);
        std::hint::black_box(words.fold(0, |all, word| all ^ word));
    }

    /// Takes up to `wanted` free blocks from `first` on, and stops before the first taken one; returns their
    /// number.
    #[inline(always)]
    pub fn take(&mut self, first: u64, wanted: u64) -> u64 {
        let bit = first % 64;
        // Usually all of these blocks are free and in one word, which does not become full.
        if wanted.wrapping_sub(1) < 64 - bit
            && let Some(word) = self.levels[0].get_mut((first / 64) as usize)
        {
            let taken = (u64::MAX >> (64 - wanted)) << bit;
            if *word & taken == 0 && *word | taken != u64::MAX {
                *word |= taken;
                self.free -= wanted;
                return wanted;
            }
        }
        self.take_in_words(first, wanted)
    }

    /// Takes blocks like [`take`](BlockMap::take), starting at the [next free one](BlockMap::next_free_below);
    /// returns the first one and their number. Takes no block unless the first free one is below `most`, which
    /// is at most `end`.
    #[inline(always)]
    pub fn take_next(&mut self, end: u64, from: u64, wanted: u64, most: u64) -> Option<(u64, u64)> {
        let word = &mut self.levels[0][(from / 64) as usize];
        let free = !*word & (u64::MAX << (from % 64));
        let bit = u64::from(free.trailing_zeros());
        let block = (from & !63) + bit;
        // Usually all of these blocks are free and in this word, which does not become full.
        if block < most && wanted.wrapping_sub(1) < 64 - bit {
            let taken = (u64::MAX >> (64 - wanted)) << bit;
            if *word & taken == 0 && *word | taken != u64::MAX {
                *word |= taken;
                self.free -= wanted;
                return Some((block, wanted));
            }
        }
        self.search_and_take(end, from, wanted, most)
    }

    #[inline(never)]
    fn search_and_take(&mut self, end: u64, from: u64, wanted: u64, most: u64) -> Option<(u64, u64)> {
        let block = self.next_free_below(end, from).filter(|block| *block < most)?;
        Some((block, self.take_in_words(block, wanted)))
    }

    #[inline(never)]
    fn take_in_words(&mut self, first: u64, wanted: u64) -> u64 {
        let blocks = self.blocks;
        holds!(first < blocks, Block, "block {first} of {blocks} is taken");
        let mut taken = 0;
        while let Some(word) = self.levels[0].get_mut(((first + taken) / 64) as usize) {
            let bit = (first + taken) % 64;
            // Bits beyond the end of the map count as taken.
            let free = u64::from((*word >> bit).trailing_zeros()).min(64 - bit);
            let count = free.min(wanted - taken);
            *word |= (u64::MAX << bit) & !u64::MAX.unbounded_shl((bit + count) as u32);
            if *word == u64::MAX {
                self.mark_full((first + taken) / 64);
            }
            taken += count;
            if taken == wanted || bit + count < 64 {
                break;
            }
        }
        let free = self.free;
        holds!(taken <= free, Block, "{taken} blocks are taken of {free} free ones");
        self.free = free - taken;
        taken
    }

    /// Takes a free block.
    #[inline(always)]
    pub fn take_one(&mut self, block: u64) {
        let word = &mut self.levels[0][(block / 64) as usize];
        let (bit, before) = (1 << (block % 64), *word);
        holds!(before & bit == 0, Block, "block {block} is taken again");
        *word = before | bit;
        self.free -= 1;
        if before | bit == u64::MAX {
            self.mark_full(block / 64);
        }
    }

    /// Frees blocks.
    pub fn release(&mut self, first: u64, count: u64) {
        for block in first..first.saturating_add(count).min(self.blocks) {
            if self.is_taken(block) {
                self.clear_one(block);
                self.free += 1;
            }
        }
    }

    fn clear_one(&mut self, block: u64) {
        let mut bit = block;
        for level in &mut self.levels {
            let word = &mut level[(bit / 64) as usize];
            let was_full = *word == u64::MAX;
            *word &= !(1 << (bit % 64));
            if !was_full {
                break;
            }
            bit /= 64;
        }
    }

    /// Marks a word of the lowest level as full on the higher levels.
    #[inline(never)]
    fn mark_full(&mut self, word: u64) {
        let mut bit = word;
        for level in &mut self.levels[1..] {
            let word = &mut level[(bit / 64) as usize];
            *word |= 1 << (bit % 64);
            if *word != u64::MAX {
                break;
            }
            bit /= 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(blocks in 1u64..10_000, moves in prop::collection::vec((any::<u64>(), 1u64..100), 1..400)) {
            let mut map = BlockMap::new(blocks).expect("small");
            let mut model = vec![false; blocks as usize];
            for (random, wanted) in moves {
                let from = random % blocks;
                let expected = (from..blocks).chain(0..from).find(|&b| !model[b as usize]);
                let found = map.next_free(from);
                prop_assert_eq!(found, expected);
                let Some(first) = found else { break };
                let end = blocks.div_ceil(2).max(from + 1);
                let below = (from..end).chain(0..from).find(|&b| !model[b as usize]);
                prop_assert_eq!(map.next_free_below(end, from), below);
                let most = random / 7 % (end + 1);
                let mut other = map.clone();
                let next = other.take_next(end, from, wanted, most);
                let taken = if wanted == 1 {
                    map.take_one(first);
                    1
                } else {
                    map.take(first, wanted)
                };
                if below == Some(first) && first < most {
                    prop_assert_eq!(next, Some((first, taken)));
                    prop_assert_eq!((&other.levels, other.free), (&map.levels, map.free));
                } else if below.is_none_or(|block| block >= most) {
                    prop_assert_eq!(next, None);
                    prop_assert_eq!(other.free - taken, map.free);
                }
                let free = (first..blocks).take_while(|&block| !model[block as usize]).count() as u64;
                prop_assert_eq!(taken, wanted.min(free));
                for block in first..first + taken {
                    prop_assert!(!std::mem::replace(&mut model[block as usize], true));
                }
                prop_assert_eq!(map.free(), model.iter().filter(|&&t| !t).count() as u64);
                // Frees some blocks again.
                if random % 3 == 0 {
                    let given = random / 3 % 70;
                    map.release(first, given);
                    model.iter_mut().skip(first as usize).take(given as usize).for_each(|taken| *taken = false);
                    prop_assert_eq!(map.free(), model.iter().filter(|&&t| !t).count() as u64);
                }
            }
            map.clear();
            prop_assert_eq!(map.next_free(0), Some(0));
            prop_assert_eq!(map.free(), blocks);
        }
    }
}
