//! Batches on their way. Any thread may submit and any thread may wait, each for its own batch: one of those that wait (the leader)
//! sleeps in the kernel and hands out all completions; the others sleep until theirs are complete or the leader goes.

use crate::descriptor::Table;
use crate::targets::{Place, Targets, Transfer, WriteWay};
use crate::uring::Uring;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Maximum number of batches in flight at a time.
pub const MOST_BATCHES: usize = 64;
/// Completions that a leader waits for at a time while other threads may wait for some of them.
const SHARED_WAIT: u32 = 16;

/// I/Os that a thread does itself before it looks whether the ring is closed.
const STRETCH: u32 = 32;

/// Which way of doing I/O is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineWish {
    /// io_uring if the kernel allows it, otherwise `preadv` and `pwritev`. Writes that io_uring would give to a worker thread are done by
    /// the thread that waits.
    Automatic,
    /// io_uring for all, or an error.
    Uring,
    /// `preadv` and `pwritev`.
    Vectors,
}

/// Files, buffers, and the batches in flight on them.
pub struct Ring {
    targets: Targets,
    uring: Option<Uring>,
    depth: u32,
    /// Writes that io_uring cannot do without a worker thread are left to the thread that waits.
    writes_here: bool,
    /// Why there is no io_uring: an error number, or 0.
    refused: i32,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    batches: [Option<Running>; MOST_BATCHES],
    /// I/Os queued or with the kernel.
    in_flight: u32,
    leader: bool,
    closing: bool,
    /// The kernel refuses the ring itself: an error number, or 0.
    broken: i32,
    /// The only thread so far that submitted or waited.
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
    /// Sets up a ring for I/Os on `targets`, at most `depth` in flight.
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

    /// How many I/Os may be with the kernel at a time; 1 without io_uring.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// True if I/O goes through io_uring.
    pub fn is_uring(&self) -> bool {
        self.uring.is_some()
    }

    /// Why there is no io_uring although it was wished for: an error number, or 0.
    pub fn refused(&self) -> i32 {
        self.refused
    }

    /// Why the buffers are not registered with the kernel: an error number, or 0.
    pub fn buffers_refused(&self) -> i32 {
        self.uring.as_ref().map_or(0, |uring| uring.buffers_refused)
    }

    /// Begins a batch and returns its slot. With `enter` the kernel gets what fits immediately; without, when it is awaited.
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
                // What was not taken now is taken by the next wait.
                let _ = retry(|| uring.enter(queued, 0));
            }
        }
        Ok(slot)
    }

    /// Waits for a batch and frees its slot; returns how many of its I/Os failed. `ESHUTDOWN` if the ring was closed meanwhile.
    pub fn wait(&self, slot: usize) -> Result<u32, i32> {
        match &self.uring {
            Some(uring) => self.wait_uring(uring, slot),
            None => self.run_vectors(slot),
        }
    }

    /// One read or write by the calling thread: bytes moved, or a negative error number.
    pub fn single(&self, place: Place, address: usize, length: i32) -> i32 {
        self.targets
            .transfer(place, address, length)
            .map_or_else(|error| -error, |transfer| transfer.perform(0))
    }

    /// Refuses new batches, and waits until the kernel has nothing more to do. Returns how many I/Os it still has, which is 0 unless
    /// the ring is broken: then the buffers must never be freed.
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
                // Another thread may wait for its turn to lead, or for room.
                if state.shared {
                    self.changed.notify_all();
                }
                return Ok(running.failed);
            }
            if state.broken != 0 {
                return Err(state.broken);
            }
            // What the kernel has is its own until it is complete, so the slot stays.
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
                // The queue is refilled before it is empty.
                (false, true) => pending / 2,
                (false, false) => pending,
            };
            let want = want.max(1);
            state = self.lead(state, uring, want);
        }
    }

    /// Submits what is queued and sleeps in the kernel until `want` I/Os are complete, without the lock.
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
            // A signal, or a kernel that wants its completions taken first.
            Ok(()) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
            Err(error) => state.broken = error,
        }
        if state.shared || state.closing {
            self.changed.notify_all();
        }
        state
    }

    /// Queues what fits of a batch. A descriptor that asks for something impossible has its result immediately.
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

    /// True for a write that the kernel's queue cannot do by itself, and for the first one of a file, which finds that out.
    fn is_for_a_thread(&self, transfer: &Transfer) -> bool {
        self.writes_here && transfer.write && self.targets.write_way(transfer.file) != WriteWay::Queue
    }

    /// How many of the next I/Os of a batch are such writes, as far as they are done in one go.
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

    /// Does the next I/Os of a batch in the calling thread, without the lock: other threads run theirs meanwhile.
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

    /// One read or write: bytes moved, or a negative error number.
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
        // Not now, not all of it, or not that way: this thread can wait.
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
