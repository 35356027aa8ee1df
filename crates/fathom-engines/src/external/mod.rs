//! `external`: an engine in a shared object, written by others for the interface of `include/fathom_engine.h`.

mod error;
mod interface;
mod library;
mod setup;
mod targets;

pub use error::LoadError;
pub use library::load;
pub(crate) use library::{PREFIX, entry};

use crate::shared::Immediate;
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, REAP_BATCH, Setup, SetupError};
use fathom_run::storage::files::Files;
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use interface::{ASYNCHRONOUS, OWN_TARGETS, PENDING, Queue, RawCompletion, RawEngine, RawIo, TRIMS};
use setup::Told;
use std::ffi::c_void;
use std::time::Duration;

/// Value for a slot without an I/O.
const FREE: u32 = u32::MAX;

/// The external engine of one worker.
pub(crate) struct External {
    functions: &'static RawEngine,
    queue: Queue,
    /// Capabilities that are checked for every I/O.
    is_asynchronous: bool,
    has_own_targets: bool,
    takes_trims: bool,
    /// A mask that is ORed into descriptors. It is all ones for an engine with its own targets, which thus gets
    /// -1.
    without_descriptors: i32,
    /// The library's state for this worker.
    state: *mut c_void,
    /// Operations on files that fathom performs itself for this engine.
    immediate: Immediate,
    /// Length of the library's I/O in each slot in bytes; [`FREE`] for none.
    taken: Vec<u32>,
    /// Number of I/Os that are queued but not committed.
    queued: u32,
    ended: Box<[RawCompletion; REAP_BATCH]>,
    /// A description of how the library violated the interface.
    fault: Option<String>,
    /// The error with which all further I/Os end after a failure; the library is no longer called then.
    given_up: Option<Errno>,
}

// SAFETY: the header requires that functions of one state are called from one thread at a time, whichever it
// is.
unsafe impl Send for External {}

impl EngineType for External {
    const DEFINITION: &'static EngineDef = &engines::EXTERNAL;

    fn definition(listed: &'static EngineDef) -> &'static EngineDef {
        listed
    }

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        match library::find(&job.engine.ioengine.name) {
            Some(engine) if engine.functions.capabilities & OWN_TARGETS != 0 => {
                Box::new(targets::Targets::new(job, engine))
            }
            _ => Box::new(Files::default()),
        }
    }

    fn new(setup: &Setup<'_>) -> Result<External, SetupError> {
        let Some(engine) = library::find(&setup.job.engine.ioengine.name) else {
            return Err(SetupError::new(Errno(libc::ENOENT), "dlopen"));
        };
        let Some(queue) = engine.functions.queue else {
            return Err(SetupError::new(Errno(libc::ENOSYS), "queue"));
        };
        let mut told = Told::of_worker(setup, engine.entry.definition.options);
        let state = told.open(engine.functions).map_err(|refusal| {
            let sentence = format!("{}: {}", engine.entry.definition.name, refusal.sentence);
            SetupError::new(refusal.errno, "open").with_advice(sentence)
        })?;
        let can = |capability: u32| engine.functions.capabilities & capability != 0;
        Ok(External {
            functions: engine.functions,
            queue,
            is_asynchronous: can(ASYNCHRONOUS),
            has_own_targets: can(OWN_TARGETS),
            takes_trims: can(TRIMS),
            without_descriptors: if can(OWN_TARGETS) { -1 } else { 0 },
            state,
            immediate: Immediate::new(setup),
            taken: vec![FREE; setup.depth as usize],
            queued: 0,
            ended: Box::new([RawCompletion::default(); REAP_BATCH]),
            fault: None,
            given_up: None,
        })
    }
}

impl Engine for External {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        if let Some(errno) = self.given_up {
            return Queued::Done(i64::from(-errno.0));
        }
        match io.operation() {
            Operation::Read | Operation::Write => {}
            Operation::Trim if self.takes_trims => {}
            _ => {
                // A copy is passed on, because passing the original's address to another function would store
                // the original in memory for every I/O. SAFETY: the copy is used during this call only.
                let io = unsafe { io.keep() };
                return Queued::Done(self.perform(&io));
            }
        }
        let raw = RawIo {
            slot,
            operation: io.operation() as u32,
            target: io.file(),
            length: io.length(),
            offset: io.offset(),
            buffer: io.buffer(),
            descriptor: io.handle().descriptor() | self.without_descriptors,
            reserved: 0,
        };
        // SAFETY: the state comes from `open`, and the buffer belongs to this I/O until it has completed.
        match unsafe { (self.queue)(self.state, &raw) } {
            whole if whole == i64::from(io.length()) => Queued::Done(whole),
            PENDING if self.is_asynchronous => {
                self.taken[slot as usize] = io.length();
                self.queued += 1;
                Queued::Pending
            }
            PENDING => Queued::Done(self.pends()),
            result if result > i64::from(io.length()) => Queued::Done(self.too_much(result, io.length())),
            result => Queued::Done(result),
        }
    }

    #[inline(always)]
    fn commit(&mut self) -> Result<u32, Errno> {
        let taken = match self.functions.commit {
            None => self.queued,
            Some(_) if self.given_up.is_some() => self.queued,
            // SAFETY: as above.
            Some(commit) => match unsafe { commit(self.state) } {
                negative if negative < 0 => return Err(Errno(-negative)),
                taken => (taken as u32).min(self.queued),
            },
        };
        self.queued -= taken;
        Ok(taken)
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.reap_for(min, -1, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.reap_for(1, i64::try_from(span.as_nanos()).unwrap_or(i64::MAX), out)
    }

    fn sync_now(&mut self, handle: Handle, _kind: SyncKind) -> Option<Result<(), Errno>> {
        let own = self.has_own_targets;
        if self.functions.sync.is_none() && !own {
            return None;
        }
        let result = self.sync(handle);
        Some(if result < 0 { Err(Errno(-result as i32)) } else { Ok(()) })
    }

    fn ends_at_once(&self, _definition: &EngineDef) -> bool {
        !self.is_asynchronous
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        if let Some(fault) = self.fault.take() {
            return Some(fault);
        }
        let explain = self.functions.explain?;
        // SAFETY: as above.
        library::text(unsafe { explain(self.state, slot) }).map(str::to_owned)
    }

    fn remarks(&mut self) -> Vec<String> {
        let fault = self.fault.take();
        fault.map(|fault| format!("fathom: the engine violates its interface: {fault}")).into_iter().collect()
    }
}

