//! The part of each target that a job may access.

use super::Worker;
use crate::engine::OpenFile;
use crate::invariant::{Invariant, broken, holds};
use crate::plan::WorkerPlan;
use crate::storage::Handle;
use fathom_stats::Direction;

/// The part of one target that a job may access, in a compact form because each I/O reads one.
#[derive(Clone, Copy, Debug)]
pub(super) struct TargetPart {
    pub(super) handle: Handle,
    /// First byte that the job may access.
    start: u64,
    /// Length of that part in bytes.
    size: u64,
    /// Length of the longest I/O that fits into both the part and a buffer, in bytes.
    longest: u32,
}

impl TargetPart {
    /// The part of a file that the plan allows, for buffers of `room` bytes.
    pub(super) fn of(plan: &WorkerPlan, file: &OpenFile, room: usize) -> TargetPart {
        let (start, size) = match plan.replay {
            // A log determines its own offsets and may extend files, so it has no limits.
            Some(_) => (0, u64::MAX),
            None => (file.start, file.size),
        };
        TargetPart::new(file.handle, start, size, room)
    }

    fn new(handle: Handle, start: u64, size: u64, room: usize) -> TargetPart {
        let longest = u32::try_from(size.min(room as u64)).unwrap_or(u32::MAX);
        TargetPart { handle, start, size, longest }
    }

    /// True if all of these bytes belong to the job and fit into a buffer. If false, the slow check has to
    /// decide.
    #[inline(always)]
    pub(super) fn takes(&self, offset: u64, length: u32) -> bool {
        length <= self.longest && offset.wrapping_sub(self.start) <= self.size - u64::from(length)
    }

    /// True if all of these bytes belong to the job.
    fn holds(&self, offset: u64, length: u32) -> bool {
        offset.wrapping_sub(self.start).saturating_add(u64::from(length)) <= self.size
    }
}

impl Worker<'_> {
    /// Checks an I/O that failed the fast check: a trim needs no buffer, and a trim of several ranges must have
    /// all of them inside its target. Returns the handle of the target; an I/O outside its target ends the job.
    #[cold]
    #[inline(never)]
    pub(super) fn look_at_odd_target(
        &self,
        offset: u64,
        length: u32,
        file: u32,
        direction: Direction,
    ) -> Handle {
        let Some(place) = self.places.get(file as usize) else {
            broken(Invariant::Within, format_args!("{direction:?} of file {file} of {}", self.places.len()))
        };
        let is_inside = match (&self.features.ranges, direction) {
            // The ranges may be anywhere in the part, so each one is checked; `length` is the sum of their
            // lengths.
            (Some(ranges), Direction::Trim) => {
                ranges.list().iter().all(|&(offset, length)| place.holds(offset, length))
            }
            _ => place.holds(offset, length),
        };
        let (start, end) = (place.start, place.start.saturating_add(place.size));
        holds!(is_inside, Within, "{direction:?} of {length} bytes at {offset}, outside {start} to {end}");
        let room = self.buffers.length();
        let fits = direction == Direction::Trim || length as usize <= room;
        holds!(fits, Buffer, "{direction:?} of {length} bytes, with buffers of {room}");
        place.handle
    }

    /// The buffer of a slot, which holds this many bytes.
    pub(super) fn buffer_of(&self, slot: u32, length: u32) -> *mut u8 {
        let room = self.buffers.length();
        holds!(length as usize <= room, Buffer, "{length} bytes, with buffers of {room}");
        self.buffer(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_byte_is_inside_and_the_next_one_is_not() {
        let place = TargetPart::new(Handle::NONE, 4096, 8192, 1 << 20);
        assert!(place.holds(4096, 8192) && place.holds(12_287, 1) && place.holds(4096, 0));
        assert!(!place.holds(4095, 1) && !place.holds(12_288, 1) && !place.holds(4096, 8193));
        assert!(!place.holds(0, 1) && !place.holds(u64::MAX, u32::MAX));
    }

    proptest! {
        /// The fast check accepts exactly the I/Os that the slow check accepts and that fit into a buffer.
        #[test]
        fn both_looks_agree(
            start in any_size(), size in any_size(), room in any_size(), offset in any_size(), length in any_size()
        ) {
            let length = length as u32;
            let place = TargetPart::new(Handle::NONE, start, size, room as usize);
            for offset in [offset, start.wrapping_add(offset), start.wrapping_add(size).wrapping_sub(offset)] {
                // Only the slow check accepts every offset of a log; the system refuses offsets that are too
                // large.
                let wraps = offset.wrapping_sub(start).checked_add(u64::from(length)).is_none();
                let right = place.holds(offset, length) && u64::from(length) <= room && !wraps;
                prop_assert_eq!(place.takes(offset, length), right, "{:?} {} {}", place, offset, length);
            }
        }
    }

    fn any_size() -> impl Strategy<Value = u64> {
        prop_oneof![
            0u64..16,
            any::<u32>().prop_map(u64::from),
            any::<u64>(),
            (0u64..16).prop_map(|less| u64::MAX - less)
        ]
    }
}
