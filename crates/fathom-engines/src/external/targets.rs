//! Targets whose names only the engine understands: the engine determines their sizes, and fathom neither
//! creates, opens nor removes them.

use super::library::Loaded;
use super::setup::Told;
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::Storage;
use fathom_spec::JobSpec;
use fathom_sys::Errno;
use std::path::PathBuf;

pub(super) struct Targets {
    job: JobSpec,
    engine: &'static Loaded,
}

impl Targets {
    pub(super) fn new(job: &JobSpec, engine: &'static Loaded) -> Targets {
        Targets { job: job.clone(), engine }
    }
}

impl Storage for Targets {
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        let mut told = Told::of_job(&self.job, self.engine.entry.definition.options);
        let size = told
            .size(self.engine.functions, &name.to_string_lossy())
            .map_err(|refusal| refusal.of_job(plan))?;
        Ok(FileEntry::new(name, FileKind::Volume, Some(size)))
    }

    /// Does nothing, because a target's size is fixed.
    fn lay_out(
        &mut self,
        _: &WorkerPlan,
        entry: &FileEntry,
        _: Option<&mut Filling>,
        _: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        Err(FileError::of_call(Errno(libc::ENOSPC), "open", &entry.path))
    }

    fn sync(
        &mut self,
        _: fathom_run::storage::Handle,
        _: fathom_run::storage::SyncKind,
    ) -> Result<(), Errno> {
        Ok(())
    }

    fn remove(&mut self, _: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }
}
