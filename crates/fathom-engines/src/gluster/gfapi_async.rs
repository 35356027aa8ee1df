//! `gfapi_async`: files of a Gluster volume, with many I/Os in flight. The library reports completions through
//! a callback.

use super::storage;
use super::volume::{self, Files};
use crate::net::library::refused;
use crate::net::refusal::Refusal;
use crate::net::threads::{Flights, Slot};
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// The engine.
pub(crate) struct GfapiAsync {
    // Declared before the files, so that it is dropped first: callbacks use the files until all I/Os have
    // completed.
    flights: Flights<()>,
    files: Files,
}

impl EngineType for GfapiAsync {
    const DEFINITION: &'static EngineDef = &engines::gfapi::ASYNCHRONOUS;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(storage::Files::new(&job.private.gfapi))
    }

    fn new(setup: &Setup<'_>) -> Result<GfapiAsync, SetupError> {
        let files = storage::volume_of(setup).and_then(|volume| Files::open(volume, setup));
        files
            .map(|files| GfapiAsync { flights: Flights::new(setup.depth, ()), files })
            .map_err(|Refusal { errno, sentence }| refused(errno, "glfs_open", sentence))
    }
}

impl Engine for GfapiAsync {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let Some(file) = self.files.handle(io.file()) else { return Queued::Done(-i64::from(libc::EBADF)) };
        // Reads and writes report the number of bytes that they moved; trims do not.
        let counted = if io.operation() == Operation::Trim { io.length() } else { 0 };
        let private = self.flights.prepare(slot, counted);
        let functions = self.files.functions();
        let (length, offset, buffer) = (io.length() as usize, io.offset() as i64, io.buffer().cast());
        // SAFETY: slot, buffer and file stay valid until the callback has run: `Flights` waits for it when
        // dropped.
        let result = unsafe {
            match io.operation() {
                Operation::Read => (functions.read_async)(file, buffer, length, offset, 0, ended, private),
                Operation::Write => {
                    (functions.write_async)(file, buffer, length as c_int, offset, 0, ended, private)
                }
                Operation::Trim => (functions.discard_async)(file, offset, length, ended, private),
                Operation::DataSync => (functions.sync_data_async)(file, ended, private),
                Operation::Sync | Operation::RangeSync => (functions.sync_async)(file, ended, private),
            }
        };
        self.flights.begun(volume::outcome(result as isize) as i32)
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        Ok(self.flights.take_queued())
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.flights.collect(min, (min == 0).then_some(Duration::ZERO), out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.flights.collect(1, Some(span), out)
    }

    fn sync_now(&mut self, handle: Handle, _: SyncKind) -> Option<Result<(), Errno>> {
        let file = u32::try_from(handle.number()?).ok()?;
        let queued = self.queue(self.flights.spare(), &Io::sync(file, handle));
        Some(self.flights.end_of_sync(queued))
    }

    fn reopened(&mut self, index: usize) {
        self.files.reopen(index);
    }
}

/// The library calls this once for each I/O, from one of its threads.
unsafe extern "C" fn ended(
    _: *mut c_void,
    result: isize,
    _: *mut c_void,
    _: *mut c_void,
    private: *mut c_void,
) {
    // errno belongs to the calling thread, so it is evaluated here.
    let result = volume::outcome(result);
    // SAFETY: the library returns the slot that `queue` passed, which is not changed before its completion is
    // known.
    unsafe { &*private.cast::<Slot<()>>() }.ended(result);
}
