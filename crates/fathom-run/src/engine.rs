//! What an engine is: the one thing that differs between ways of doing I/O.
//!
//! The run loop is generic over [`Engine`]. It is compiled for each engine whose I/Os can cost less than a microsecond, so that nothing in
//! it is an indirect call, and once for all others, as `dyn Engine`. An
//! engine never prints, never retries unless the job says so, and leaves the times of I/Os to the loop: it moves one unit, or a
//! batch, and says what came out.

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

/// What became of a unit that was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// It has ended already: bytes moved, or `-errno`.
    Done(i64),
    /// It is prepared; [`Engine::commit`] hands it to the kernel.
    Pending,
}

/// One ended unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Completion {
    /// The slot given to [`Engine::queue`].
    pub slot: u32,
    /// Bytes moved, or `-errno`.
    pub result: i64,
}

/// Room for one reap.
pub const REAP_BATCH: usize = 256;

/// Ended units of one reap, in a fixed array.
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
    /// Adds one; there must be [`room`](Completions::room).
    #[inline(always)]
    pub fn push(&mut self, slot: u32, result: i64) {
        let (count, limit) = (self.count, self.limit);
        debug_holds!(count < limit, Ends, "slot {slot} ends beyond the {limit} that were asked for");
        holds!(count < REAP_BATCH, Ends, "slot {slot} ends beyond the {REAP_BATCH} of a batch");
        self.list[count] = Completion { slot, result };
        self.count = count + 1;
    }

    /// How many more fit.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.count)
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them, in the order of arrival.
    #[inline(always)]
    pub fn list(&self) -> &[Completion] {
        &self.list[..self.count]
    }

    /// The same, to be changed.
    pub fn list_mut(&mut self) -> &mut [Completion] {
        &mut self.list[..self.count]
    }

    /// Forgets all and takes at most `limit` from now on.
    #[inline(always)]
    pub fn begin(&mut self, limit: u32) {
        self.count = 0;
        self.limit = (limit as usize).min(REAP_BATCH);
    }
}

/// What an engine may know when it is set up. Buffers and files are ready by then.
pub struct Setup<'a> {
    /// The job.
    pub job: &'a JobSpec,
    /// What its engine can do, for one that stands in for it.
    pub definition: &'static EngineDef,
    /// Sets that engine up, for the same one.
    pub open: Open,
    /// Files, in the order of their indices.
    pub files: &'a [OpenFile],
    /// What holds them.
    pub storage: &'a dyn Storage,
    /// Some I/O reads.
    pub reads: bool,
    /// Some I/O writes.
    pub writes: bool,
    /// Which clone of the job this is, from 0 on.
    pub clone: u32,
    /// Units in flight at most.
    pub depth: u32,
    /// One buffer for each slot.
    pub buffers: Buffers,
    /// Other engines use the same descriptors meanwhile, so where one stands in its file is anybody's guess.
    pub shares_descriptors: bool,
}

