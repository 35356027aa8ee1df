//! `posixaio`: the C library's `aio_read`, `aio_write`, `aio_fsync` and `aio_suspend`.

use crate::shared::Immediate;
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use fathom_sys::clock::timespec;
use std::time::{Duration, Instant};

/// Maximum number of requests passed to one call of `aio_suspend`.
const SUSPEND_LIST: usize = 8;

/// Time per request below which waking up for each request costs more than the request itself, because the
/// library's thread and this one contend for the library's lock.
const FAST: Duration = Duration::from_micros(50);
/// Maximum time for which a completed request may go unnoticed while another one is waited for.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// Measures how fast requests complete.
struct Pace {
    last_reap: Instant,
    /// Running mean of the time between two completions.
    mean: Duration,
}

impl Pace {
    fn reaped(&mut self, count: usize) {
        let now = Instant::now();
        let each = (now - self.last_reap) / (count.max(1) as u32);
        self.mean = (self.mean * 7 + each) / 8;
        self.last_reap = now;
    }

    fn is_fast(&self) -> bool {
        self.mean < FAST
    }
}

pub(crate) struct Posixaio {
    /// One control block per slot; pinned, because the library keeps pointers to them.
    control_blocks: Box<[libc::aiocb]>,
    /// Slots with requests in flight, oldest first.
    in_flight: Vec<u32>,
    /// Number of requests queued since the last commit.
    fresh: u32,
    /// Requests that failed inside the call that started them: slot and result.
    failed: Vec<(u32, i64)>,
    pace: Pace,
    immediate: Immediate,
}

impl EngineType for Posixaio {
    const DEFINITION: &'static EngineDef = &engines::plain::POSIXAIO;

    fn new(setup: &Setup<'_>) -> Result<Posixaio, SetupError> {
        let depth = setup.depth as usize;
        Ok(Posixaio {
            control_blocks: (0..depth).map(|_| empty_control_block()).collect(),
            in_flight: Vec::with_capacity(depth),
            fresh: 0,
            failed: Vec::with_capacity(depth),
            pace: Pace { last_reap: Instant::now(), mean: LONGEST_WAIT },
            immediate: Immediate::new(setup),
        })
    }
}

impl Engine for Posixaio {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        if matches!(io.operation(), Operation::Trim | Operation::RangeSync) {
            return Queued::Done(self.immediate.perform(io));
        }
        let block = &mut self.control_blocks[slot as usize];
        block.aio_fildes = io.handle().descriptor();
        block.aio_buf = io.buffer().cast();
        block.aio_nbytes = io.length() as usize;
        block.aio_offset = io.offset() as libc::off_t;
        // SAFETY: the control block is pinned in its box and the buffer belongs to this slot until the
        // request has been reaped.
        let result = unsafe {
            match io.operation() {
                Operation::Read => libc::aio_read(block),
                Operation::Write => libc::aio_write(block),
                Operation::DataSync => libc::aio_fsync(libc::O_DSYNC, block),
                _ => libc::aio_fsync(libc::O_SYNC, block),
            }
        };
        self.fresh += 1;
        if result == 0 {
            self.in_flight.push(slot);
        } else {
            self.failed.push((slot, i64::from(-Errno::last().0)));
        }
        Queued::Pending
    }

    #[inline(always)]
    fn commit(&mut self) -> Result<u32, Errno> {
        // The library has already accepted each request when it was queued.
        Ok(std::mem::take(&mut self.fresh))
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        while out.room() > 0
            && let Some((slot, result)) = self.failed.pop()
        {
            out.push(slot, result);
        }
        loop {
            self.collect(out);
            if out.len() >= min as usize || out.room() == 0 || self.in_flight.is_empty() {
                self.pace.reaped(out.len());
                return Ok(());
            }
            self.suspend(None)?;
        }
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.reap(0, out)?;
        if out.is_empty() && !self.in_flight.is_empty() {
            self.suspend(Some(span))?;
            self.reap(0, out)?;
        }
        Ok(())
    }
}

impl Posixaio {
    /// Lists all completed requests.
    fn collect(&mut self, out: &mut Completions) {
        let mut kept = 0;
        for index in 0..self.in_flight.len() {
            let slot = self.in_flight[index];
            let block = &mut self.control_blocks[slot as usize];
            // SAFETY: the block was given to the library and not yet returned.
            let state = unsafe { libc::aio_error(block) };
            if state == libc::EINPROGRESS || out.room() == 0 {
                self.in_flight[kept] = slot;
                kept += 1;
                continue;
            }
            // SAFETY: the request has completed; its result is fetched once.
            let returned = unsafe { libc::aio_return(block) };
            out.push(slot, if state == 0 { returned as i64 } else { i64::from(-state) });
        }
        self.in_flight.truncate(kept);
    }

    /// Sleeps until a request has completed, or the timeout expires. Waits for one of the oldest requests.
    /// While requests complete fast and there is no timeout, it waits for the one in the middle of the queue
    /// instead, so that several can be reaped together.
    fn suspend(&self, span: Option<Duration>) -> Result<(), Errno> {
        let skipped = if self.pace.is_fast() && span.is_none() { self.in_flight.len() / 2 } else { 0 };
        let mut list = [std::ptr::null::<libc::aiocb>(); SUSPEND_LIST];
        let waited_for = &self.in_flight[skipped..];
        let count = waited_for.len().min(SUSPEND_LIST);
        for (place, &slot) in list.iter_mut().zip(waited_for) {
            *place = &raw const self.control_blocks[slot as usize];
        }
        let limit = timespec(span.unwrap_or(LONGEST_WAIT));
        let limit = if skipped > 0 || span.is_some() { &raw const limit } else { std::ptr::null() };
        // SAFETY: the first `count` pointers are to live control blocks; the time limit lives through the call.
        let result = unsafe { libc::aio_suspend(list.as_ptr(), count as libc::c_int, limit) };
        match result {
            0 => Ok(()),
            _ => match Errno::last() {
                Errno(libc::EAGAIN | libc::EINTR) => Ok(()),
                errno => Err(errno),
            },
        }
    }
}

impl Drop for Posixaio {
    fn drop(&mut self) {
        // The library still has pointers to the requests in flight, so their memory must stay valid.
        if !self.in_flight.is_empty() {
            let blocks = std::mem::replace(&mut self.control_blocks, Box::new([]));
            Box::leak(blocks);
        }
    }
}

fn empty_control_block() -> libc::aiocb {
    // SAFETY: aiocb is a plain C structure; all zeros means no notification, as intended.
    let mut block: libc::aiocb = unsafe { std::mem::zeroed() };
    block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
    block
}
