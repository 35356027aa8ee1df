//! The slots of a worker, each free or in flight. A single type manages them, so that no two I/Os ever use the
//! same unit or buffer.

use crate::invariant::{debug_holds, holds};
use crate::unit::Unit;

/// Tracks which slots are free, which are in flight, and how many of those in flight were handed to the engine.
/// A slot is in flight from [`begin`](Slots::begin) until [`end`](Slots::end), and its unit shows that to other
/// processes.
pub(super) struct Slots<'a> {
    units: &'a [Unit],
    /// Slots, of which the first `free_count` are free.
    free: Box<[u32]>,
    free_count: usize,
    /// Number of I/Os that were handed to the engine and have not completed.
    handed_over: u32,
}

impl<'a> Slots<'a> {
    /// One slot for each unit; all are free and the first one is taken first.
    pub(super) fn new(units: &'a [Unit]) -> Slots<'a> {
        let free: Box<[u32]> = (0..).take(units.len()).collect::<Vec<u32>>().into_iter().rev().collect();
        Slots { units, free_count: free.len(), free, handed_over: 0 }
    }

    /// Takes a free slot.
    #[inline(always)]
    pub(super) fn take(&mut self) -> u32 {
        let last = self.free_count.wrapping_sub(1);
        holds!(last < self.free.len(), FreeSlot, "none of {} is free", self.free.len());
        self.free_count = last;
        self.free[last]
    }

    /// Returns a slot that has completed.
    #[inline(always)]
    pub(super) fn give_back(&mut self, slot: u32) {
        let place = self.free_count;
        holds!(place < self.free.len(), FreeSlot, "slot {slot} is one more than all {place}");
        debug_holds!(!self.free[..place].contains(&slot), FreeSlot, "slot {slot} is given back twice");
        debug_holds!(!self.is_in_flight(slot), FreeSlot, "slot {slot} is given back in flight");
        self.free[place] = slot;
        self.free_count = place + 1;
    }

    /// Begins an I/O in this slot; returns its unit.
    #[inline(always)]
    pub(super) fn begin(&self, slot: u32) -> &'a Unit {
        let unit = self.unit(slot);
        debug_holds!(!unit.is_in_flight(), FreeSlot, "slot {slot} begins an I/O and has one in flight");
        unit
    }

