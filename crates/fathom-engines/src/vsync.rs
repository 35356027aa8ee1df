//! `vsync`: `lseek` where the position differs, then `readv` or `writev`.

use crate::shared::{Immediate, Positions, outcome};
use fathom_run::engine::{Engine, Io, Queued, Setup, SetupError, Traits};
use fathom_run::unit::Operation;

pub(crate) struct Vsync {
    immediate: Immediate,
    positions: Positions,
}

impl Engine for Vsync {
    const NAME: &'static str = "vsync";
    const TRAITS: Traits = Traits { synchronous: true, diskless: false, uses_buffers: true };

    fn new(setup: &Setup<'_>) -> Result<Vsync, SetupError> {
        Ok(Vsync { immediate: Immediate::new(setup), positions: Positions::new(setup) })
    }

    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        if !matches!(io.operation, Operation::Read | Operation::Write) {
            return Queued::Done(self.immediate.perform(io));
        }
        if let Err(errno) = self.positions.seek(io) {
            return Queued::Done(i64::from(-errno.0));
        }
        let vector = libc::iovec { iov_base: io.buffer.cast(), iov_len: io.length as usize };
        // SAFETY: the vector names a buffer of the loop that nobody else uses during the call.
        let result = outcome(unsafe {
            match io.operation {
                Operation::Read => libc::readv(io.fd, &vector, 1),
                _ => libc::writev(io.fd, &vector, 1),
            }
        });
        self.positions.moved(io, result);
        Queued::Done(result)
    }
}
