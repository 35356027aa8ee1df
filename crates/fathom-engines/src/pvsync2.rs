//! `pvsync2`: `preadv2` and `pwritev2`, which take flags for each call.

use crate::shared::{Immediate, outcome, rwf};
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::random::Taus88;
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};

pub(crate) struct Pvsync2 {
    immediate: Immediate,
    flags: i32,
    write_flags: i32,
    /// Share of I/Os with polled completion, percent.
    polled_percent: u32,
    generator: Taus88,
}

impl EngineType for Pvsync2 {
    const DEFINITION: &'static EngineDef = &engines::pvsync2::DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<Pvsync2, SetupError> {
        let options = &setup.job.private.pvsync2;
        let mut flags = 0;
        if options.uncached.unwrap_or(0) != 0 {
            flags |= rwf::DONTCACHE;
        }
        if options.nowait {
            flags |= rwf::NOWAIT;
        }
        Ok(Pvsync2 {
            immediate: Immediate::new(setup),
            flags,
            write_flags: if setup.job.engine.atomic { rwf::ATOMIC } else { 0 },
            polled_percent: if options.hipri { options.hipri_percentage } else { 0 },
            generator: Taus88::new(setup.job.io_type.randseed),
        })
    }
}

impl Engine for Pvsync2 {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let vector = libc::iovec { iov_base: io.buffer().cast(), iov_len: io.length() as usize };
        let offset = io.offset() as libc::off_t;
        let mut flags = self.flags;
        if self.polled_percent > 0 && self.generator.percent() <= self.polled_percent {
            flags |= rwf::HIPRI;
        }
        // SAFETY: the vector refers to a buffer of the loop that is not used elsewhere during the call.
        let returned = unsafe {
            match io.operation() {
                Operation::Read => libc::preadv2(io.handle().descriptor(), &vector, 1, offset, flags),
                Operation::Write => {
                    libc::pwritev2(io.handle().descriptor(), &vector, 1, offset, flags | self.write_flags)
                }
                _ => return Queued::Done(self.immediate.perform(io)),
            }
        };
        Queued::Done(outcome(returned))
    }
}
