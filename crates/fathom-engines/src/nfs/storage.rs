//! Files of a share as a storage: they are created, extended and deleted like local files.

use super::mount::{Functions, Mount};
use crate::net::end::End;
use crate::net::refusal::Refusal;
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::{Handle, Storage};
use fathom_sys::Errno;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

/// The job's share.
pub(super) struct Share {
    url: Option<String>,
    mount: OnceCell<Mount>,
}

impl Share {
    pub(super) fn new(url: Option<&str>) -> Share {
        Share { url: url.map(str::to_owned), mount: OnceCell::new() }
    }

    fn mount(&self) -> Result<&Mount, Refusal> {
        if let Some(mount) = self.mount.get() {
            return Ok(mount);
        }
        let Some(url) = &self.url else {
            let sentence = "nfs: nfs_url is a required parameter".to_owned();
            return Err(Refusal { errno: Errno(libc::EINVAL), sentence });
        };
        let functions = Functions::load().map(Arc::new).map_err(Refusal::of_library)?;
        let mount = Mount::open(&functions, url)?;
        Ok(self.mount.get_or_init(|| mount))
    }

    /// Extends a file to the size that the job needs.
    fn extend(
        &self,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        let mount = self.mount()?;
        let handle = mount.open_file(&entry.path, libc::O_RDWR | libc::O_CREAT)?;
        let present = entry.present_size.unwrap_or(0);
        let done = match filling {
            Some(filling) => {
                let mut end = End::new(present, |bytes, offset| mount.write(handle, bytes, offset));
                filling.fill(&mut end, (present, entry.missing()), stopped)
            }
            None => mount.truncate(handle, entry.wanted_size()),
        };
        if let Err(errno) = done.and_then(|()| mount.sync(handle)) {
            let why = mount.error();
            // The file is truncated to its previous size. If even that fails, the first error is more
            // informative.
            let _ = mount.truncate(handle, present);
            mount.close(handle);
            if entry.present_size.is_none() {
                let _ = mount.remove(&entry.path);
            }
            return Err(Refusal { errno, sentence: format!("{}: {errno} ({why})", entry.path.display()) });
        }
        mount.close(handle);
        Ok(())
    }
}

impl Storage for Share {
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        let found =
            self.mount().and_then(|mount| mount.size(&name)).map_err(|refusal| refusal.of_job(plan))?;
        Ok(FileEntry::new(name, FileKind::Object, found))
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

    /// Only creates the file, because the engine opens files on its own connections.
    fn open(&mut self, plan: &WorkerPlan, index: usize, entry: &FileEntry) -> Result<Handle, FileError> {
        let flags = if plan.writes_data() { libc::O_RDWR | libc::O_CREAT } else { libc::O_RDONLY };
        let opened = self.mount().and_then(|mount| {
            let handle = mount.open_file(&entry.path, flags)?;
            mount.close(handle);
            Ok(())
        });
        opened.map_err(|refusal| refusal.of_job(plan))?;
        Ok(Handle::of_number(index))
    }

    fn remove(&mut self, entry: &FileEntry) -> Result<(), Errno> {
        self.mount().and_then(|mount| mount.remove(&entry.path)).map_err(|refusal| refusal.errno)
    }
}
