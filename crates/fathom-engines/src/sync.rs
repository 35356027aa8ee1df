//! `sync`: `lseek` if the position differs, then `read` or `write`.

use crate::shared::{Immediate, Positions, outcome};
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};

pub(crate) struct Sync {
    immediate: Immediate,
    positions: Positions,
}

impl EngineType for Sync {
    const DEFINITION: &'static EngineDef = &engines::plain::SYNC;

    fn new(setup: &Setup<'_>) -> Result<Sync, SetupError> {
        Ok(Sync { immediate: Immediate::new(setup), positions: Positions::new(setup) })
    }
}

impl Engine for Sync {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        if !matches!(io.operation(), Operation::Read | Operation::Write) {
            return Queued::Done(self.immediate.perform(io));
        }
        if let Err(errno) = self.positions.seek(io) {
            return Queued::Done(i64::from(-errno.0));
        }
        let (buffer, length) = (io.buffer().cast(), io.length() as usize);
        // SAFETY: the loop provides a buffer of at least `length` bytes that is not used elsewhere during the
        // call.
        let result = outcome(unsafe {
            match io.operation() {
                Operation::Read => libc::read(io.handle().descriptor(), buffer, length),
                _ => libc::write(io.handle().descriptor(), buffer, length),
            }
        });
        self.positions.moved(io, result);
        Queued::Done(result)
    }

    fn reopened(&mut self, index: usize) {
        self.positions.reopened(index);
    }
}
