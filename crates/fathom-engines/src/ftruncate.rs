//! `ftruncate`: each write sets the length of the file to its offset.

use crate::shared::{Immediate, outcome};
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};

pub(crate) struct Ftruncate {
    immediate: Immediate,
}

impl EngineType for Ftruncate {
    const DEFINITION: &'static EngineDef = &engines::plain::FTRUNCATE;

    fn new(setup: &Setup<'_>) -> Result<Ftruncate, SetupError> {
        Ok(Ftruncate { immediate: Immediate::new(setup) })
    }
}

impl Engine for Ftruncate {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        if io.operation() != Operation::Write {
            return Queued::Done(self.other(io));
        }
        // SAFETY: no memory is passed.
        let returned = unsafe { libc::ftruncate(io.handle().descriptor(), io.offset() as libc::off_t) };
        Queued::Done(match returned {
            0 => i64::from(io.length()),
            _ => outcome(-1),
        })
    }
}

impl Ftruncate {
    /// Performs syncs, the only other operations: the engine's rules refuse reads and trims.
    #[cold]
    fn other(&self, io: &Io) -> i64 {
        if io.operation().is_sync() { self.immediate.perform(io) } else { i64::from(-libc::EINVAL) }
    }
}
