//! `serialize_overlap`: an I/O that overlaps one in flight waits for it. With `io_submit_mode=offload`, this
//! includes the I/O of all other jobs that set both options.

use crate::files::names;
use crate::region::{Region, Reservation};
use crate::targets::Target;
use crate::unit::Unit;
use crate::worker::WorkerContext;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// The I/Os that an I/O must not overlap.
pub(in crate::worker) struct OverlapRule<'a> {
    units: &'a [Unit],
    reservation: &'a Reservation,
    region: &'a Region,
    /// A number for each file that represents its name.
    files: Vec<u64>,
    /// Index and files of each other job to check.
    others: Vec<(usize, Vec<u64>)>,
}

impl<'a> OverlapRule<'a> {
    /// The rule of a worker; `None` if its I/O cannot overlap another.
    pub(in crate::worker) fn of(context: &WorkerContext<'a>) -> Option<OverlapRule<'a>> {
        let (plan, own) = (context.plan, context.worker_plan());
        let verifies = own.verify.as_ref();
        if !own.queue.serializes_overlap && !verifies.is_some_and(|verify| verify.serializes_writes) {
            return None;
        }
        let files_of = |index: usize| -> Vec<u64> {
            names::paths(&plan.workers[index].files.names).iter().map(number_of).collect()
        };
        let shares = |index: &usize| {
            let other = &plan.workers[*index].queue;
            *index != context.index && other.serializes_overlap && other.offloads && own.queue.offloads
        };
        let others: Vec<(usize, Vec<u64>)> =
            (0..plan.workers.len()).filter(shares).map(|index| (index, files_of(index))).collect();
        if own.depth == 1 && others.is_empty() {
            return None;
        }
        Some(OverlapRule {
            units: context.region.units(context.index),
            reservation: &context.block().reservation,
            region: context.region,
            files: files_of(context.index),
            others,
        })
    }

    /// True if the I/O of other jobs counts as well.
    pub(in crate::worker) fn spans_jobs(&self) -> bool {
        !self.others.is_empty()
    }

    /// True if an I/O may be issued, false if it has to wait.
    pub(in crate::worker) fn lets_through(&self, target: Target) -> bool {
        let (start, end) = (target.offset, target.offset + u64::from(target.length));
        let meets = |unit: &Unit, is_same: bool| {
            unit.is_in_flight()
                && is_same
                && unit.offset() < end
                && start < unit.offset() + u64::from(unit.length())
        };
        if self.units.iter().any(|unit| meets(unit, unit.file() == target.file)) {
            return false;
        }
        if self.others.is_empty() {
            return true;
        }
        let file = self.files.get(target.file as usize).copied().unwrap_or(0);
        // The range is reserved first and checked afterwards, so that at least one of two concurrent jobs sees
        // the other.
        self.reservation.set(file, start, end);
        let free = self.others.iter().all(|(index, files)| {
            let is_same = |unit: &Unit| files.get(unit.file() as usize) == Some(&file);
            let units = self.region.units(*index);
            !self.region.worker(*index).reservation.meets(file, start, end)
                && !units.iter().any(|unit| meets(unit, is_same(unit)))
        });
        if !free {
            self.reservation.clear();
        }
        free
    }

    /// Called when the admitted I/O is in flight or has completed.
    pub(in crate::worker) fn clear_reservation(&self) {
        if self.spans_jobs() {
            self.reservation.clear();
        }
    }
}

fn number_of(path: &PathBuf) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    // The lowest bit is set, because 0 means no reservation.
    hasher.finish() | 1
}