impl External {
    #[inline(always)]
    fn reap_for(&mut self, min: u32, timeout: i64, out: &mut Completions) -> Result<(), Errno> {
        if self.given_up.is_some() {
            self.end_all(out);
            return Ok(());
        }
        let Some(reap) = self.functions.reap else { return Err(Errno(libc::ENOSYS)) };
        let room = out.room().min(REAP_BATCH) as u32;
        // SAFETY: as above; there is room for that many completions.
        let count = unsafe { reap(self.state, min.min(room), room, timeout, self.ended.as_mut_ptr()) };
        if count < 0 {
            self.reap_failed(Errno(-count), out);
            return Ok(());
        }
        for index in 0..(count as usize).min(room as usize) {
            let RawCompletion { slot, result, .. } = self.ended[index];
            let length = match self.taken.get_mut(slot as usize) {
                Some(taken) if *taken != FREE => std::mem::replace(taken, FREE),
                _ => {
                    self.broken(format!("reap lists slot {slot}, in which no I/O is in flight"));
                    self.end_all(out);
                    return Ok(());
                }
            };
            let is_possible = result <= i64::from(length);
            out.push(slot, if is_possible { result } else { self.too_much(result, length) });
        }
        Ok(())
    }

    /// Handles a failed `reap`, after which the state of I/Os in flight is unknown: they end with this error,
    /// and the library is no longer called.
    #[cold]
    fn reap_failed(&mut self, errno: Errno, out: &mut Completions) {
        if matches!(errno.0, libc::EINTR | libc::EAGAIN) {
            return;
        }
        self.fault = Some("reap has failed".to_owned());
        self.given_up = Some(errno);
        self.end_all(out);
    }

    /// Ends all I/Os in flight, as far as the list of completions has room.
    #[cold]
    fn end_all(&mut self, out: &mut Completions) {
        let errno = self.given_up.unwrap_or(Errno(libc::EPROTO));
        for (slot, taken) in self.taken.iter_mut().enumerate() {
            if *taken != FREE && out.room() > 0 {
                *taken = FREE;
                out.push(slot as u32, i64::from(-errno.0));
            }
        }
    }

    #[cold]
    fn pends(&mut self) -> i64 {
        self.broken("a synchronous engine has answered FATHOM_PENDING".to_owned())
    }

    #[cold]
    #[inline(never)]
    fn too_much(&mut self, result: i64, length: u32) -> i64 {
        self.broken(format!("an I/O of {length} bytes has ended with {result}"))
    }

    /// Performs syncs, and trims of files.
    #[cold]
    #[inline(never)]
    fn perform(&mut self, io: &Io) -> i64 {
        let own = self.has_own_targets;
        match (io.operation(), self.functions.sync) {
            (Operation::Trim, _) if own => -i64::from(libc::EOPNOTSUPP),
            (Operation::Trim, _) => self.immediate.perform(io),
            (_, None) if !own => self.immediate.perform(io),
            _ => self.sync(io.handle()),
        }
    }

    /// Syncs through the library. An engine's own target is identified by its index.
    fn sync(&mut self, handle: Handle) -> i64 {
        let Some(sync) = self.functions.sync else { return 0 };
        let (target, descriptor) = match self.has_own_targets {
            true => (handle.number().and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX), -1),
            false => (u32::MAX, handle.descriptor()),
        };
        // SAFETY: as above.
        i64::from(unsafe { sync(self.state, target, descriptor) })
    }

    /// Records that the library has violated the interface, so none of its results can be trusted.
    #[cold]
    fn broken(&mut self, fault: String) -> i64 {
        self.fault = Some(fault);
        let errno = Errno(libc::EPROTO);
        self.given_up = Some(errno);
        i64::from(-errno.0)
    }
}

impl Drop for External {
    fn drop(&mut self) {
        if let Some(close) = self.functions.close {
            // SAFETY: the state is not used after this.
            unsafe { close(self.state) };
        }
    }
}
