//! An export as a storage: it has a fixed size and always exists, and every file of a job is the whole export.

use super::connection::{Connection, HANDSHAKE_LIMIT};
use super::uri::ExportUri;
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::Storage;
use fathom_sys::Errno;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;

/// The job's export.
pub(super) struct Volume {
    uri: Option<String>,
    size: Cell<Option<u64>>,
    /// The connection that was used to determine the size. It is kept, because some servers accept only one
    /// client, and some exit when their client disconnects.
    held: RefCell<Option<Connection>>,
}

impl Volume {
    pub(super) fn new(uri: Option<&str>) -> Volume {
        Volume { uri: uri.map(str::to_owned), size: Cell::new(None), held: RefCell::new(None) }
    }

    /// Takes over the existing connection.
    pub(super) fn take_connection(&self) -> Option<Connection> {
        self.held.borrow_mut().take()
    }

    fn size(&self, plan: &WorkerPlan) -> Result<u64, FileError> {
        if let Some(size) = self.size.get() {
            return Ok(size);
        }
        let failed =
            |errno: Errno, message: String| FileError { errno: errno.0, text: None, message: Some(message) };
        let Some(uri) = &self.uri else {
            return Err(failed(Errno(libc::EINVAL), "fio: nbd: uri parameter was not specified".to_owned()));
        };
        let job = &plan.name;
        let target = ExportUri::parse(uri)
            .map_err(|error| failed(Errno(libc::EINVAL), format!("fathom: job {job}: {error}")))?;
        let connection = Connection::open(&target, HANDSHAKE_LIMIT)
            .map_err(|error| failed(error.errno(), format!("fathom: job {job}: {target}: {error}")))?;
        let size = connection.export.size;
        self.size.set(Some(size));
        *self.held.borrow_mut() = Some(connection);
        Ok(size)
    }
}

impl Storage for Volume {
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        Ok(FileEntry::new(name, FileKind::Volume, Some(self.size(plan)?)))
    }

    /// Does nothing, because an export always has its full size.
    fn lay_out(
        &mut self,
        _: &WorkerPlan,
        _: &FileEntry,
        _: Option<&mut Filling>,
        _: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        Ok(())
    }

    /// Does nothing, because an export is never removed.
    fn remove(&mut self, _: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }
}
