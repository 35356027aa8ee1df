//! The interface of an engine: everything that differs between ways of doing I/O. The run loop is generic over
//! [`Engine`]. For each engine whose I/Os can cost less than a microsecond it is compiled separately, without
//! indirect calls; all others share one copy for `dyn Engine`. An engine never prints, never retries unless the
//! job says so, and leaves timing to the loop: it transfers one unit or a batch, and returns the results.

use crate::files::entry::FileError;
use crate::invariant::{Invariant, broken, debug_holds, holds};
pub use crate::io::{Buffers, Io};
pub use crate::storage::OpenFile;
use crate::storage::{self, Handle, Storage, SyncKind};
use fathom_spec::JobSpec;
use fathom_spec::engines::EngineDef;
use fathom_stats::engine_figures::EngineFigures;
use fathom_sys::Errno;
use std::time::Duration;

/// Result of queuing a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// Completed: bytes moved, or `-errno`.
    Done(i64),
    /// Prepared; [`Engine::commit`] hands it to the kernel.
    Pending,
}

/// A completed unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Completion {
    /// The slot given to [`Engine::queue`].
    pub slot: u32,
    /// Bytes moved, or `-errno`.
    pub result: i64,
}

/// Capacity for one reap.
pub const REAP_BATCH: usize = 256;

/// Completed units of one reap, in a fixed array.
pub struct Completions {
    list: [Completion; REAP_BATCH],
    count: usize,
    limit: usize,
}

impl Default for Completions {
    fn default() -> Self {
        Completions { list: [Completion::default(); REAP_BATCH], count: 0, limit: REAP_BATCH }
    }
}

impl Completions {
    /// Adds a completion; there must be [`room`](Completions::room).
    #[inline(always)]
    pub fn push(&mut self, slot: u32, result: i64) {
        let (count, limit) = (self.count, self.limit);
        debug_holds!(count < limit, Ends, "slot {slot} ends beyond the {limit} that were asked for");
        holds!(count < REAP_BATCH, Ends, "slot {slot} ends beyond the {REAP_BATCH} of a batch");
        self.list[count] = Completion { slot, result };
        self.count = count + 1;
    }

    /// Remaining capacity.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.count)
    }

    /// Number of completions.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All completions, in order of arrival.
    #[inline(always)]
    pub fn list(&self) -> &[Completion] {
        &self.list[..self.count]
    }

    /// Mutable access to the completions.
    pub fn list_mut(&mut self) -> &mut [Completion] {
        &mut self.list[..self.count]
    }

    /// Clears the list and limits the number of completions to collect.
    #[inline(always)]
    pub fn begin(&mut self, limit: u32) {
        self.count = 0;
        self.limit = (limit as usize).min(REAP_BATCH);
    }
}

/// Input for setting up an engine. Buffers and files are ready by then.
pub struct Setup<'a> {
    /// The job.
    pub job: &'a JobSpec,
    /// The declaration of the engine; wrappers around the engine need it.
    pub definition: &'static EngineDef,
    /// The constructor of the wrapped engine.
    pub open: Open,
    /// Files, in the order of their indices.
    pub files: &'a [OpenFile],
    /// Storage of the files.
    pub storage: &'a dyn Storage,
    /// True if the job reads.
    pub reads: bool,
    /// True if the job writes.
    pub writes: bool,
    /// Index of the clone within the job, from 0.
    pub clone: u32,
    /// Maximum number of units in flight.
    pub depth: u32,
    /// One buffer for each slot.
    pub buffers: Buffers,
    /// Other engines use the same descriptors concurrently, so file positions are undefined.
    pub shares_descriptors: bool,
}

