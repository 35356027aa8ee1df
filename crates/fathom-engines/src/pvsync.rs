//! `pvsync`: `preadv` and `pwritev` with one vector.

use crate::shared::{Immediate, outcome};
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};

pub(crate) struct Pvsync {
    immediate: Immediate,
}

impl EngineType for Pvsync {
    const DEFINITION: &'static EngineDef = &engines::plain::PVSYNC;

    fn new(setup: &Setup<'_>) -> Result<Pvsync, SetupError> {
        Ok(Pvsync { immediate: Immediate::new(setup) })
    }
}

impl Engine for Pvsync {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let vector = libc::iovec { iov_base: io.buffer().cast(), iov_len: io.length() as usize };
        let offset = io.offset() as libc::off_t;
        // SAFETY: the vector refers to a buffer of the loop that is not used elsewhere during the call.
        let returned = unsafe {
            match io.operation() {
                Operation::Read => libc::preadv(io.handle().descriptor(), &vector, 1, offset),
                Operation::Write => libc::pwritev(io.handle().descriptor(), &vector, 1, offset),
                _ => return Queued::Done(self.immediate.perform(io)),
            }
        };
        Queued::Done(outcome(returned))
    }
}