    /// Ends the I/O of a slot, at least partly; returns its unit.
    #[inline(always)]
    pub(super) fn end(&self, slot: u32) -> &'a Unit {
        let unit = self.unit(slot);
        holds!(unit.is_in_flight(), SlotInFlight, "slot {slot} ends, in which nothing is in flight");
        unit.set_in_flight(false);
        unit
    }

    /// The unit of a slot.
    #[inline(always)]
    pub(super) fn unit(&self, slot: u32) -> &'a Unit {
        let count = self.units.len();
        holds!((slot as usize) < count, SlotInFlight, "slot {slot} is not one of {count}");
        &self.units[slot as usize]
    }

    /// The units of all slots.
    #[inline(always)]
    pub(super) fn units(&self) -> &'a [Unit] {
        self.units
    }

    /// Records that the engine has accepted `count` I/Os; returns how many it has now.
    #[inline(always)]
    pub(super) fn hand_over(&mut self, count: u32) -> u32 {
        self.handed_over += count;
        self.handed_over
    }

    /// Asserts that at least this many I/Os have been handed over.
    #[inline(always)]
    pub(super) fn check_ends(&self, ends: u32) {
        let most = self.handed_over;
        holds!(ends <= most, Ends, "{ends} I/Os end of {most} that were handed over");
    }

    /// Records that an I/O has completed, and that none is handed over in its place.
    #[inline(always)]
    pub(super) fn take_back(&mut self, slot: u32) {
        let (left, is_below) = self.handed_over.overflowing_sub(1);
        holds!(!is_below, Ends, "slot {slot} ends after all that was handed over");
        self.handed_over = left;
    }

    /// Number of I/Os that were handed over and have not completed.
    #[inline(always)]
    pub(super) fn handed_over(&self) -> u32 {
        self.handed_over
    }

    /// Number of slots in use.
    pub(super) fn taken(&self) -> usize {
        self.units.len() - self.free_count
    }

    /// True if another I/O has to wait for a slot.
    pub(super) fn none_is_free(&self) -> bool {
        self.free_count == 0
    }

    /// Asserts that every slot is free; called when no I/O is queued or handed over.
    pub(super) fn check_all_free(&self) {
        let count = self.units.len();
        holds!(self.handed_over == 0, Ends, "{} I/Os have not ended", self.handed_over);
        holds!(self.free_count == count, FreeSlot, "{} of {count} are free at the end", self.free_count);
        self.check_none_in_flight();
    }

    /// Asserts that nothing is in flight.
    pub(super) fn check_none_in_flight(&self) {
        let first = self.units.iter().position(Unit::is_in_flight);
        holds!(first.is_none(), FreeSlot, "slot {} is in flight at the end", first.unwrap_or_default());
    }

    fn is_in_flight(&self, slot: u32) -> bool {
        self.units.get(slot as usize).is_some_and(Unit::is_in_flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Broken, Invariant};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn units(count: usize) -> Vec<Unit> {
        (0..count).map(|_| Unit::default()).collect()
    }

    fn broken_by(work: impl FnOnce()) -> Option<Invariant> {
        let payload = catch_unwind(AssertUnwindSafe(work)).err()?;
        payload.downcast::<Broken>().ok().map(|broken| broken.invariant)
    }

    #[test]
    fn more_than_all_cannot_be_taken() {
        let units = units(3);
        let mut slots = Slots::new(&units);
        assert_eq!([slots.take(), slots.take(), slots.take()], [0, 1, 2]);
        assert!(slots.none_is_free());
        assert_eq!(broken_by(|| _ = slots.take()), Some(Invariant::FreeSlot));
    }

    #[test]
    fn a_slot_is_not_given_back_twice() {
        let units = units(3);
        let mut slots = Slots::new(&units);
        let (first, second) = (slots.take(), slots.take());
        slots.give_back(first);
        if crate::invariant::CHECKS_ALL {
            assert_eq!(broken_by(|| slots.give_back(first)), Some(Invariant::FreeSlot));
        }
        slots.give_back(second);
        assert_eq!(broken_by(|| slots.give_back(second)), Some(Invariant::FreeSlot));
    }

    #[test]
    fn a_slot_in_flight_begins_nothing_and_ends_once() {
        let units = units(2);
        let mut slots = Slots::new(&units);
        let slot = slots.take();
        slots.begin(slot).set_in_flight(true);
        slots.hand_over(1);
        if crate::invariant::CHECKS_ALL {
            assert_eq!(broken_by(|| _ = slots.begin(slot)), Some(Invariant::FreeSlot));
        }
        assert_eq!(broken_by(|| slots.check_all_free()), Some(Invariant::Ends));
        slots.check_ends(1);
        assert_eq!(broken_by(|| slots.check_ends(2)), Some(Invariant::Ends));
        slots.take_back(slot);
        assert_eq!(broken_by(|| slots.check_none_in_flight()), Some(Invariant::FreeSlot));
        slots.end(slot);
        assert_eq!(broken_by(|| _ = slots.end(slot)), Some(Invariant::SlotInFlight));
        assert_eq!(broken_by(|| slots.take_back(slot)), Some(Invariant::Ends));
        assert_eq!(broken_by(|| slots.check_all_free()), Some(Invariant::FreeSlot));
        slots.give_back(slot);
        slots.check_all_free();
    }

    #[test]
    fn a_slot_that_there_is_none_of_ends_nothing() {
        let units = units(2);
        let slots = Slots::new(&units);
        assert_eq!(broken_by(|| _ = slots.end(2)), Some(Invariant::SlotInFlight));
        assert_eq!(broken_by(|| _ = slots.end(u32::MAX)), Some(Invariant::SlotInFlight));
    }

    proptest! {
        /// Regardless of the order of starts and completions, no two I/Os share a slot, and all slots are free
        /// afterwards.
        #[test]
        fn no_two_have_the_same_slot(depth in 1usize..20, choices in prop::collection::vec(any::<(bool, u8)>(), 0..200)) {
            let units = units(depth);
            let mut slots = Slots::new(&units);
            let mut busy = BTreeSet::new();
            for (begins, which) in choices {
                if begins && busy.len() < depth {
                    let slot = slots.take();
                    slots.begin(slot).set_in_flight(true);
                    prop_assert_eq!(slots.hand_over(1) as usize, busy.len() + 1);
                    prop_assert!(busy.insert(slot));
                } else if let Some(&slot) = busy.iter().nth(usize::from(which) % busy.len().max(1)) {
                    busy.remove(&slot);
                    slots.take_back(slot);
                    slots.end(slot);
                    slots.give_back(slot);
                }
                prop_assert_eq!(slots.handed_over() as usize, busy.len());
                prop_assert_eq!(slots.none_is_free(), busy.len() == depth);
            }
            for slot in busy {
                slots.take_back(slot);
                slots.end(slot);
                slots.give_back(slot);
            }
            slots.check_all_free();
        }
    }
}