/// Constructor of an engine.
pub type Open = fn(&Setup<'_>) -> Result<Box<dyn Engine>, SetupError>;

/// Why an engine cannot be set up.
#[derive(Debug)]
pub struct SetupError {
    /// The error.
    pub errno: Errno,
    /// The name of the system or library call that failed.
    pub call: &'static str,
    /// Advice in one sentence; may be empty.
    pub advice: String,
}

impl SetupError {
    /// An error of a call, without advice.
    pub fn new(errno: Errno, call: &'static str) -> SetupError {
        SetupError { errno, call, advice: String::new() }
    }

    /// Adds advice.
    pub fn with_advice(mut self, advice: impl Into<String>) -> SetupError {
        self.advice = advice.into();
        self
    }
}

/// Name, capabilities and constructor of an engine.
pub trait EngineType: Engine + Sized {
    /// Its declaration.
    const DEFINITION: &'static EngineDef;

    /// Determines capabilities that are only known at run time; `_listed` is the engine's entry in the list of
    /// engines.
    fn definition(_listed: &'static EngineDef) -> &'static EngineDef {
        Self::DEFINITION
    }

    /// The storage of a job's data. The default suits engines that use files and devices, or no storage.
    fn storage(_job: &JobSpec) -> Box<dyn Storage> {
        storage::of_kind(Self::DEFINITION.storage)
    }

    /// Sets the engine up; runs in the worker, before the clock starts.
    fn new(setup: &Setup<'_>) -> Result<Self, SetupError>;
}

/// An engine that has been set up.
pub trait Engine {
    /// I/Os may block on a peer indefinitely. `queue` may return `EAGAIN` while waiting; that is not an
    /// error, and the loop retries after checking the clock.
    fn waits_for_peers(&self) -> bool {
        false
    }

    /// True if the engine runs an activity besides its I/Os, such as a program, that may end before the job
    /// does. The loop then calls [`is_over`](Engine::is_over) after each I/O.
    fn may_be_over(&self) -> bool {
        false
    }

    /// Connects to the peer: after the start gate, before the job's clock starts, and again before each
    /// further loop of the job. May wait, until `stopped` returns true. `say` passes messages to the user
    /// during the wait.
    fn meet(&mut self, _stopped: &dyn Fn() -> bool, _say: &dyn Fn(&str)) -> Result<(), FileError> {
        Ok(())
    }

    /// True if the peer has announced the end of the data: an I/O that moves no bytes then ends the job.
    fn is_at_end(&self) -> bool {
        false
    }

    /// Returns a result once the activity besides the I/Os has ended, which ends the job; an error becomes the
    /// job's error.
    fn is_over(&mut self) -> Option<Result<(), FileError>> {
        None
    }

    /// Called when the job has ended: stops any activity that the engine runs besides its I/Os. May block for
    /// any length of time.
    fn end(&mut self) {}

    /// Ends the I/Os in flight with `ECANCELED`, because the loop will not wait for their completion. Not
    /// needed by engines that complete every unit in [`queue`](Engine::queue), or that never wait for a peer.
    fn cancel(&mut self) {}

    /// Accepts one unit. `slot` is returned with its completion. Reporting a completion, here or in
    /// [`reap`](Engine::reap), also guarantees that the unit's buffer is no longer accessed.
    fn queue(&mut self, slot: u32, io: &Io) -> Queued;

    /// Sets the ranges of the trim that is queued next: offsets and lengths in bytes. The unit's offset is that
    /// of the first range, its length the sum of all lengths. Only for engines that
    /// [can](EngineDef::many_ranges) trim several ranges.
    fn set_ranges(&mut self, _slot: u32, _file: u32, _ranges: &[(u64, u32)]) {}

    /// Marks the read that is queued next as a comparison: its buffer holds the expected data, and the device
    /// compares instead of reading. Only for engines that offer such a comparison.
    fn expect(&mut self, _slot: u32) {}

    /// True if the completed write in this slot wrote zeroes instead of its buffer.
    fn wrote_zeroes(&self, _slot: u32) -> bool {
        false
    }

    /// Submits all queued units to the kernel; returns how many it accepted (the rest stays queued). Not needed
    /// by engines that complete every unit in [`queue`](Engine::queue).
    fn commit(&mut self) -> Result<u32, Errno> {
        Ok(0)
    }

    /// Waits for at least `min` units to complete (0 polls once), and lists as many completions as fit into
    /// `out`.
    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        let waited = self.await_ends(min, out.room() as u32);
        self.list_ends(out);
        waited
    }

    /// True if the loop can take completions directly from where the kernel stored them, without a list, by
    /// [`await_ends`](Engine::await_ends), [`ends`](Engine::ends) and [`take_end`](Engine::take_end).
    fn has_ends_in_place(&self) -> bool {
        false
    }

    /// Waits for at least `min` units to complete (0 polls once), and makes up to `most` completions available.
    fn await_ends(&mut self, _min: u32, _most: u32) -> Result<(), Errno> {
        Ok(())
    }

    /// Number of available completions. All are taken before the next wait.
    fn ends(&self) -> u32 {
        0
    }

    /// Takes one completion.
    fn take_end(&mut self) -> Completion {
        broken(Invariant::Ends, format_args!("a completion is taken, but none is ready"))
    }

    /// Moves all available completions into `out`.
    fn list_ends(&mut self, out: &mut Completions) {
        while self.ends() > 0 {
            let Completion { slot, result } = self.take_end();
            out.push(slot, result);
        }
    }

    /// Waits for a unit to complete, at most for `span`, and lists as many completions as fit into `out`. Not
    /// needed by engines that keep nothing in flight.
    fn reap_within(&mut self, _span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.reap(0, out)
    }

    /// Makes data written to an open target durable, outside the loop, possibly with other units in flight.
    /// `None` leaves it to the [storage](Storage::sync).
    fn sync_now(&mut self, _handle: Handle, _kind: SyncKind) -> Option<Result<(), Errno>> {
        None
    }

    /// Releases the engine's own memory of a file, such as the pages of a mapping, so that the kernel can drop
    /// it. The caller has synced all writes; the file stays usable.
    fn let_go(&mut self, _file: u32) {}

    /// Called when the file with this index has a new descriptor: it was closed and reopened without I/O in flight.
    fn reopened(&mut self, _index: usize) {}

    /// False if the engine does not pass units on in batches, so that counting submissions and reaps is
    /// pointless.
    fn counts_batches(&self) -> bool {
        true
    }

    /// True if every unit completes inside [`queue`](Engine::queue): the loop then runs one unit at a time.
    /// Called once, after setup, because the engine's capabilities are known only then.
    fn ends_at_once(&self, definition: &EngineDef) -> bool {
        definition.synchronous
    }

    /// The protocol's status for the failed unit in this slot, such as `HTTP 503 Slow Down`; messages print it
    /// after the error number.
    fn protocol_status(&mut self, _slot: u32) -> Option<String> {
        None
    }

    /// Messages for the user about events since the last call, such as a connection that was lost and restored.
    /// Called after setup and at the end, and after each I/O if the engine [may end
    /// early](Engine::may_be_over).
    fn remarks(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Counters and timings of the engine besides those of I/Os, since its setup. Called when the job ends.
    fn figures(&mut self) -> EngineFigures {
        EngineFigures::default()
    }

    /// Kernel features that the engine detected and uses, for the report.
    fn features(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
