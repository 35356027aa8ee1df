//! The short way to the next target, for the plans that most jobs have.

use super::direction::Direction;
use super::length::LengthRule;
use super::permutation::Permutation;
use super::{DirectionPlan, Region, Target, TargetPlan, offset};
use crate::random::Seeds;

/// Targets of plans that most jobs have: one file, one length, and either a permutation or plain sequential order.
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
    Permuted { permutation: Permutation, drawn: [u64; DRAWN], used: usize, count: usize },
    /// Next position per direction, relative to the start, and the last at which an I/O still fits; `wraps` goes on at the start.
    Sequential { positions: [u64; 3], last: u64, wraps: bool },
}

impl Simple {
    /// What a job needs that has nothing but these; `None` for all others.
    pub(super) fn of(plan: &TargetPlan, regions: &[Region], seeds: &Seeds) -> Option<Simple> {
        let [region] = regions else { return None };
        let LengthRule::Fixed(length) = plan.lengths[plan.first_direction()] else { return None };
        let partly = plan.postfix.is_some() || plan.random_percent.iter().any(|&percent| percent < 100);
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
            SimpleOrder::Sequential { positions: [0; 3], last: region.size - length, wraps }
        } else if plan.is_permuted() {
            let permutation = offset::permutation(region.size / length, seeds, &region.name);
            SimpleOrder::Permuted { permutation, drawn: [0; DRAWN], used: 0, count: 0 }
        } else {
            return None;
        };
        Some(Simple { start: region.start, length, order })
    }

    /// The next target of a direction.
    #[inline(always)]
    pub(super) fn next(&mut self, direction: Direction) -> Option<Target> {
        let position = match &mut self.order {
            SimpleOrder::Permuted { permutation, drawn, used, count } => {
                if *used == *count {
                    *count = permutation.fill(drawn);
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
                let mut position = positions[direction as usize];
                if position > *last {
                    if !*wraps {
                        return None;
                    }
                    position = 0;
                }
                positions[direction as usize] = position + self.length;
                position
            }
        };
        Some(Target { offset: self.start + position, length: self.length as u32, file: 0, direction })
    }

    /// Starts another pass; `again` repeats the order.
    pub(super) fn restart(&mut self, again: bool) {
        match &mut self.order {
            SimpleOrder::Permuted { permutation, used, count, .. } => {
                permutation.restart(again);
                (*used, *count) = (0, 0);
            }
            SimpleOrder::Sequential { positions, .. } => *positions = [0; 3],
        }
    }
}
