//! `rbd`: an image of a Ceph cluster, through librbd.

use super::cluster::Completion;
use super::image::Image;
use super::volume::Volume;
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
use std::ffi::c_void;
use std::rc::Rc;
use std::time::Duration;

/// State that callbacks access.
#[derive(Clone, Copy)]
struct Callbacks {
    result: unsafe extern "C" fn(Completion) -> isize,
    release: unsafe extern "C" fn(Completion),
}

/// The engine.
pub(crate) struct Rbd {
    // Declared before the image, so that it is dropped first: callbacks use the image until all I/Os have
    // completed.
    flights: Flights<Callbacks>,
    image: Rc<Image>,
    remarks: Vec<String>,
}

impl EngineType for Rbd {
    const DEFINITION: &'static EngineDef = &engines::rbd::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Volume::new(&job.private.rbd))
    }

    fn new(setup: &Setup<'_>) -> Result<Rbd, SetupError> {
        let options = &setup.job.private.rbd;
        let failed = |Refusal { errno, sentence }| refused(errno, "rbd_open", sentence);
        let image = match (setup.storage as &dyn Any).downcast_ref::<Volume>() {
            Some(volume) => Rc::clone(volume.image().map_err(failed)?),
            None => Rc::new(Image::connect(options).map_err(failed)?),
        };
        image.open().map_err(failed)?;
        let callbacks = Callbacks { result: image.functions.result, release: image.functions.release };
        let mut flights = Flights::new(setup.depth, callbacks);
        flights.spins = options.busy_poll;
        let mut remarks = Vec::new();
        let job = &setup.job.name;
        if setup.writes && options.rbd_cache {
            remarks.push(format!(
                "fathom: job {job}: writes may complete in the cache of librbd on this machine, unless the \
                cluster's configuration says otherwise: rbd_cache=0 disables it, fsync= flushes it"
            ));
        }
        if setup.files.len() > 1 {
            remarks.push(format!("fathom: job {job}: all its files are the same image"));
        }
        Ok(Rbd { flights, image, remarks })
    }
}

impl Engine for Rbd {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        // Only reads report the number of bytes that they moved.
        let counted = if io.operation() == Operation::Read { 0 } else { io.length() };
        let private = self.flights.prepare(slot, counted);
        let (functions, image) = (&self.image.functions, self.image.handle());
        let (length, buffer) = (io.length() as usize, io.buffer().cast());
        let mut completion: Completion = std::ptr::null_mut();
        // SAFETY: slot, buffer and image stay valid until the callback has run: `Flights` waits for it when
        // dropped. The completion is written before it is read, and is released here only if its callback
        // never runs.
        let result = unsafe {
            let made = (functions.new_completion)(private, ended, &mut completion);
            if made < 0 {
                return Queued::Done(i64::from(made));
            }
            let result = match io.operation() {
                Operation::Read => (functions.read)(image, io.offset(), length, buffer, completion),
                Operation::Write => (functions.write)(image, io.offset(), length, buffer, completion),
                Operation::Trim => (functions.discard)(image, io.offset(), length as u64, completion),
                _ => (functions.flush)(image, completion),
            };
            if result < 0 {
                (functions.release)(completion);
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

    fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    fn features(&self) -> Vec<&'static str> {
        if self.flights.spins { vec!["busy polling"] } else { Vec::new() }
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
        slot.ended(result as i64);
    }
}
