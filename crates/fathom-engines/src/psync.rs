//! `psync`: `pread` and `pwrite`.

use crate::shared::{Immediate, outcome};
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};

pub(crate) struct Psync {
    immediate: Immediate,
}

impl EngineType for Psync {
    const DEFINITION: &'static EngineDef = &engines::plain::PSYNC;

    fn new(setup: &Setup<'_>) -> Result<Psync, SetupError> {
        Ok(Psync { immediate: Immediate::new(setup) })
    }
}

impl Engine for Psync {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let (buffer, length, offset) = (io.buffer().cast(), io.length() as usize, io.offset() as libc::off_t);
        // SAFETY: the loop provides a buffer of at least `length` bytes that is not used elsewhere during the
        // call.
        let returned = unsafe {
            match io.operation() {
                Operation::Read => libc::pread(io.handle().descriptor(), buffer, length, offset),
                Operation::Write => libc::pwrite(io.handle().descriptor(), buffer, length, offset),
                _ => return Queued::Done(self.immediate.perform(io)),
            }
        };
        Queued::Done(outcome(returned))
    }
}
