//! `null`: completes I/O immediately without doing anything, so that only the cost of fathom itself remains.

use fathom_run::engine::{Completion, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;

/// At depth 1, every I/O completes when it is queued; at larger depths, when it is reaped.
pub(crate) struct Null {
    /// A ring of slots and lengths, in order of arrival. Its length is a power of two, or 0 at depth 1. The
    /// other fields count the I/Os that were queued, completed and taken.
    ring: Box<[(u32, u32)]>,
    queued: usize,
    committed: usize,
    ended: usize,
    taken: usize,
}

impl EngineType for Null {
    const DEFINITION: &'static EngineDef = &engines::plain::NULL;

    fn new(setup: &Setup<'_>) -> Result<Null, SetupError> {
        let length = if setup.depth > 1 { setup.depth.next_power_of_two() as usize } else { 0 };
        Ok(Null { ring: vec![(0, 0); length].into(), queued: 0, committed: 0, ended: 0, taken: 0 })
    }
}

impl Engine for Null {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let place = self.queued & self.ring.len().wrapping_sub(1);
        let Some(place) = self.ring.get_mut(place) else { return Queued::Done(i64::from(io.length())) };
        *place = (slot, io.length());
        self.queued += 1;
        Queued::Pending
    }

    #[inline(always)]
    fn commit(&mut self) -> Result<u32, Errno> {
        let fresh = self.queued - self.committed;
        self.committed = self.queued;
        Ok(fresh as u32)
    }

    fn has_ends_in_place(&self) -> bool {
        true
    }

    /// Completes the oldest I/Os first, as a device would.
    #[inline(always)]
    fn await_ends(&mut self, _min: u32, most: u32) -> Result<(), Errno> {
        self.ended = self.committed.min(self.taken + most as usize);
        Ok(())
    }

    #[inline(always)]
    fn ends(&self) -> u32 {
        (self.ended - self.taken) as u32
    }

    #[inline(always)]
    fn take_end(&mut self) -> Completion {
        let last = self.ring.len() - 1;
        let (slot, length) = self.ring[self.taken & last];
        self.taken += 1;
        Completion { slot, result: i64::from(length) }
    }

    fn counts_batches(&self) -> bool {
        !self.ring.is_empty()
    }

    fn ends_at_once(&self, _definition: &EngineDef) -> bool {
        self.ring.is_empty()
    }
}
