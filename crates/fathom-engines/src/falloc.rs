//! `falloc`: reads allocate space, writes allocate it and extend the file, trims free it. No data is moved.

use crate::shared::{Immediate, outcome};
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};

pub(crate) struct Falloc {
    immediate: Immediate,
}

impl EngineType for Falloc {
    const DEFINITION: &'static EngineDef = &engines::plain::FALLOC;

    fn new(setup: &Setup<'_>) -> Result<Falloc, SetupError> {
        Ok(Falloc { immediate: Immediate::new(setup) })
    }
}

impl Engine for Falloc {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let mode = match io.operation() {
            Operation::Read => libc::FALLOC_FL_KEEP_SIZE,
            Operation::Write => 0,
            Operation::Trim => libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE,
            _ => return Queued::Done(self.immediate.perform(io)),
        };
        let (offset, length) = (io.offset() as libc::off_t, libc::off_t::from(io.length()));
        // SAFETY: no memory is passed.
        let returned = unsafe { libc::fallocate(io.handle().descriptor(), mode, offset, length) };
        Queued::Done(match returned {
            0 => i64::from(io.length()),
            _ => outcome(-1),
        })
    }
}
