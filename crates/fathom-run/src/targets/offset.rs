//! Random offsets of one file.

use super::block_map::BlockMap;
use super::distribution::{Sampler, Zones};
use super::permutation::Permutation;
use super::precondition::{Pass, Schedule};
use super::shift_register::ShiftRegister;
use crate::plan::model::distribution::DistributionRule;
use crate::plan::model::lengths::LengthRule;
use crate::plan::model::targets::{GeneratorKind, TargetPlan};
use crate::random::{Generator, SeedUse, Seeds, file_hash};
use fathom_stats::{Direction, PerDirection};

/// The generator of random offsets of one file, in blocks of the alignment.
#[derive(Clone, Debug)]
pub(super) enum RandomOffsets {
    /// Returns each block once, in constant memory.
    Permutation(Permutation),
    /// Returns each block once, by a linear feedback shift register.
    ShiftRegister(ShiftRegister),
    /// Uniform draws; with a map, each block is returned once.
    Uniform { map: Option<BlockMap> },
    /// A Zipf, Pareto or normal distribution.
    Skewed(Box<Sampler>),
    /// Random blocks of zones, per direction.
    Zoned { zones: Box<PerDirection<Zones>> },
    /// A pass that preconditions a disk; boxed, because few jobs have it.
    Precondition(Box<Pass>),
    /// A list of block numbers that is repeated.
    Sequence { blocks: Vec<u64>, stride: bool },
}

/// Position in the list of block numbers for one direction; all files share it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ListPosition {
    position: usize,
    /// Offset added to the listed numbers: with a stride, each group begins after the previous one.
    moved: u64,
}

impl ListPosition {
    /// The next block of the list; `None` if a group with a stride would leave the file.
    fn next(&mut self, list: &[u64], stride: bool, blocks: u64) -> Option<u64> {
        if self.has_ended(list, blocks) {
            return None;
        }
        let block = list.get(self.position)?.saturating_add(self.moved);
        self.position += 1;
        if self.position == list.len() {
            self.position = 0;
            self.moved += if stride { list.len() as u64 } else { 0 };
        }
        Some(block)
    }

    fn has_ended(self, list: &[u64], blocks: u64) -> bool {
        // This runs for every I/O, so the list is searched only at the start of a group.
        self.position == 0 && list.iter().any(|block| block.saturating_add(self.moved) >= blocks)
    }
}

/// Numbers of blocks of a file.
pub(super) struct BlockCounts {
    /// Number of blocks for random offsets, by direction.
    pub(super) of_direction: PerDirection<u64>,
    /// The smallest number of blocks, which all directions can reach.
    pub(super) fewest: u64,
    /// The largest number of blocks, which determines the size of a map.
    most: u64,
    /// Number of blocks for a shift register.
    registered: u64,
    /// Number of blocks for a skewed distribution.
    in_parts: u64,
}

impl BlockCounts {
    /// Block counts of a file of this size.
    pub(super) fn of(plan: &TargetPlan, size: u64) -> BlockCounts {
        let of_direction = PerDirection::from_fn(|direction| plan.blocks_of(direction, size));
        let used = || plan.used_directions().iter().map(|&direction| of_direction[direction]);
        let fewest = used().min().unwrap_or(0);
        // Shift registers and skewed distributions use fio's number of blocks, counted in the smallest block
        // size regardless of the alignment. With a coarser alignment, most of those blocks are beyond the end.
        let widest = plan.used_directions().iter().map(|&direction| plan.alignment[direction]).max();
        let smallest_of = |directions: &[Direction]| {
            let rules = directions.iter().map(|&direction| &plan.lengths[direction]);
            let smallest = rules.map(LengthRule::min).min().unwrap_or(1).max(1);
            widest.filter(|&widest| widest <= smallest).map(|_| smallest)
        };
        let registered = smallest_of(&Direction::ALL).map_or(fewest, |smallest| size / smallest);
        // In this count, fio ignores the size of trims and includes a partial last block.
        let in_parts = smallest_of(&[Direction::Read, Direction::Write])
            .map_or(fewest, |smallest| size.div_ceil(smallest));
        BlockCounts { of_direction, fewest, most: used().max().unwrap_or(0), registered, in_parts }
    }
}

