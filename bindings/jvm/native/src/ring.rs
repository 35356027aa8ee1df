//! Batches in flight. Any thread may submit and any thread may wait, each for its own batch: one of the waiting
//! threads (the leader) sleeps in the kernel and distributes all completions; the others sleep until theirs are
//! complete or the leader leaves.

use crate::descriptor::Table;
use crate::targets::{Place, Targets, Transfer, WriteWay};
use crate::uring::Uring;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Maximum number of batches in flight at a time.
pub const MOST_BATCHES: usize = 64;
/// Number of completions for which a leader waits at a time while other threads may wait for some of them.
const SHARED_WAIT: u32 = 16;

/// Number of I/Os that a thread executes itself before it checks whether the ring is closed.
const STRETCH: u32 = 32;

/// The requested way of doing I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineWish {
    /// io_uring if the kernel allows it, otherwise `preadv` and `pwritev`. Writes that io_uring would pass to a
    /// worker thread are executed by the waiting thread.
    Automatic,
    /// io_uring for all I/O, or an error.
    Uring,
    /// `preadv` and `pwritev`.
    Vectors,
}

/// Files, buffers, and the batches in flight on them.
pub struct Ring {
    targets: Targets,
    uring: Option<Uring>,
    depth: u32,
    /// True if writes that io_uring cannot execute without a worker thread are left to the waiting thread.
    writes_here: bool,
    /// The error that prevented io_uring, or 0.
    refused: i32,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    batches: [Option<Running>; MOST_BATCHES],
    /// Number of I/Os that are queued or in flight.
    in_flight: u32,
    leader: bool,
    closing: bool,
    /// The error with which the kernel rejects the ring itself, or 0.
    broken: i32,
    /// The only thread that has submitted or waited so far.
    thread: Option<ThreadId>,
    shared: bool,
}

#[derive(Clone, Copy)]
struct Running {
    table: Table,
    next: u32,
    pending: u32,
    failed: u32,
}

impl Running {
    fn done(&self) -> bool {
        self.next == self.table.count() && self.pending == 0
    }

    fn finish(&mut self, index: u32, result: i32) {
        self.failed += u32::from(result < 0);
        self.table.set_result(index, result);
    }
}

