//! `null`: completes immediately without doing anything. What remains is the cost of fathom itself.

use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;

/// At depth 1 every I/O completes when it is queued; at larger depths, when it is reaped.
pub(crate) struct Null {
    deep: bool,
    /// Submitted, not yet reaped: slot and length.
    in_flight: Vec<(u32, u32)>,
    committed: usize,
}

impl EngineType for Null {
    const DEFINITION: &'static EngineDef = &engines::plain::NULL;

    fn new(setup: &Setup<'_>) -> Result<Null, SetupError> {
        let deep = setup.depth > 1;
        Ok(Null { deep, in_flight: Vec::with_capacity(setup.depth as usize), committed: 0 })
    }
}

impl Engine for Null {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        if !self.deep {
            return Queued::Done(i64::from(io.length()));
        }
        self.in_flight.push((slot, io.length()));
        Queued::Pending
    }

    #[inline(always)]
    fn commit(&mut self) -> Result<u32, Errno> {
        let fresh = self.in_flight.len() - self.committed;
        self.committed = self.in_flight.len();
        Ok(fresh as u32)
    }

    #[inline(always)]
    fn reap(&mut self, _min: u32, out: &mut Completions) -> Result<(), Errno> {
        let count = self.committed.min(out.room());
        for &(slot, length) in &self.in_flight[..count] {
            out.push(slot, i64::from(length));
        }
        // Oldest first, as a device would; usually that is all of them.
        if count == self.in_flight.len() {
            self.in_flight.clear();
        } else {
            self.in_flight.drain(..count);
        }
        self.committed -= count;
        Ok(())
    }

    fn counts_batches(&self) -> bool {
        self.deep
    }

    fn ends_at_once(&self, _definition: &EngineDef) -> bool {
        !self.deep
    }
}
