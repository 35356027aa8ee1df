//! No storage at all: engines that move nothing (`null`), or nothing that stays (`cpuio`, `exec`). Their targets are names.

use super::{Handle, Storage};
use crate::engine::OpenFile;
use crate::files::filling::Filling;
use crate::files::{FileEntry, FileError, FileKind};
use crate::plan::WorkerPlan;
use fathom_sys::Errno;
use fathom_verify::ledger::SyncKind;
use std::path::PathBuf;

/// Holds nothing, so nothing has to be done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Storage for Nowhere {
    fn look_at(&self, _: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        Ok(FileEntry::new(name, FileKind::None, None))
    }

    fn lay_out(
        &mut self,
        _: &WorkerPlan,
        _: &FileEntry,
        _: Option<&mut Filling>,
        _: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        Ok(())
    }

    fn open(&mut self, _: &WorkerPlan, _: usize, _: &FileEntry) -> Result<Handle, FileError> {
        Ok(Handle::NONE)
    }

    fn read_into_cache(&mut self, _: &OpenFile, _: &dyn Fn() -> bool) -> Result<(), Errno> {
        Ok(())
    }

    fn sync(&mut self, _: Handle, _: SyncKind) -> Result<(), Errno> {
        Ok(())
    }

    fn remove(&mut self, _: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }
}
