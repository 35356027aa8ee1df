//! `num_range`: trims of several ranges with one command. The command is one I/O, with the bytes of all its ranges.

use crate::engine::Engine;
use crate::plan::WorkerPlan;
use crate::targets::Target;
use crate::worker::Worker;
use crate::worker::features::{Feature, Needs};
use fathom_stats::Direction;

/// The ranges of the trim drawn last.
pub(in crate::worker) struct Ranges {
    /// In one command, at most.
    most: usize,
    list: Vec<(u64, u32)>,
    /// Drawn, but in another file than the ranges before it, or too much together with them.
    held: Option<Target>,
}

impl Feature for Ranges {
    /// Draws the further ranges, and hands them to the engine.
    fn needs(&self) -> Needs {
        Needs { choice: true, preparation: true, ..Needs::default() }
    }
}

impl Ranges {
    /// Those of a job that trims several at a time.
    pub(in crate::worker) fn of(plan: &WorkerPlan) -> Option<Ranges> {
        let trims = plan.target_plan.used_directions() == [Direction::Trim];
        (trims && plan.ranges > 1).then(|| Ranges {
            most: plan.ranges as usize,
            list: Vec::with_capacity(plan.ranges as usize),
            held: None,
        })
    }

    /// The length of the first range of a trim.
    pub(in crate::worker) fn first_length(&self, target: Target) -> u32 {
        self.list.first().map_or(target.length, |&(_, length)| length)
    }

    /// A target that was drawn and has not had its turn.
    pub(in crate::worker) fn take_held(&mut self) -> Option<Target> {
        self.held.take()
    }
}

impl<E: Engine> Worker<'_, E> {
    /// Counts a drawn target against what there is to do; a trim of several ranges draws the others.
    #[inline(always)]
    pub(in crate::worker) fn take(&mut self, target: Target) -> Target {
        self.budget.spend(u64::from(target.length));
        if self.features.ranges.is_some() { self.gather_ranges(target) } else { target }
    }

    #[inline(never)]
    fn gather_ranges(&mut self, first: Target) -> Target {
        let Some(mut ranges) = self.features.ranges.take() else { return first };
        ranges.list.clear();
        ranges.list.push((first.offset, first.length));
        let mut whole = first;
        while ranges.list.len() < ranges.most && !self.budget.is_spent() {
            let Some(next) = self.targets.next_in_direction(first.direction) else { break };
            let Some(length) = whole.length.checked_add(next.length).filter(|_| next.file == first.file)
            else {
                ranges.held = Some(next);
                break;
            };
            self.budget.spend(u64::from(next.length));
            ranges.list.push((next.offset, next.length));
            whole.length = length;
        }
        self.features.ranges = Some(ranges);
        whole
    }

    /// Hands the ranges of a trim to the engine. Those of others, as of a log that is replayed, have one.
    pub(in crate::worker) fn prepare_ranges(&mut self, slot: u32, target: Target) {
        let Some(ranges) = &mut self.features.ranges else { return };
        if target.direction == Direction::Trim && !ranges.list.is_empty() {
            self.engine.set_ranges(slot, target.file, &ranges.list);
        }
        if let Some(log) = &mut self.features.issue_log {
            let rest = ranges.list.iter().skip(1);
            rest.for_each(|&(offset, length)| log.issue(target.direction as u8, target.file, offset, length));
        }
        ranges.list.clear();
    }
}