impl Ring {
    /// Sets up a ring for I/Os on `targets`, with at most `depth` in flight.
    pub fn new(targets: Targets, depth: u32, wish: EngineWish) -> Result<Ring, i32> {
        let (uring, refused) = match wish {
            EngineWish::Vectors => (None, 0),
            EngineWish::Uring | EngineWish::Automatic => match Uring::new(depth) {
                Ok(mut uring) => {
                    uring.register(&targets);
                    (Some(uring), 0)
                }
                Err(error) if wish == EngineWish::Uring => return Err(error),
                Err(error) => (None, error),
            },
        };
        let state = State {
            batches: [None; MOST_BATCHES],
            in_flight: 0,
            leader: false,
            closing: false,
            broken: 0,
            thread: None,
            shared: false,
        };
        let depth = uring.as_ref().map_or(1, Uring::depth);
        let writes_here = wish == EngineWish::Automatic;
        Ok(Ring {
            targets,
            uring,
            depth,
            writes_here,
            refused,
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    /// The files and buffers.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Maximum number of I/Os in flight; 1 without io_uring.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// True if I/O goes through io_uring.
    pub fn is_uring(&self) -> bool {
        self.uring.is_some()
    }

    /// The error that prevented io_uring although it was requested, or 0.
    pub fn refused(&self) -> i32 {
        self.refused
    }

    /// The error that prevented the registration of buffers with the kernel, or 0.
    pub fn buffers_refused(&self) -> i32 {
        self.uring.as_ref().map_or(0, |uring| uring.buffers_refused)
    }

    /// Submits a batch and returns its slot. With `enter` the kernel receives as many I/Os as fit immediately;
    /// otherwise when the batch is awaited.
    pub fn submit(&self, table: Table, enter: bool) -> Result<usize, i32> {
        let mut state = self.lock();
        if state.closing {
            return Err(libc::ESHUTDOWN);
        }
        let slot = state.batches.iter().position(Option::is_none).ok_or(libc::EBUSY)?;
        state.see_thread();
        state.batches[slot] = Some(Running { table, next: 0, pending: 0, failed: 0 });
        if let Some(uring) = &self.uring
            && enter
        {
            self.fill(&mut state, uring, slot);
            let queued = uring.queued();
            drop(state);
            if queued > 0 {
                // I/Os that the kernel does not accept now are submitted by the next wait.
                let _ = retry(|| uring.enter(queued, 0));
            }
        }
        Ok(slot)
    }

    /// Waits for a batch and frees its slot; returns the number of failed I/Os. `ESHUTDOWN` if the ring was
    /// closed meanwhile.
    pub fn wait(&self, slot: usize) -> Result<u32, i32> {
        match &self.uring {
            Some(uring) => self.wait_uring(uring, slot),
            None => self.run_vectors(slot),
        }
    }

    /// Executes one read or write in the calling thread; returns the number of bytes, or a negative error number.
    pub fn single(&self, place: Place, address: usize, length: i32) -> i32 {
        self.targets
            .transfer(place, address, length)
            .map_or_else(|error| -error, |transfer| transfer.perform(0))
    }

    /// Rejects new batches and waits until the kernel has completed all I/Os. Returns the number of I/Os still
    /// in flight, which is 0 unless the ring is broken: in that case the buffers must never be freed.
    pub fn close(&self) -> u32 {
        let mut state = self.lock();
        state.closing = true;
        self.changed.notify_all();
        let Some(uring) = &self.uring else { return 0 };
        while state.in_flight > 0 && state.broken == 0 {
            if state.leader {
                state = self.sleep(state);
            } else {
                let want = state.in_flight;
                state = self.lead(state, uring, want);
            }
        }
        state.in_flight
    }

    fn wait_uring(&self, uring: &Uring, slot: usize) -> Result<u32, i32> {
        let mut state = self.lock();
        state.see_thread();
        loop {
            let running = state.batches.get(slot).copied().flatten().ok_or(libc::EINVAL)?;
            if running.done() {
                state.batches[slot] = None;
                // Another thread may be waiting for its turn to lead, or for free entries.
                if state.shared {
                    self.changed.notify_all();
                }
                return Ok(running.failed);
            }
            if state.broken != 0 {
                return Err(state.broken);
            }
            // The kernel owns submitted I/Os until they are complete, so the slot stays.
            if state.closing {
                return Err(libc::ESHUTDOWN);
            }
            let here = self.writes_for_this_thread(&running);
            if here > 0 {
                state = self.run_here(state, slot, here);
                continue;
            }
            if state.leader {
                state = self.sleep(state);
                continue;
            }
            self.fill(&mut state, uring, slot);
            let pending = state.batches[slot].map_or(0, |running| running.pending);
            if pending == 0 && state.in_flight == 0 {
                continue;
            }
            let running = state.batches[slot];
            if running.is_some_and(|running| self.writes_for_this_thread(&running) > 0) {
                continue;
            }
            let more = running.is_some_and(|running| running.next < running.table.count());
            let want = match (state.shared, more) {
                (true, _) => pending.min(SHARED_WAIT),
                // The queue is refilled before it runs empty.
                (false, true) => pending / 2,
                (false, false) => pending,
            };
            let want = want.max(1);
            state = self.lead(state, uring, want);
        }
    }

    /// Submits queued I/Os and sleeps in the kernel until `want` I/Os are complete, without holding the lock.
    fn lead<'ring>(
        &'ring self,
        mut state: MutexGuard<'ring, State>,
        uring: &Uring,
        want: u32,
    ) -> MutexGuard<'ring, State> {
        state.leader = true;
        let queued = uring.queued();
        drop(state);
        let entered = uring.enter(queued, want);
        let mut state = self.lock();
        state.leader = false;
        uring.reap(|user_data, result| state.complete(user_data, result));
        match entered {
            // A signal, or a kernel that requires its completions to be reaped first.
            Ok(()) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
            Err(error) => state.broken = error,
        }
        if state.shared || state.closing {
            self.changed.notify_all();
        }
        state
    }

    /// Queues as much of a batch as fits. A descriptor with an invalid request gets its result immediately.
    fn fill(&self, state: &mut State, uring: &Uring, slot: usize) {
        let State { batches, in_flight, .. } = state;
        let Some(running) = &mut batches[slot] else { return };
        while *in_flight < self.depth {
            let index = running.next;
            let Some(wanted) = running.table.read(index) else { break };
            match self.targets.check(&wanted) {
                Ok(transfer) if self.is_for_a_thread(&transfer) => break,
                Ok(transfer) => {
                    if !uring.push(&transfer, (slot as u64) << 32 | u64::from(index)) {
                        break;
                    }
                    running.pending += 1;
                    *in_flight += 1;
                }
                Err(error) => running.finish(index, -error),
            }
            running.next += 1;
        }
    }

    /// True for a write that the kernel's queue cannot execute asynchronously, and for the first write of a
    /// file, which detects this.
    fn is_for_a_thread(&self, transfer: &Transfer) -> bool {
        self.writes_here && transfer.write && self.targets.write_way(transfer.file) != WriteWay::Queue
    }

    /// Number of such writes at the head of a batch, up to the number executed in one go.
    fn writes_for_this_thread(&self, running: &Running) -> u32 {
        let mut count = 0;
        while count < STRETCH
            && let Some(wanted) = running.table.read(running.next + count)
            && let Ok(transfer) = self.targets.check(&wanted)
            && self.is_for_a_thread(&transfer)
        {
            count += 1;
        }
        count
    }

    /// Executes the next I/Os of a batch in the calling thread, without holding the lock: other threads execute
    /// theirs meanwhile.
    fn run_here<'ring>(
        &'ring self,
        mut state: MutexGuard<'ring, State>,
        slot: usize,
        count: u32,
    ) -> MutexGuard<'ring, State> {
        let Some(running) = &mut state.batches[slot] else { return state };
        let first = running.next;
        running.next += count;
        running.pending += count;
        let mut part = Running { table: running.table, next: first, pending: count, failed: 0 };
        drop(state);
        while part.pending > 0
            && let Some(wanted) = part.table.read(part.next)
        {
            let result = self.targets.check(&wanted).map_or_else(|error| -error, |it| self.move_bytes(&it));
            part.finish(part.next, result);
            part.next += 1;
            part.pending -= 1;
        }
        let mut state = self.lock();
        if let Some(running) = &mut state.batches[slot] {
            running.pending -= count;
            running.failed += part.failed;
        }
        state
    }

    /// Runs a batch in the calling thread.
    fn run_vectors(&self, slot: usize) -> Result<u32, i32> {
        let mut state = self.lock();
        loop {
            let running = state.batches.get(slot).copied().flatten().ok_or(libc::EINVAL)?;
            if running.done() {
                state.batches[slot] = None;
                return Ok(running.failed);
            }
            if state.closing {
                return Err(libc::ESHUTDOWN);
            }
            let count = (running.table.count() - running.next).min(STRETCH);
            state = self.run_here(state, slot, count);
        }
    }

    /// Executes one read or write; returns the number of bytes, or a negative error number.
    fn move_bytes(&self, transfer: &Transfer) -> i32 {
        if self.uring.is_none() || self.targets.write_way(transfer.file) != WriteWay::Unknown {
            return transfer.perform(0);
        }
        let moved = transfer.perform(libc::RWF_NOWAIT);
        if u32::try_from(moved) == Ok(transfer.length) {
            self.targets.settle_write_way(transfer.file, WriteWay::Queue);
            return moved;
        }
        if matches!(-moved, libc::EOPNOTSUPP | libc::EINVAL | libc::ENOSYS) {
            self.targets.settle_write_way(transfer.file, WriteWay::Thread);
        }
        // The nonblocking attempt failed or was short; this thread may block.
        transfer.perform(0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'ring>(&self, state: MutexGuard<'ring, State>) -> MutexGuard<'ring, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn see_thread(&mut self) {
        if !self.shared {
            let own = std::thread::current().id();
            self.shared = *self.thread.get_or_insert(own) != own;
        }
    }

    fn complete(&mut self, user_data: u64, result: i32) {
        self.in_flight -= 1;
        if let Some(running) = &mut self.batches[(user_data >> 32) as usize] {
            running.pending -= 1;
            running.finish(user_data as u32, result);
        }
    }
}

fn retry(mut call: impl FnMut() -> Result<(), i32>) -> Result<(), i32> {
    loop {
        match call() {
            Err(libc::EINTR) => {}
            other => return other,
        }
    }
}
