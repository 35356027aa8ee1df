//! `rados`: objects of a pool of a Ceph cluster, through librados.

use super::cluster::{Cluster, Completion, text};
use super::objects::Objects;
use crate::net::library::refused;
use crate::net::refusal::Refusal;
use crate::net::threads::{Flights, Slot};
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use std::any::Any;
use std::ffi::{CString, c_int, c_void};
use std::rc::Rc;
use std::time::Duration;

/// State that callbacks access.
#[derive(Clone, Copy)]
struct Callbacks {
    result: unsafe extern "C" fn(Completion) -> c_int,
    release: unsafe extern "C" fn(Completion),
}

/// The engine.
pub(crate) struct Rados {
    // Declared before the cluster, so that it is dropped first: callbacks use the cluster until all I/Os have
    // completed.
    flights: Flights<Callbacks>,
    cluster: Rc<Cluster>,
    names: Vec<CString>,
}

impl EngineType for Rados {
    const DEFINITION: &'static EngineDef = &engines::rados::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Objects::new(&job.private.rados))
    }

    fn new(setup: &Setup<'_>) -> Result<Rados, SetupError> {
        let options = &setup.job.private.rados;
        let failed = |Refusal { errno, sentence }| refused(errno, "rados_connect", sentence);
        let cluster = match (setup.storage as &dyn Any).downcast_ref::<Objects>() {
            Some(objects) => Rc::clone(objects.cluster().map_err(failed)?),
            None => Rc::new(Objects::connect(options).map_err(failed)?),
        };
        let names: Result<_, _> =
            setup.files.iter().map(|file| text("the object's name", &file.name)).collect();
        let callbacks = Callbacks { result: cluster.functions.result, release: cluster.functions.release };
        let mut flights = Flights::new(setup.depth, callbacks);
        flights.spins = options.busy_poll;
        Ok(Rados { flights, cluster, names: names.map_err(failed)? })
    }
}

impl Engine for Rados {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        // Only reads report the number of bytes that they moved.
        let counted = if io.operation() == Operation::Read { 0 } else { io.length() };
        let private = self.flights.prepare(slot, counted);
        let mut completion: Completion = std::ptr::null_mut();
        // SAFETY: slot, buffer, name and pool stay valid until the callback has run: `Flights` waits for it
        // when dropped. The completion is written before it is read, and is released here only if its
        // callback never runs.
        let result = unsafe {
            let made = (self.cluster.functions.new_completion)(private, ended, &mut completion);
            if made < 0 {
                return Queued::Done(i64::from(made));
            }
            let result = self.submit(io, completion);
            if result < 0 {
                (self.cluster.functions.release)(completion);
            }
            result
        };
        self.flights.begun(result)
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
        let queued = self.queue(self.flights.spare(), &Io::sync(0, handle));
        Some(self.flights.end_of_sync(queued))
    }

    fn features(&self) -> Vec<&'static str> {
        if self.flights.spins { vec!["busy polling"] } else { Vec::new() }
    }
}

impl Rados {
    /// Submits an I/O to the library; 0 or `-errno`. A sync only waits for earlier writes, because completed
    /// writes are durable.
    ///
    /// # Safety
    ///
    /// The buffer of the I/O stays valid until its completion.
    unsafe fn submit(&self, io: &Io, completion: Completion) -> c_int {
        let Cluster { functions, pool, .. } = &*self.cluster;
        let name = &self.names[io.file() as usize];
        let (length, buffer) = (io.length() as usize, io.buffer().cast());
        // SAFETY: the caller's promise; the pool is open, and names end with zero bytes. The library copies
        // what it needs of the operation.
        unsafe {
            match io.operation() {
                Operation::Read => {
                    (functions.read_async)(*pool, name.as_ptr(), completion, buffer, length, io.offset())
                }
                Operation::Write => {
                    (functions.write_async)(*pool, name.as_ptr(), completion, buffer, length, io.offset())
                }
                Operation::Trim => {
                    let changes = (functions.new_changes)();
                    (functions.add_zeroes)(changes, io.offset(), length as u64);
                    let now = std::ptr::null_mut();
                    let result = (functions.change_async)(changes, *pool, completion, name.as_ptr(), now, 0);
                    (functions.release_changes)(changes);
                    result
                }
                _ => (functions.flush_async)(*pool, completion),
            }
        }
    }
}

/// The library calls this once for each I/O, from one of its threads.
unsafe extern "C" fn ended(completion: Completion, private: *mut c_void) {
    // SAFETY: the library returns the slot that `queue` passed, which is not changed before its completion is
    // known, and a completion that is not released elsewhere.
    unsafe {
        let slot = &*private.cast::<Slot<Callbacks>>();
        let result = (slot.library.result)(completion);
        (slot.library.release)(completion);
        slot.ended(i64::from(result));
    }
}