/// Generators that all files of a worker share, in the order of its I/O.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    offsets: Generator,
    zones: Generator,
    places: PerDirection<ListPosition>,
}

impl Draws {
    /// Creates the generators. `is_wide` is true if a file has more blocks than 32-bit numbers can address.
    pub(super) fn new(plan: &TargetPlan, seeds: &Seeds, is_wide: bool) -> Draws {
        let seed = seeds.get(SeedUse::Offset);
        let has_64_bits = match plan.generator {
            GeneratorKind::Tausworthe64 => true,
            GeneratorKind::Free | GeneratorKind::BySize => is_wide,
            _ => false,
        };
        Draws {
            offsets: Generator::new(seed, has_64_bits),
            zones: Generator::new(seeds.get(SeedUse::Zone), false),
            places: PerDirection::default(),
        }
    }

    /// The generator of offsets.
    pub(super) fn offsets(&self) -> &Generator {
        &self.offsets
    }

    /// The generator of zones.
    pub(super) fn zones(&self) -> &Generator {
        &self.zones
    }
}

impl RandomOffsets {
    /// The generator that the plan requests for the file with this name.
    pub(super) fn new(
        plan: &TargetPlan,
        seeds: &Seeds,
        counts: &BlockCounts,
        file_name: &str,
    ) -> RandomOffsets {
        let (blocks, ranks) = (counts.fewest, counts.in_parts);
        let seed = seeds.get(SeedUse::Offset);
        let private_seed = || seeds.of_file(file_name);
        match &plan.distribution {
            DistributionRule::Uniform => RandomOffsets::uniform(plan, seed, counts, file_name),
            DistributionRule::Zipf { theta, center } => {
                RandomOffsets::Skewed(Box::new(Sampler::zipf(*theta, *center, ranks, private_seed())))
            }
            DistributionRule::Pareto { h, center } => {
                RandomOffsets::Skewed(Box::new(Sampler::pareto(*h, *center, ranks, private_seed())))
            }
            DistributionRule::Normal { deviation, center } => {
                RandomOffsets::Skewed(Box::new(Sampler::normal(*deviation, *center, ranks, private_seed())))
            }
            DistributionRule::Zoned(shares) => RandomOffsets::zoned(|direction| {
                Zones::by_percent(&shares[direction], counts.of_direction[direction])
            }),
            DistributionRule::ZonedAbsolute(shares) => RandomOffsets::zoned(|direction| {
                let unit = plan.alignment[direction].max(1);
                Zones::by_size(&shares[direction], counts.of_direction[direction], unit)
            }),
            DistributionRule::Precondition(rule) => {
                let register = ShiftRegister::new(blocks, seed);
                match Schedule::new(rule, blocks, plan.smallest_length()) {
                    Ok(schedule) => RandomOffsets::Precondition(Box::new(Pass::new(schedule, &register))),
                    // `TargetPlan::check` has refused this already.
                    Err(_) => RandomOffsets::ShiftRegister(register),
                }
            }
            DistributionRule::Sequence { blocks: list, stride } => {
                RandomOffsets::Sequence { blocks: list.clone(), stride: *stride }
            }
        }
    }

    fn uniform(plan: &TargetPlan, seed: u64, counts: &BlockCounts, file_name: &str) -> RandomOffsets {
        match plan.generator {
            GeneratorKind::ShiftRegister => {
                RandomOffsets::ShiftRegister(ShiftRegister::new(counts.registered, seed))
            }
            GeneratorKind::Free if plan.is_permuted() => {
                RandomOffsets::Permutation(permutation_of(counts.fewest, seed, file_name))
            }
            _ => {
                let map = plan.each_block_once.then(|| BlockMap::new(counts.most)).flatten();
                RandomOffsets::Uniform { map }
            }
        }
    }

    fn zoned(zones: impl Fn(Direction) -> Zones) -> RandomOffsets {
        RandomOffsets::Zoned { zones: Box::new(PerDirection::from_fn(zones)) }
    }

