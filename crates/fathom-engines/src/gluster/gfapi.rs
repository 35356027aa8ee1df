//! `gfapi`: files of a Gluster volume, with one I/O at a time.

use super::storage;
use super::volume::{self, Files, NO_STAT};
use crate::net::library::refused;
use crate::net::refusal::Refusal;
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;

/// The engine.
pub(crate) struct Gfapi {
    files: Files,
}

impl EngineType for Gfapi {
    const DEFINITION: &'static EngineDef = &engines::gfapi::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(storage::Files::new(&job.private.gfapi))
    }

    fn new(setup: &Setup<'_>) -> Result<Gfapi, SetupError> {
        let files = storage::volume_of(setup).and_then(|volume| Files::open(volume, setup));
        files
            .map(|files| Gfapi { files })
            .map_err(|Refusal { errno, sentence }| refused(errno, "glfs_open", sentence))
    }
}

impl Engine for Gfapi {
    fn queue(&mut self, _: u32, io: &Io) -> Queued {
        let Some(file) = self.files.handle(io.file()) else { return Queued::Done(-i64::from(libc::EBADF)) };
        let functions = self.files.functions();
        let (length, offset, buffer) = (io.length() as usize, io.offset() as i64, io.buffer().cast());
        // SAFETY: the file is open, and the loop provides a buffer of at least `length` bytes that is not
        // used elsewhere during the call.
        let result = unsafe {
            match io.operation() {
                Operation::Read => (functions.read)(file, buffer, length, offset, 0, NO_STAT),
                Operation::Write => (functions.write)(file, buffer, length, offset, 0, NO_STAT, NO_STAT),
                Operation::Trim => match (functions.discard)(file, offset, length) {
                    0 => length as isize,
                    failed => failed as isize,
                },
                Operation::DataSync => (functions.sync_data)(file, NO_STAT, NO_STAT) as isize,
                Operation::Sync | Operation::RangeSync => (functions.sync)(file, NO_STAT, NO_STAT) as isize,
            }
        };
        Queued::Done(volume::outcome(result))
    }

    fn sync_now(&mut self, handle: Handle, _: SyncKind) -> Option<Result<(), Errno>> {
        let file = u32::try_from(handle.number()?).ok()?;
        match self.queue(0, &Io::sync(file, handle)) {
            Queued::Done(result) if result < 0 => Some(Err(Errno(-result as i32))),
            _ => Some(Ok(())),
        }
    }

    fn reopened(&mut self, index: usize) {
        self.files.reopen(index);
    }
}
