//! Client libraries that report completions from their own threads.

use fathom_run::engine::{Completions, Queued};
use fathom_sys::Errno;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum duration of a wait, after which the loop checks its orders.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Completions from the threads to the loop.
#[derive(Default)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    ended: VecDeque<(u32, i64)>,
    /// Number of completions at which the loop is woken; 0 while it is awake, so that no useless system call is
    /// made.
    wakes_at: usize,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the completion of an I/O.
    fn put(&self, slot: u32, result: i64) {
        let mut state = self.lock();
        state.ended.push_back((slot, result));
        let wakes = state.wakes_at > 0 && state.ended.len() >= state.wakes_at;
        drop(state);
        if wakes {
            self.arrived.notify_one();
        }
    }

    /// Sleeps until `count` completions have arrived, but no longer than `span`.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        count: usize,
        span: Duration,
    ) -> MutexGuard<'a, State> {
        state.wakes_at = count;
        let mut state = self.arrived.wait_timeout(state, span).unwrap_or_else(PoisonError::into_inner).0;
        state.wakes_at = 0;
        state
    }
}

/// Data of an I/O that is passed to the library; it must stay in place while the I/O is in flight.
pub(crate) struct Slot<T> {
    mailbox: Arc<Mailbox>,
    number: u32,
    /// Number of bytes of an I/O whose completion does not report how many were moved.
    length: u32,
    /// What the callback needs of the library.
    pub(crate) library: T,
}

impl<T> Slot<T> {
    /// Completes the I/O with a number of bytes (0 if the library does not count them) or `-errno`. This must
    /// be the last action of a callback, because the slot may have been reused or freed when this call returns.
    pub(crate) fn ended(&self, result: i64) {
        let (mailbox, number) = (Arc::clone(&self.mailbox), self.number);
        mailbox.put(number, if result == 0 { i64::from(self.length) } else { result });
    }
}

/// The I/Os of an engine, and their completions.
pub(crate) struct Flights<T> {
    mailbox: Arc<Mailbox>,
    slots: Box<[Slot<T>]>,
    in_flight: usize,
    queued: u32,
    /// True to poll for completions without sleeping.
    pub(crate) spins: bool,
}

impl<T: Copy> Flights<T> {
    /// Creates the state for slots with numbers below `depth`, plus one for operations outside of the loop.
    pub(crate) fn new(depth: u32, library: T) -> Flights<T> {
        let mailbox = Arc::new(Mailbox::default());
        let slot = |number| Slot { mailbox: Arc::clone(&mailbox), number, length: 0, library };
        Flights { slots: (0..=depth).map(slot).collect(), mailbox, in_flight: 0, queued: 0, spins: false }
    }

    /// The slot for operations outside the loop.
    pub(crate) fn spare(&self) -> u32 {
        self.slots.len() as u32 - 1
    }

    /// The pointer that the library passes back to its callback: a `Slot<T>`. `length` is the result if the
    /// completion does not report the bytes moved.
    pub(crate) fn prepare(&mut self, slot: u32, length: u32) -> *mut c_void {
        let place = &mut self.slots[slot as usize];
        place.length = length;
        std::ptr::from_mut(place).cast()
    }

    /// Records that the library accepted an I/O, or that it returned a negative error.
    pub(crate) fn begun(&mut self, result: i32) -> Queued {
        if result < 0 {
            return Queued::Done(i64::from(result));
        }
        self.in_flight += 1;
        self.queued += 1;
        Queued::Pending
    }

    /// Number of I/Os started since the last call.
    pub(crate) fn take_queued(&mut self) -> u32 {
        std::mem::take(&mut self.queued)
    }

    /// Lists completions until `min` are listed, `out` is full, nothing is in flight, or the timeout expires.
    pub(crate) fn collect(
        &mut self,
        min: u32,
        span: Option<Duration>,
        out: &mut Completions,
    ) -> Result<(), Errno> {
        let until = Instant::now() + span.map_or(LONGEST_WAIT, |span| span.min(LONGEST_WAIT));
        let mut state = self.mailbox.lock();
        loop {
            while out.room() > 0
                && let Some((slot, result)) = state.ended.pop_front()
            {
                out.push(slot, result);
                self.in_flight -= 1;
            }
            if out.len() as u32 >= min || out.room() == 0 || self.in_flight == 0 {
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // EINTR returns to the loop, which notices new orders only when a wait ends.
                return if out.is_empty() && span.is_none() { Err(Errno(libc::EINTR)) } else { Ok(()) };
            }
            state = if self.spins {
                drop(state);
                std::hint::spin_loop();
                self.mailbox.lock()
            } else {
                let missing = (min as usize - out.len()).min(self.in_flight).min(out.room());
                self.mailbox.sleep(state, missing, left)
            };
        }
    }

    /// The result of a sync outside of the loop that was queued in the spare slot; completions of other I/Os
    /// are kept for the loop.
    pub(crate) fn end_of_sync(&mut self, queued: Queued) -> Result<(), Errno> {
        let result = match queued {
            Queued::Done(result) => result,
            Queued::Pending => self.wait_for_spare(),
        };
        if result < 0 { Err(Errno(-result as i32)) } else { Ok(()) }
    }

    fn wait_for_spare(&mut self) -> i64 {
        let spare = self.spare();
        self.queued -= 1;
        self.in_flight -= 1;
        let mut state = self.mailbox.lock();
        loop {
            if let Some(place) = state.ended.iter().position(|(number, _)| *number == spare) {
                return state.ended.remove(place).map_or(0, |(_, result)| result);
            }
            let more = state.ended.len() + 1;
            state = self.mailbox.sleep(state, more, LONGEST_WAIT);
        }
    }
}

impl<T> Drop for Flights<T> {
    /// Waits until all I/Os have completed, because the library accesses buffers and slots until then.
    fn drop(&mut self) {
        let mut state = self.mailbox.lock();
        while state.ended.len() < self.in_flight {
            state = self.mailbox.sleep(state, self.in_flight, LONGEST_WAIT);
        }
    }
}