    /// The next block; `None` once each block has been returned.
    #[inline]
    pub(super) fn next(&mut self, blocks: u64, direction: Direction, draws: &mut Draws) -> Option<u64> {
        match self {
            RandomOffsets::Permutation(permutation) => permutation.next(),
            RandomOffsets::ShiftRegister(register) => {
                std::iter::from_fn(|| register.next()).find(|&block| block < blocks)
            }
            RandomOffsets::Uniform { map } => {
                let drawn = draws.offsets.below(blocks);
                match map {
                    Some(map) => map.next_free_below(blocks, drawn),
                    None => Some(drawn),
                }
            }
            RandomOffsets::Skewed(sampler) => Some(sampler.next_below(blocks)),
            RandomOffsets::Precondition(pass) => pass.next(),
            RandomOffsets::Zoned { zones } => {
                let percent = 1 + draws.zones.below(100) as u32;
                zones[direction].next(percent, |end| draws.offsets.below(end))
            }
            RandomOffsets::Sequence { blocks: list, stride } => {
                draws.places[direction].next(list, *stride, blocks)
            }
        }
    }

    /// Called when a sequential step replaces a draw. Only a list advances, because it counts all I/Os, as in
    /// fio.
    #[cold]
    #[inline(never)]
    pub(super) fn pass_over(&mut self, blocks: u64, direction: Direction, draws: &mut Draws) {
        if let RandomOffsets::Sequence { blocks: list, stride } = self {
            draws.places[direction].next(list, *stride, blocks);
        }
    }

    /// Marks blocks as covered, starting with `first`; returns how many were free. Without a map, all blocks
    /// count as free.
    #[inline]
    pub(super) fn cover(&mut self, first: u64, count: u64) -> u64 {
        match self {
            RandomOffsets::Uniform { map: Some(map) } => map.take(first, count),
            _ => count,
        }
    }

    /// True for a list of block numbers whose next group leaves the file in this direction.
    pub(super) fn list_has_ended(&self, blocks: u64, direction: Direction, draws: &Draws) -> bool {
        match self {
            RandomOffsets::Sequence { blocks: list, .. } => draws.places[direction].has_ended(list, blocks),
            _ => false,
        }
    }

    /// True for uniform draws, with or without a map.
    pub(super) fn is_uniform(&self) -> bool {
        matches!(self, RandomOffsets::Uniform { .. })
    }

    /// True for draws from the generators that all files of a worker share.
    pub(super) fn shares_draws(&self) -> bool {
        matches!(
            self,
            RandomOffsets::Uniform { .. } | RandomOffsets::Zoned { .. } | RandomOffsets::Sequence { .. }
        )
    }

    /// The map of uniform draws.
    pub(super) fn into_map(self) -> Option<BlockMap> {
        match self {
            RandomOffsets::Uniform { map } => map,
            _ => None,
        }
    }

    /// True for a permutation of the blocks.
    pub(super) fn is_permuted(&self) -> bool {
        matches!(self, RandomOffsets::Permutation(_))
    }

    /// Frees blocks, starting with `first`, that [`cover`](RandomOffsets::cover) had marked.
    pub(super) fn uncover(&mut self, first: u64, count: u64) {
        if let RandomOffsets::Uniform { map: Some(map) } = self {
            map.release(first, count);
        }
    }

    /// Makes every block available again. With `again`, the order is repeated; otherwise a new order begins, or
    /// an endless one continues. Draws from [`Draws`] restart together with their generators.
    pub(super) fn restart(&mut self, again: bool) {
        match self {
            RandomOffsets::Permutation(permutation) => permutation.restart(again),
            RandomOffsets::ShiftRegister(register) => register.rewind(),
            RandomOffsets::Uniform { map: Some(map) } => map.clear(),
            RandomOffsets::Skewed(sampler) if again => sampler.rewind(),
            RandomOffsets::Precondition(pass) if again => pass.rewind(),
            _ => {}
        }
    }
}

/// The permutation of a file's blocks. Its key depends on the seed and the file name, because clones and files
/// need different orders.
fn permutation_of(blocks: u64, seed: u64, file_name: &str) -> Permutation {
    Permutation::new(blocks, seed ^ u64::from(file_hash(file_name.as_bytes())))
}
