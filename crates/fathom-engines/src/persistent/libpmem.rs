//! `libpmem`: mapped files on a file system that is mounted with DAX. The library of this name is not needed,
//! because the engine uses the processor's instructions directly.

use super::Memory;
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, SyncKind};
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use fathom_sys::memory::page_size;

pub(crate) struct Libpmem(Memory);

impl EngineType for Libpmem {
    const DEFINITION: &'static EngineDef = &engines::persistent::LIBPMEM;

    fn new(setup: &Setup<'_>) -> Result<Libpmem, SetupError> {
        if let Some(file) = setup.files.iter().find(|file| file.is_block_device) {
            return Err(SetupError::new(Errno(libc::EINVAL), "mmap").with_advice(format!(
                "{} is a block device: make a file system on it, mount it with -o dax, and name a file there",
                file.name
            )));
        }
        Memory::map(setup, |_| Ok(page_size() as u64)).map(Libpmem)
    }
}

impl Engine for Libpmem {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        Queued::Done(self.0.perform(io))
    }

    fn sync_now(&mut self, _handle: Handle, _kind: SyncKind) -> Option<Result<(), Errno>> {
        fathom_sys::persistent_memory::drain();
        Some(Ok(()))
    }

    fn features(&self) -> Vec<&'static str> {
        self.0.features()
    }
}
