//! `num_range`: trims of several ranges with one command. The command counts as one I/O with the bytes of all
//! its ranges.

use crate::plan::WorkerPlan;
use crate::targets::Target;
use crate::worker::Worker;
use crate::worker::feature::{Choice, Feature, Needs};
use fathom_stats::Direction;

/// The ranges of the last drawn trim.
pub(in crate::worker) struct Ranges {
    /// Maximum number of ranges per command.
    most: usize,
    list: Vec<(u64, u32)>,
    /// A range that was drawn but does not fit into the command: it is in another file than the ranges before
    /// it, or would make the command too long.
    held: Option<Target>,
}

impl Feature for Ranges {
    /// Draws the further ranges of a trim, and hands all ranges to the engine.
    fn needs(&self) -> Needs {
        Needs { choice: Choice::EachIo, preparation: true, ..Needs::default() }
    }
}

impl Ranges {
    /// Created for a job that trims several ranges with one command.
    pub(in crate::worker) fn of(plan: &WorkerPlan) -> Option<Ranges> {
        let trims = plan.target_plan.used_directions() == [Direction::Trim];
        (trims && plan.ranges > 1).then(|| Ranges {
            most: plan.ranges as usize,
            list: Vec::with_capacity(plan.ranges as usize),
            held: None,
        })
    }

    /// The ranges of the trim that is about to be issued.
    pub(in crate::worker) fn list(&self) -> &[(u64, u32)] {
        &self.list
    }

    /// A target that was drawn but not issued yet.
    pub(in crate::worker) fn take_held(&mut self) -> Option<Target> {
        self.held.take()
    }
}

impl Worker<'_> {
    /// Counts a drawn target. For a trim of several ranges, the other ranges are drawn as well.
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

    /// Hands the ranges of a trim to the engine, and records each; false if there are none, as for a trim of
    /// a replayed log.
    pub(in crate::worker) fn prepare_ranges(&mut self, slot: u32, target: Target) -> bool {
        let is_trim = target.direction == Direction::Trim;
        let ranges = self.features.ranges.as_mut().filter(|ranges| is_trim && !ranges.list.is_empty());
        let Some(ranges) = ranges else { return false };
        self.engine.set_ranges(slot, target.file, &ranges.list);
        for (offset, length) in ranges.list.drain(..) {
            if let Some(log) = &mut self.features.issue_log {
                log.issue(target.direction as u8, target.file, offset, length);
            }
        }
        true
    }
}
