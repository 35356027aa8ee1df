//! Where the I/Os of a job may go: the part of each target that is the job's.

use super::Worker;
use crate::engine::OpenFile;
use crate::invariant::{Invariant, broken, holds};
use crate::plan::WorkerPlan;
use crate::storage::Handle;
use crate::targets::Target;
use fathom_stats::Direction;

/// A target, as close to its neighbours as can be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) handle: Handle,
    /// First byte of what the job may touch.
    start: u64,
    /// Bytes of it.
    size: u64,
}

impl Place {
    pub(super) fn of(plan: &WorkerPlan, file: &OpenFile) -> Place {
        let Place { handle, start, size } = Place { handle: file.handle, start: file.start, size: file.size };
        match plan.replay {
            // A log says itself where its I/Os go, and what they make longer.
            Some(_) => Place { handle, start: 0, size: u64::MAX },
            None => Place { handle, start, size },
        }
    }

    /// True when all of these bytes are the job's.
    #[inline(always)]
    pub(super) fn holds(&self, offset: u64, length: u32) -> bool {
        offset.wrapping_sub(self.start).saturating_add(u64::from(length)) <= self.size
    }
}

impl Worker<'_> {
    /// An I/O that is outside its target, or longer than a buffer: right only where its length is not what it seems. How
    /// the target is reached.
    #[cold]
    #[inline(never)]
    pub(super) fn look_at_odd_target(&self, target: Target) -> Handle {
        let Target { offset, length, file, direction } = target;
        let Some(place) = self.places.get(file as usize) else {
            broken(Invariant::Within, format_args!("{direction:?} of file {file} of {}", self.places.len()))
        };
        let is_inside = match (&self.features.ranges, direction) {
            // The ranges lie anywhere, and their lengths add up.
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

    #[test]
    fn the_last_byte_is_inside_and_the_next_one_is_not() {
        let place = Place { handle: Handle::NONE, start: 4096, size: 8192 };
        assert!(place.holds(4096, 8192) && place.holds(12_287, 1) && place.holds(4096, 0));
        assert!(!place.holds(4095, 1) && !place.holds(12_288, 1) && !place.holds(4096, 8193));
        assert!(!place.holds(0, 1) && !place.holds(u64::MAX, u32::MAX));
    }
}
