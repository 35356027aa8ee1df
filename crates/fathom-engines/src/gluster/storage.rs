//! Files of a volume as a storage: they are created, extended and deleted like local files.

use super::volume::Volume;
use crate::net::end::End;
use crate::net::refusal::Refusal;
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::{Handle, Storage};
use fathom_spec::engines::gfapi::GfapiOptions;
use fathom_sys::Errno;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

/// The job's volume.
pub(super) struct Files {
    options: GfapiOptions,
    volume: OnceCell<Arc<Volume>>,
}

impl Files {
    pub(super) fn new(options: &GfapiOptions) -> Files {
        Files { options: options.clone(), volume: OnceCell::new() }
    }

    /// The connection, shared with the engine.
    pub(super) fn volume(&self) -> Result<&Arc<Volume>, Refusal> {
        if let Some(volume) = self.volume.get() {
            return Ok(volume);
        }
        let volume = Volume::of_job(&self.options)?;
        Ok(self.volume.get_or_init(|| volume))
    }

    fn extend(
        &self,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        let volume = self.volume()?;
        let file = volume.open(&entry.path, libc::O_RDWR | libc::O_CREAT)?;
        let present = entry.present_size.unwrap_or(0);
        let done = match filling {
            Some(filling) => {
                let mut end = End::new(present, |bytes, offset| file.write(bytes, offset));
                filling.fill(&mut end, (present, entry.missing()), stopped)
            }
            None => file.truncate(entry.wanted_size()),
        };
        let Err(errno) = done.and_then(|()| file.sync()) else { return Ok(()) };
        // The file is truncated to its previous length. If even that fails, the first error is more
        // informative.
        let _ = file.truncate(present);
        drop(file);
        if entry.present_size.is_none() {
            let _ = volume.remove(&entry.path);
        }
        Err(Refusal::of(errno, &entry.path.display().to_string(), ""))
    }
}

impl Storage for Files {
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        let found = self.volume().and_then(|volume| volume.size(&name));
        Ok(FileEntry::new(name, FileKind::Object, found.map_err(|refusal| refusal.of_job(plan))?))
    }

    fn lay_out(
        &mut self,
        plan: &WorkerPlan,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        self.extend(entry, filling, stopped).map_err(|refusal| refusal.of_job(plan))
    }

    /// Only creates the file; the engine opens it.
    fn open(&mut self, plan: &WorkerPlan, index: usize, entry: &FileEntry) -> Result<Handle, FileError> {
        let flags = if plan.changes_data() { libc::O_RDWR | libc::O_CREAT } else { libc::O_RDONLY };
        let opened = self.volume().and_then(|volume| volume.open(&entry.path, flags));
        opened.map_err(|refusal| refusal.of_job(plan))?;
        Ok(Handle::of_number(index))
    }

    fn remove(&mut self, entry: &FileEntry) -> Result<(), Errno> {
        self.volume().and_then(|volume| volume.remove(&entry.path)).map_err(|refusal| refusal.errno)
    }
}

/// The connection of the job's storage, which the engine shares.
pub(super) fn volume_of(setup: &fathom_run::engine::Setup<'_>) -> Result<Arc<Volume>, Refusal> {
    match (setup.storage as &dyn std::any::Any).downcast_ref::<Files>() {
        Some(files) => files.volume().cloned(),
        None => Volume::of_job(&setup.job.private.gfapi),
    }
}
