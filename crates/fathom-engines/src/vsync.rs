//! `vsync`: `lseek` if the position differs, then `readv` or `writev`. With a depth above 1, adjacent I/Os
//! submitted together (`iodepth_batch`) are combined into one call.

use crate::shared::{Immediate, Positions, outcome};
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use std::collections::VecDeque;

/// Maximum number of vectors in `readv` and `writev` (`IOV_MAX`).
const MOST_VECTORS: usize = 1024;

pub(crate) struct Vsync {
    deep: bool,
    immediate: Immediate,
    positions: Positions,
    queued: Vec<(u32, Io)>,
    vectors: Vec<libc::iovec>,
    /// Results that were completed but not yet reaped: slot and result.
    ended: VecDeque<(u32, i64)>,
}

impl EngineType for Vsync {
    const DEFINITION: &'static EngineDef = &engines::plain::VSYNC;

    fn new(setup: &Setup<'_>) -> Result<Vsync, SetupError> {
        let depth = setup.depth as usize;
        Ok(Vsync {
            deep: depth > 1,
            immediate: Immediate::new(setup),
            positions: Positions::new(setup),
            queued: Vec::with_capacity(depth),
            vectors: Vec::with_capacity(depth.min(MOST_VECTORS)),
            ended: VecDeque::with_capacity(depth),
        })
    }
}

impl Engine for Vsync {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        if !matches!(io.operation(), Operation::Read | Operation::Write) {
            return Queued::Done(self.immediate.perform(io));
        }
        if self.deep {
            // SAFETY: the I/O is not used after its completion is listed.
            self.queued.push((slot, unsafe { io.keep() }));
            return Queued::Pending;
        }
        self.vectors.clear();
        self.vectors.push(vector_of(io));
        Queued::Done(self.transfer(io))
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        let queued = std::mem::take(&mut self.queued);
        let adjacent = |a: &(u32, Io), b: &(u32, Io)| {
            a.1.operation() == b.1.operation()
                && a.1.file() == b.1.file()
                && a.1.offset() + u64::from(a.1.length()) == b.1.offset()
        };
        for run in queued.chunk_by(adjacent).flat_map(|run| run.chunks(MOST_VECTORS)) {
            self.transfer_run(run);
        }
        let taken = queued.len() as u32;
        self.queued = queued;
        self.queued.clear();
        Ok(taken)
    }

    fn reap(&mut self, _min: u32, out: &mut Completions) -> Result<(), Errno> {
        while out.room() > 0
            && let Some((slot, result)) = self.ended.pop_front()
        {
            out.push(slot, result);
        }
        Ok(())
    }

    fn ends_at_once(&self, _definition: &EngineDef) -> bool {
        !self.deep
    }

    fn reopened(&mut self, index: usize) {
        self.positions.reopened(index);
    }
}

impl Vsync {
    /// Moves adjacent I/Os with one call, and distributes the result among them.
    fn transfer_run(&mut self, run: &[(u32, Io)]) {
        self.vectors.clear();
        self.vectors.extend(run.iter().map(|(_, io)| vector_of(io)));
        let mut left = self.transfer(&run[0].1);
        for (slot, io) in run {
            let share = if left < 0 { left } else { left.min(i64::from(io.length())) };
            self.ended.push_back((*slot, share));
            left -= share.max(0);
        }
    }

    /// Makes one call with the prepared vectors; `io` is the first of the I/Os.
    #[inline(always)]
    fn transfer(&mut self, io: &Io) -> i64 {
        if let Err(errno) = self.positions.seek(io) {
            return i64::from(-errno.0);
        }
        let (vectors, count) = (self.vectors.as_ptr(), self.vectors.len() as libc::c_int);
        // SAFETY: the vectors refer to buffers of the loop that are not used elsewhere during the call.
        let result = outcome(unsafe {
            match io.operation() {
                Operation::Read => libc::readv(io.handle().descriptor(), vectors, count),
                _ => libc::writev(io.handle().descriptor(), vectors, count),
            }
        });
        self.positions.moved(io, result);
        result
    }
}

fn vector_of(io: &Io) -> libc::iovec {
    libc::iovec { iov_base: io.buffer().cast(), iov_len: io.length() as usize }
}
