//! The short way to the next target, for the plans that most jobs have.

use super::distribution::Sampler;
use super::offset::{self, RandomOffsets};
use super::permutation::Permutation;
use super::{Region, Target};
use crate::plan::model::lengths::LengthRule;
use crate::plan::model::targets::{DirectionPlan, TargetPlan};
use crate::random::Seeds;
use fathom_stats::{Direction, PerDirection};

/// Targets of plans that most jobs have: one file, one length, and a permutation, a skewed distribution or plain sequential
/// order.
#[derive(Clone)]
pub(super) struct Simple {
    start: u64,
    length: u64,
    order: SimpleOrder,
}

/// Blocks drawn at a time.
const DRAWN: usize = 32;

// One per worker, in the loop all the time: a pointer to the larger variant would cost more than its room.
#[allow(clippy::large_enum_variant)]
#[derive(Clone)]
enum SimpleOrder {
    /// Drawn in batches: the generator's state then stays in registers.
    Random { source: Source, drawn: [u64; DRAWN], used: usize, count: usize },
    /// Next position per direction, relative to the start, and the last at which an I/O still fits; `wraps` goes on at the start.
    Sequential { positions: PerDirection<u64>, last: u64, wraps: bool },
}

/// Where random blocks come from.
#[derive(Clone)]
enum Source {
    Permuted(Permutation),
    /// The first blocks of those that the sampler ranks: whole ones.
    Skewed {
        sampler: Sampler,
        fresh: Box<Sampler>,
        blocks: u64,
    },
}

impl Simple {
    /// What a job needs that has nothing but these; `None` for all others. `random` gives the offsets of its first file.
    pub(super) fn of(
        plan: &TargetPlan,
        regions: &[Region],
        random: Option<&RandomOffsets>,
        seeds: &Seeds,
    ) -> Option<Simple> {
        let [region] = regions else { return None };
        let LengthRule::Fixed(length) = plan.lengths[plan.first_direction()] else { return None };
        let partly = plan.postfix.is_some() || plan.random_percent.values().any(|&percent| percent < 100);
        if partly
            || plan.stride.is_some()
            || plan.follows_zones
            || !plan.has_one_length()
            || plan.directions == DirectionPlan::TrimThenWrite
            || region.size < length
        {
            return None;
        }
        let order = if !plan.random {
            let wraps = plan.wraps && region.size.is_multiple_of(length);
            SimpleOrder::Sequential { positions: PerDirection::default(), last: region.size - length, wraps }
        } else {
            let blocks = region.size / length;
            let source = match random {
                _ if plan.is_permuted() => Source::Permuted(offset::permutation(blocks, seeds, &region.name)),
                Some(RandomOffsets::Skewed(sampler)) => {
                    Source::Skewed { sampler: sampler.clone(), fresh: Box::new(sampler.clone()), blocks }
                }
                _ => return None,
            };
            SimpleOrder::Random { source, drawn: [0; DRAWN], used: 0, count: 0 }
        };
        Some(Simple { start: region.start, length, order })
    }

    /// The next target of a direction.
    #[inline(always)]
    pub(super) fn next(&mut self, direction: Direction) -> Option<Target> {
        let position = match &mut self.order {
            SimpleOrder::Random { source, drawn, used, count } => {
                if *used == *count {
                    *count = source.fill(drawn);
                    *used = 0;
                    if *count == 0 {
                        return None;
                    }
                }
                let block = drawn[*used & (DRAWN - 1)];
                *used += 1;
                block * self.length
            }
            SimpleOrder::Sequential { positions, last, wraps } => {
                let mut position = positions[direction];
                if position > *last {
                    if !*wraps {
                        return None;
                    }
                    position = 0;
                }
                positions[direction] = position + self.length;
                position
            }
        };
        Some(Target { offset: self.start + position, length: self.length as u32, file: 0, direction })
    }

    /// Starts another pass; `again` repeats the order.
    pub(super) fn restart(&mut self, again: bool) {
        match &mut self.order {
            SimpleOrder::Random { source, used, count, .. } => {
                if source.restart(again) {
                    (*used, *count) = (0, 0);
                }
            }
            SimpleOrder::Sequential { positions, .. } => *positions = PerDirection::default(),
        }
    }
}

impl Source {
    /// Draws blocks; fewer than there is room for, or none, where a pass ends.
    #[inline(never)]
    fn fill(&mut self, drawn: &mut [u64; DRAWN]) -> usize {
        match self {
            Source::Permuted(permutation) => permutation.fill(drawn),
            Source::Skewed { sampler, blocks, .. } => {
                drawn.fill_with(|| sampler.next_below(*blocks));
                drawn.len()
            }
        }
    }

    /// Starts another pass; `again` repeats the order. False where what was drawn goes on to be used.
    fn restart(&mut self, again: bool) -> bool {
        match self {
            Source::Permuted(permutation) => permutation.restart(again),
            // Such an order has no end: without a repetition it goes on.
            Source::Skewed { .. } if !again => return false,
            Source::Skewed { sampler, fresh, .. } => sampler.clone_from(fresh),
        }
        true
    }
}
