//! The short way to the next target, for the plans that most jobs have.

use super::distribution::Sampler;
use super::length::Lengths;
use super::offset::{Draws, RandomOffsets};
use super::permutation::Permutation;
use super::shift_register::ShiftRegister;
use super::uniform::{Grain, Uniform};
use super::{FileState, Target};
use crate::plan::model::targets::{DirectionPlan, TargetPlan};
use fathom_stats::{Direction, PerDirection};

/// Targets of plans that most jobs have: one file, worked on in plain sequential order or at random.
#[derive(Clone)]
pub(super) struct Simple {
    start: u64,
    order: SimpleOrder,
}

/// Blocks drawn at a time.
const DRAWN: usize = 32;

// One per worker, in the loop all the time: a pointer to the larger variant would cost more than its room.
#[allow(clippy::large_enum_variant)]
#[derive(Clone)]
enum SimpleOrder {
    /// Blocks of one length, drawn in batches: the generator's state then stays in registers.
    Random { source: Source, length: u64, drawn: [u64; DRAWN], used: usize, count: usize },
    /// Next position per direction, relative to the start, and the last at which an I/O of this length still fits; `wraps` goes on
    /// at the start.
    Sequential { positions: PerDirection<u64>, length: u64, last: u64, wraps: bool },
    /// Blocks and lengths, drawn one by one: what is drawn depends on what the one before has covered.
    Uniform(Uniform),
}

/// Where random blocks of one length come from.
#[derive(Clone)]
enum Source {
    /// Those that have all been given are given anew at once where the pass goes on.
    Permuted { permutation: Permutation, begins_anew: bool },
    /// The first blocks of those that the register visits: whole ones.
    Registered { register: ShiftRegister, blocks: u64 },
    /// The first blocks of those that the sampler ranks: whole ones.
    Skewed { sampler: Box<Sampler>, blocks: u64 },
}

impl Simple {
    /// What a job needs that has nothing but these; `None` for all others. Takes from the state of the only file what gives its
    /// random offsets.
    pub(super) fn of(
        plan: &TargetPlan,
        files: &mut [FileState],
        lengths: &PerDirection<Lengths>,
        draws: &Draws,
    ) -> Option<Simple> {
        let [file] = files else { return None };
        let partly = plan.postfix.is_some() || plan.random_percent.values().any(|&percent| percent < 100);
        if partly
            || plan.stride.is_some()
            || plan.follows_zones
            || plan.directions == DirectionPlan::TrimThenWrite
            || file.size < plan.smallest_length()
        {
            return None;
        }
        let is_uniform = plan.random && file.random.as_ref().is_some_and(RandomOffsets::is_uniform);
        let order = match is_uniform {
            true => uniform(plan, file, lengths, draws)?,
            false => blocks_of_one_length(plan, file, plan.one_length()?)?,
        };
        Some(Simple { start: file.start, order })
    }

    /// The next target of a direction.
    #[inline(always)]
    pub(super) fn next(&mut self, direction: Direction) -> Option<Target> {
        let (position, length) = match &mut self.order {
            SimpleOrder::Random { source, length, drawn, used, count } => {
                if *used == *count {
                    *count = source.fill(drawn);
                    *used = 0;
                    if *count == 0 {
                        return None;
                    }
                }
                let block = drawn[*used & (DRAWN - 1)];
                *used += 1;
                (block * *length, *length)
            }
            SimpleOrder::Sequential { positions, length, last, wraps } => {
                let mut position = positions[direction];
                if position > *last {
                    if !*wraps {
                        return None;
                    }
                    position = 0;
                }
                positions[direction] = position + *length;
                (position, *length)
            }
            SimpleOrder::Uniform(uniform) => {
                let extent = uniform.next(direction)?;
                (extent.position, extent.length)
            }
        };
        Some(Target { offset: self.start + position, length: length as u32, file: 0, direction })
    }

    /// The words of the generator of random offsets and whether they have 64 bits, if they are drawn from one that fio has.
    pub(super) fn generator_state(&self) -> Option<(Vec<u64>, bool)> {
        match &self.order {
            SimpleOrder::Uniform(uniform) => Some(uniform.generator_state()),
            _ => None,
        }
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
            SimpleOrder::Uniform(uniform) => uniform.restart(again),
        }
    }
}

/// Blocks and lengths that are drawn together.
fn uniform(
    plan: &TargetPlan,
    file: &mut FileState,
    lengths: &PerDirection<Lengths>,
    draws: &Draws,
) -> Option<SimpleOrder> {
    if plan.length_by_pattern {
        return None;
    }
    let map = file.random.take().and_then(RandomOffsets::into_map);
    let grains =
        PerDirection::from_fn(|direction| Grain::new(file.blocks[direction], plan.alignment[direction]));
    let uniform = Uniform::new(
        file.size,
        grains,
        map,
        lengths.clone(),
        draws.offsets().clone(),
        plan.begins_files_anew,
    );
    Some(SimpleOrder::Uniform(uniform))
}

/// Blocks that are as long as they are apart.
fn blocks_of_one_length(plan: &TargetPlan, file: &mut FileState, length: u64) -> Option<SimpleOrder> {
    if !plan.random {
        let wraps = plan.wraps && file.size.is_multiple_of(length);
        let positions = PerDirection::default();
        return Some(SimpleOrder::Sequential { positions, length, last: file.size - length, wraps });
    }
    let blocks = file.size / length;
    let source = match file.random.take()? {
        RandomOffsets::Permutation(permutation) => {
            Source::Permuted { permutation, begins_anew: plan.begins_files_anew }
        }
        RandomOffsets::ShiftRegister(register) => Source::Registered { register, blocks },
        RandomOffsets::Skewed(mut sampler) => {
            sampler.make_table();
            Source::Skewed { sampler, blocks }
        }
        other => {
            file.random = Some(other);
            return None;
        }
    };
    Some(SimpleOrder::Random { source, length, drawn: [0; DRAWN], used: 0, count: 0 })
}

impl Source {
    /// Draws blocks; fewer than there is room for, or none, where a pass ends.
    #[inline(never)]
    fn fill(&mut self, drawn: &mut [u64; DRAWN]) -> usize {
        match self {
            Source::Permuted { permutation, begins_anew } => match permutation.fill(drawn) {
                0 if *begins_anew => {
                    permutation.restart(false);
                    permutation.fill(drawn)
                }
                count => count,
            },
            Source::Registered { register, blocks } => {
                let visited = std::iter::from_fn(|| register.next()).filter(|block| block < blocks);
                drawn.iter_mut().zip(visited).map(|(place, block)| *place = block).count()
            }
            Source::Skewed { sampler, blocks } => {
                drawn.fill_with(|| sampler.next_below(*blocks));
                drawn.len()
            }
        }
    }

    /// Starts another pass; `again` repeats the order. False where what was drawn goes on to be used.
    fn restart(&mut self, again: bool) -> bool {
        match self {
            Source::Permuted { permutation, .. } => permutation.restart(again),
            Source::Registered { register, .. } => register.rewind(),
            // Such an order has no end: without a repetition it goes on.
            Source::Skewed { .. } if !again => return false,
            Source::Skewed { sampler, .. } => sampler.rewind(),
        }
        true
    }
}
