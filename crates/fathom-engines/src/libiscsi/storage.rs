//! Logical units as a storage: every file of a job is a unit, named by its URL.

use super::error::SessionError;
use super::session::{Functions, Session};
use super::url::Unit;
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::Storage;
use fathom_sys::Errno;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The job's logical units.
pub(super) struct Units {
    initiator: String,
    /// Sessions that were opened to determine sizes, by URL; the engine takes them over.
    held: RefCell<BTreeMap<String, Session>>,
}

impl Units {
    pub(super) fn new(initiator: &str) -> Units {
        Units { initiator: initiator.to_owned(), held: RefCell::default() }
    }

    /// Takes the session that was opened for a unit, if any.
    pub(super) fn take_session(&self, url: &str) -> Option<Session> {
        self.held.borrow_mut().remove(url)
    }

    fn open(&self, url: &str) -> Result<Session, SessionError> {
        let unit = Unit::parse(url)?;
        Session::open(&Functions::load().map(Arc::new)?, &self.initiator, &unit)
    }
}

impl Storage for Units {
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        let url = name.to_string_lossy().into_owned();
        let mut held = self.held.borrow_mut();
        if !held.contains_key(&url) {
            let opened = self.open(&url).map_err(|error| FileError {
                errno: libc::EIO,
                text: None,
                message: Some(format!("fathom: job {}: {error}", plan.name)),
            })?;
            held.insert(url.clone(), opened);
        }
        let size = held.get(&url).map(Session::size);
        Ok(FileEntry::new(name, FileKind::Volume, size))
    }

    /// Does nothing, because a logical unit always has its full size.
    fn lay_out(
        &mut self,
        _: &WorkerPlan,
        _: &FileEntry,
        _: Option<&mut Filling>,
        _: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        Ok(())
    }

    /// Does nothing, because a logical unit is never removed.
    fn remove(&mut self, _: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }
}
