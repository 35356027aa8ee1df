//! `io_submit_mode=offload`: each unit in flight has a thread that submits it, with its own instance of the
//! job's engine. This gives synchronous engines a queue depth.

use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::exhausted;
use fathom_run::invariant::{self, Invariant, broken};
use fathom_run::storage::{Handle, SyncKind};
use fathom_spec::engines::EngineDef;
use fathom_sys::Errno;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Performs one I/O completely; returns the number of bytes moved, or `-errno`.
fn perform(engine: &mut dyn Engine, io: &Io) -> i64 {
    if let Queued::Done(result) = engine.queue(0, io) {
        return result;
    }
    let mut completions = Completions::default();
    loop {
        match engine.commit() {
            Ok(0) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::EBUSY)) => std::thread::yield_now(),
            Ok(_) => break,
            Err(errno) => return -i64::from(errno.0),
        }
    }
    loop {
        completions.begin(1);
        match engine.reap(1, &mut completions) {
            Ok(()) | Err(Errno(libc::EINTR)) => {}
            Err(errno) => return -i64::from(errno.0),
        }
        if let Some(completion) = completions.list().first() {
            return completion.result;
        }
    }
}

/// State of a thread.
struct Hand {
    engine: Box<dyn Engine>,
    shared: Arc<Shared>,
}

// SAFETY: the engine is set up before its thread starts and then used by that thread only. Engines have their
// own descriptors, rings and buffers, none of which belongs to a thread (io_uring, whose ring does, is
// refused).
unsafe impl Send for Hand {}

/// An I/O for a thread.
struct Errand {
    slot: u32,
    io: Io,
}

// SAFETY: the buffer that the I/O points to belongs to its slot, and is not accessed until the completion is
// listed.
unsafe impl Send for Errand {}

/// State shared by the worker and its threads.
struct Shared {
    todo: Mutex<Todo>,
    wanted: Condvar,
    done: Mutex<Vec<(u32, i64)>>,
    ended: Condvar,
    /// Text of a panic in a thread, which must reach the waiting worker.
    defect: Mutex<Option<String>>,
    /// For each slot, whether its last write wrote zeroes instead of its buffer.
    zeroed: Box<[AtomicBool]>,
    /// A lock that is held during each I/O of engines that use the file position, which all threads share.
    position: Option<Mutex<()>>,
}

#[derive(Default)]
struct Todo {
    errands: VecDeque<Errand>,
    over: bool,
}

/// The engine with its threads, as the loop sees it.
pub(crate) struct Offload {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    queued: Vec<Errand>,
    /// Messages from the setup of the engines.
    remarks: Vec<String>,
    /// True if the engine syncs its own writes, as engines for servers do.
    engine_syncs: bool,
}

/// The slot of a sync outside of the loop.
const SYNC_SLOT: u32 = u32::MAX;

/// Locks a mutex, even after a panic in a thread: every change is a single step, so the data stays consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A declaration for any engine, without the submission features of particular engines.
const DEFINITION: EngineDef =
    EngineDef { queues_from: u32::MAX, ..EngineDef::new("offload", "threads that each have an engine") };

impl EngineType for Offload {
    const DEFINITION: &'static EngineDef = &DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<Offload, SetupError> {
        let uses_position = setup.definition.keeps_position;
        let shared = Arc::new(Shared {
            todo: Mutex::default(),
            wanted: Condvar::new(),
            done: Mutex::new(Vec::with_capacity(setup.depth as usize)),
            ended: Condvar::new(),
            defect: Mutex::default(),
            zeroed: (0..setup.depth).map(|_| AtomicBool::new(false)).collect(),
            position: uses_position.then(Mutex::default),
        });
        let mut offload = Offload {
            shared,
            threads: Vec::new(),
            queued: Vec::new(),
            remarks: Vec::new(),
            engine_syncs: setup.definition.is_remote(),
        };
        for _ in 0..setup.depth {
            let mut hand = Hand {
                engine: (setup.open)(&Setup { depth: 1, shares_descriptors: true, ..*setup })?,
                shared: Arc::clone(&offload.shared),
            };
            offload.remarks.extend(hand.engine.remarks());
            let started = std::thread::Builder::new().spawn(move || hand.work());
            offload.threads.push(started.map_err(|error| {
                let errno = Errno::from(error);
                SetupError::new(errno, "pthread_create").with_advice(format!(
                    "a smaller iodepth= needs fewer threads: {}",
                    exhausted::processes(errno)
                ))
            })?);
        }
        Ok(offload)
    }
}

