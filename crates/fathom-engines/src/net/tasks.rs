//! I/Os as tasks of a runtime. The runtime belongs to the thread of one job, and runs only while that thread waits.

use super::refusal::Refusal;
use fathom_run::engine::{Completions, Queued};
use fathom_sys::{Errno, forbidden};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::LocalSet;

/// Maximum duration of a wait, after which the loop checks its orders.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// A single-threaded runtime with its tasks, which are dropped first.
pub(crate) struct Driver {
    tasks: LocalSet,
    runtime: Runtime,
}

impl Driver {
    pub(crate) fn new() -> Result<Driver, Refusal> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(|error| {
            let refused = forbidden::Refused::new(error.into(), forbidden::OF_EVENT_LOOPS);
            Refusal::new(refused.errno.0, format!("no event loop: {refused}"))
        })?;
        Ok(Driver { tasks: LocalSet::new(), runtime })
    }

    /// Runs all tasks until this one has completed.
    pub(crate) fn wait_for<T>(&self, task: impl Future<Output = T>) -> T {
        self.tasks.block_on(&self.runtime, task)
    }

    /// Adds a task, which runs when the thread next waits.
    pub(crate) fn begin(&self, task: impl Future<Output = ()> + 'static) {
        self.tasks.spawn_local(task);
    }
}

/// Completions reported by tasks.
struct Ends {
    ended: RefCell<VecDeque<(u32, i64)>>,
    /// The error text of each slot.
    explained: RefCell<Vec<Option<String>>>,
    in_flight: Cell<usize>,
    wanted: Cell<usize>,
    enough: Notify,
}

impl Ends {
    fn ended(&self, slot: u32, outcome: Result<i64, Refusal>) {
        let result = outcome.unwrap_or_else(|refusal| {
            self.explained.borrow_mut()[slot as usize] = Some(refusal.sentence);
            -i64::from(refusal.errno.0)
        });
        self.in_flight.set(self.in_flight.get() - 1);
        let mut ended = self.ended.borrow_mut();
        ended.push_back((slot, result));
        if ended.len() >= self.wanted.get() || self.in_flight.get() == 0 {
            self.enough.notify_one();
        }
    }

    fn list(&self, out: &mut Completions) {
        let mut ended = self.ended.borrow_mut();
        while out.room() > 0
            && let Some((slot, result)) = ended.pop_front()
        {
            out.push(slot, result);
        }
    }
}

/// The I/Os of an engine, each of which is a task that owns everything it uses.
pub(crate) struct Tasks {
    driver: Driver,
    ends: Rc<Ends>,
    queued: u32,
}

impl Tasks {
    /// Creates the state for slots with numbers below `depth`.
    pub(crate) fn new(driver: Driver, depth: u32) -> Tasks {
        let count = depth as usize + 1;
        let ends = Ends {
            ended: RefCell::new(VecDeque::with_capacity(count)),
            explained: RefCell::new(vec![None; count]),
            in_flight: Cell::new(0),
            wanted: Cell::new(1),
            enough: Notify::new(),
        };
        Tasks { driver, ends: Rc::new(ends), queued: 0 }
    }

    /// Starts an I/O, whose task returns a number of bytes or an error.
    pub(crate) fn begin(
        &mut self,
        slot: u32,
        io: impl Future<Output = Result<i64, Refusal>> + 'static,
    ) -> Queued {
        let ends = Rc::clone(&self.ends);
        ends.in_flight.set(ends.in_flight.get() + 1);
        self.driver.begin(async move { ends.ended(slot, io.await) });
        self.queued += 1;
        Queued::Pending
    }

    /// Runs all tasks until this one has completed, which is not one of the loop's I/Os.
    pub(crate) fn wait_for<T>(&self, task: impl Future<Output = T>) -> T {
        self.driver.wait_for(task)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.ends.in_flight.get()
    }

    /// Takes the text of a failed I/O.
    pub(crate) fn explanation(&mut self, slot: u32) -> Option<String> {
        self.ends.explained.borrow_mut()[slot as usize].take()
    }

    /// Lets queued tasks send as much as possible; returns the number of tasks.
    pub(crate) fn commit(&mut self) -> u32 {
        self.driver.wait_for(tokio::task::yield_now());
        std::mem::take(&mut self.queued)
    }

    /// See [`Engine::reap`](fathom_run::engine::Engine::reap).
    pub(crate) fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        if min == 0 {
            self.driver.wait_for(tokio::task::yield_now());
            self.ends.list(out);
            return Ok(());
        }
        self.collect(min, None, out)
    }

    /// See [`Engine::reap_within`](fathom_run::engine::Engine::reap_within).
    pub(crate) fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.collect(1, Some(span), out)
    }

    /// Lists completions until `min` are listed, `out` is full, nothing is in flight, or the timeout expires.
    fn collect(&mut self, min: u32, span: Option<Duration>, out: &mut Completions) -> Result<(), Errno> {
        self.ends.list(out);
        let min = (min as usize).min(out.len() + out.room());
        if out.len() >= min || self.in_flight() == 0 {
            return Ok(());
        }
        self.ends.wanted.set(min - out.len());
        let limit = span.map_or(LONGEST_WAIT, |span| span.min(LONGEST_WAIT));
        let ends = Rc::clone(&self.ends);
        let waited =
            self.driver.wait_for(async { tokio::time::timeout(limit, ends.enough.notified()).await });
        self.ends.list(out);
        // EINTR returns to the loop, which notices new orders only when a wait ends.
        if waited.is_err() && out.is_empty() && span.is_none() { Err(Errno(libc::EINTR)) } else { Ok(()) }
    }
}