/// Sets an engine up by itself.
pub type Open = fn(&Setup<'_>) -> Result<Box<dyn Engine>, SetupError>;

/// Why an engine cannot be set up.
#[derive(Debug)]
pub struct SetupError {
    /// errno.
    pub errno: Errno,
    /// The system or library call that failed.
    pub call: &'static str,
    /// What to do about it, in one sentence; may be empty.
    pub advice: String,
}

impl SetupError {
    /// An error of a call, without advice.
    pub fn new(errno: Errno, call: &'static str) -> SetupError {
        SetupError { errno, call, advice: String::new() }
    }

    /// Adds a sentence on what to do.
    pub fn with_advice(mut self, advice: impl Into<String>) -> SetupError {
        self.advice = advice.into();
        self
    }
}

/// What an engine is called, what it can do, and how it is set up.
pub trait EngineType: Engine + Sized {
    /// Its name, and what it can do.
    const DEFINITION: &'static EngineDef;

    /// What the engine can do. The list of engines has it as `_listed`, where it is only known when the engine is there.
    fn definition(_listed: &'static EngineDef) -> &'static EngineDef {
        Self::DEFINITION
    }

    /// What holds the data of such a job. Engines whose data lies in files and devices, or nowhere, need not implement it.
    fn storage(_job: &JobSpec) -> Box<dyn Storage> {
        storage::of_kind(Self::DEFINITION.storage)
    }

    /// Sets the engine up; runs in the worker, before the clock starts.
    fn new(setup: &Setup<'_>) -> Result<Self, SetupError>;
}

/// A way of doing I/O, once it is set up.
pub trait Engine {
    /// Its I/Os may have to wait for a peer for any time, and end with `EAGAIN` now and then meanwhile: nothing has failed,
    /// and the loop, which has looked at the time, asks for the same again.
    fn waits_for_peers(&self) -> bool {
        false
    }

    /// It runs something besides its I/Os, which may be over before the job is: the loop asks after each I/O.
    fn may_be_over(&self) -> bool {
        false
    }

    /// Finds whoever is at the other end: after the start gate, before the job's clock runs, and again before each further loop of
    /// the job. May wait, but not after `stopped` says so. `say` is for lines that a user should read meanwhile.
    fn meet(&mut self, _stopped: &dyn Fn() -> bool, _say: &dyn Fn(&str)) -> Result<(), FileError> {
        Ok(())
    }

    /// True when the other end has said that nothing more will come: an I/O that moved nothing is then the end of the job.
    fn is_at_end(&self) -> bool {
        false
    }

    /// Whether that is over, and with it the job; an error is the job's.
    fn is_over(&mut self) -> Option<Result<(), FileError>> {
        None
    }

    /// The job is over: ends what runs beside its I/Os, which may take as long as it takes.
    fn end(&mut self) {}

    /// Ends what is in flight, with `ECANCELED`, because nobody will wait for it any more. Engines that end every unit in
    /// [`queue`](Engine::queue), and those that never wait for somebody else, need not implement it.
    fn cancel(&mut self) {}

    /// Takes one unit. `slot` comes back with its completion. Whoever says that a unit has ended, here or in [`reap`](Engine::reap), says as
    /// well that nothing touches its buffer any more.
    fn queue(&mut self, slot: u32, io: &Io) -> Queued;

    /// The trim of this file that is queued next has these ranges: offsets and lengths in bytes, the first that of the unit, whose length is
    /// that of all. Only for engines that [can](EngineDef::many_ranges).
    fn set_ranges(&mut self, _slot: u32, _file: u32, _ranges: &[(u64, u32)]) {}

    /// The buffer of the read that is queued next holds what it should find: the device is to compare, and not to read. Only for
    /// engines whose jobs may ask for that.
    fn expect(&mut self, _slot: u32) {}

    /// The write in this slot, which has ended, wrote zeroes and not what was in its buffer.
    fn wrote_zeroes(&self, _slot: u32) -> bool {
        false
    }

    /// Hands everything queued to the kernel; returns how many units it took (the rest stays queued). Engines that end
    /// every unit in [`queue`](Engine::queue) need not implement it.
    fn commit(&mut self) -> Result<u32, Errno> {
        Ok(0)
    }

    /// Waits until at least `min` units have ended (0: looks only), and lists all that fit.
    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        let waited = self.await_ends(min, out.room() as u32);
        self.list_ends(out);
        waited
    }

    /// True where the engine gives ends from where the kernel has put them, so that the loop need not have them listed first: by
    /// [`await_ends`](Engine::await_ends), [`ends`](Engine::ends) and [`take_end`](Engine::take_end).
    fn has_ends_in_place(&self) -> bool {
        false
    }

    /// Waits until at least `min` units have ended (0: looks only), and gets the ends of up to `most` ready to be taken.
    fn await_ends(&mut self, _min: u32, _most: u32) -> Result<(), Errno> {
        Ok(())
    }

    /// Ends that are ready to be taken. All are, before any are awaited again.
    fn ends(&self) -> u32 {
        0
    }

    /// Takes one of them.
    fn take_end(&mut self) -> Completion {
        broken(Invariant::Ends, format_args!("an end is taken, and none is there"))
    }

    /// Takes all of them, into a list.
    fn list_ends(&mut self, out: &mut Completions) {
        while self.ends() > 0 {
            let Completion { slot, result } = self.take_end();
            out.push(slot, result);
        }
    }

    /// Waits until a unit has ended, but no longer than `span`, and lists all that fit. Engines that keep nothing in flight need not
    /// implement it.
    fn reap_within(&mut self, _span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.reap(0, out)
    }

    /// Makes what was written to an open target durable, outside the loop, though other units may be in flight. `None` where that is
    /// the [storage's](Storage::sync).
    fn sync_now(&mut self, _handle: Handle, _kind: SyncKind) -> Option<Result<(), Errno>> {
        None
    }

    /// Gives up what the engine itself holds of a file in memory, such as a mapping's pages, so that the kernel can drop it. What was written
    /// has been synced, and the file can be used as before.
    fn let_go(&mut self, _file: u32) {}

    /// The file with this index has a new descriptor: it was closed and opened again, with nothing of it in flight.
    fn reopened(&mut self, _index: usize) {}

    /// False when submitting and reaping are not calls worth counting (nothing is ever handed over).
    fn counts_batches(&self) -> bool {
        true
    }

    /// True when every unit ends inside [`queue`](Engine::queue): the loop then takes one after the other. Asked once, after the set-up, with
    /// what the engine is known to do.
    fn ends_at_once(&self, definition: &EngineDef) -> bool {
        definition.synchronous
    }

    /// What the protocol said of the unit in this slot, which has ended with an error: `HTTP 503 Slow Down`. The error number
    /// says the rest.
    fn protocol_status(&mut self, _slot: u32) -> Option<String> {
        None
    }

    /// What a user should read of what the engine has done since it was asked last: a connection that was lost and is back. Asked
    /// after the set-up and at the end, and after each I/O where there is something [that may be over](Engine::may_be_over).
    fn remarks(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// What the engine has counted and timed beside the I/Os, since it was set up. Asked at the end.
    fn figures(&mut self) -> EngineFigures {
        EngineFigures::default()
    }

    /// Which kernel features the engine found and uses, for the report.
    fn features(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