impl Engine for Offload {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        // SAFETY: the thread that takes the errand is done with it before its completion is listed.
        self.queued.push(Errand { slot, io: unsafe { io.keep() } });
        Queued::Pending
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        let count = self.queued.len();
        lock(&self.shared.todo).errands.extend(self.queued.drain(..));
        for _ in 0..count {
            self.shared.wanted.notify_one();
        }
        Ok(count as u32)
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        let mut done = lock(&self.shared.done);
        while (done.len() as u32) < min {
            done = self.shared.ended.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
        list(&mut done, out);
        drop(done);
        self.check_threads();
        Ok(())
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        let done = lock(&self.shared.done);
        let waited = self.shared.ended.wait_timeout_while(done, span, |done| done.is_empty());
        let (mut done, _) = waited.unwrap_or_else(PoisonError::into_inner);
        list(&mut done, out);
        drop(done);
        self.check_threads();
        Ok(())
    }

    /// Syncs through one of the engines, which also covers the writes of the others. Engines for which that is
    /// not true do not share targets.
    fn sync_now(&mut self, handle: Handle, kind: SyncKind) -> Option<Result<(), Errno>> {
        if !self.engine_syncs {
            return None;
        }
        let io = if kind == SyncKind::Sync { Io::sync(0, handle) } else { Io::data_sync(0, handle) };
        lock(&self.shared.todo).errands.push_back(Errand { slot: SYNC_SLOT, io });
        self.shared.wanted.notify_one();
        let mut done = lock(&self.shared.done);
        loop {
            if let Some(place) = done.iter().position(|(slot, _)| *slot == SYNC_SLOT) {
                let (_, result) = done.remove(place);
                return Some(if result < 0 { Err(Errno(-result as i32)) } else { Ok(()) });
            }
            done = self.shared.ended.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wrote_zeroes(&self, slot: u32) -> bool {
        self.shared.zeroed[slot as usize].load(Relaxed)
    }

    /// False even for synchronous engines, because a thread performs the I/O.
    fn ends_at_once(&self, _definition: &EngineDef) -> bool {
        false
    }

    fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    fn features(&self) -> Vec<&'static str> {
        vec!["offloaded submission"]
    }
}

impl Offload {
    /// Fails after a panic in a thread, because the state of its engine is unknown then.
    fn check_threads(&self) {
        if let Some(why) = lock(&self.shared.defect).take() {
            broken(Invariant::Thread, format_args!("{why}"));
        }
    }
}

/// Lists completions, as far as `out` has room.
fn list(done: &mut Vec<(u32, i64)>, out: &mut Completions) {
    let count = done.len().min(out.room());
    for (slot, result) in done.drain(..count) {
        out.push(slot, result);
    }
}

impl Hand {
    fn work(mut self) {
        loop {
            let mut todo = lock(&self.shared.todo);
            let errand = loop {
                if let Some(errand) = todo.errands.pop_front() {
                    break errand;
                }
                if todo.over {
                    return;
                }
                todo = self.shared.wanted.wait(todo).unwrap_or_else(PoisonError::into_inner);
            };
            drop(todo);
            let alone = self.shared.position.as_ref().map(lock);
            let performed = catch_unwind(AssertUnwindSafe(|| perform(&mut *self.engine, &errand.io)));
            drop(alone);
            // A sync outside of the loop has no slot.
            if let Some(zeroed) = self.shared.zeroed.get(errand.slot as usize) {
                zeroed.store(self.engine.wrote_zeroes(0), Relaxed);
            }
            let result = performed.unwrap_or_else(|payload| {
                *lock(&self.shared.defect) = Some(invariant::text_of(&*payload));
                -i64::from(libc::EFAULT)
            });
            lock(&self.shared.done).push((errand.slot, result));
            self.shared.ended.notify_one();
        }
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        lock(&self.shared.todo).over = true;
        self.shared.wanted.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported that.
            let _ = thread.join();
        }
    }
}
