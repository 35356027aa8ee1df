//! A storage without data: for engines that move none (`null`) or keep none (`cpuio`, `exec`), and for those
//! that exchange data with a peer (`net`, `rdma`) and open their end of the connection here. The targets of
//! these engines are names only.

use super::{Handle, OpenFile, Storage};
use crate::files::filling::Filling;
use crate::files::{FileEntry, FileError, FileKind};
use crate::plan::WorkerPlan;
use fathom_sys::Errno;
use fathom_verify::ledger::SyncKind;
use std::cell::RefCell;
use std::path::PathBuf;

/// Opens the state shared by a clone's targets.
type Open<T> = Box<dyn Fn(&WorkerPlan) -> Result<T, FileError>>;

/// Stores nothing, so all operations are no-ops. Shared state, if any, is opened with the first target, for the
/// engine to take.
pub struct Nowhere<T> {
    open: Open<T>,
    opened: RefCell<Option<T>>,
}

impl<T> Nowhere<T> {
    /// Creates the storage of targets that share the result of `open`.
    pub fn opening(open: impl Fn(&WorkerPlan) -> Result<T, FileError> + 'static) -> Nowhere<T> {
        Nowhere { open: Box::new(open), opened: RefCell::new(None) }
    }

    /// Hands the shared state to the engine, once.
    pub fn take(&self) -> Option<T> {
        self.opened.borrow_mut().take()
    }
}

impl<T: 'static> Storage for Nowhere<T> {
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

    fn open(&mut self, plan: &WorkerPlan, index: usize, _: &FileEntry) -> Result<Handle, FileError> {
        if index == 0 {
            *self.opened.get_mut() = Some((self.open)(plan)?);
        }
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
