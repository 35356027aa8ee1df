//! The job's image as a storage: every file of the job is the whole image. An existing image keeps its size;
//! with `rbd_create`, a missing one is created, grows like a file, and is removed after the run.

use super::image::Image;
use crate::net::end::End;
use crate::net::refusal::Refusal;
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::plan::model::files::OpenPlan;
use fathom_run::storage::{Handle, ReadBack, Storage};
use fathom_spec::engines::rbd::RbdOptions;
use fathom_sys::Errno;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;

/// The image of a job as a storage.
pub(super) struct Volume {
    options: RbdOptions,
    image: OnceCell<Rc<Image>>,
}

impl Volume {
    pub(super) fn new(options: &RbdOptions) -> Volume {
        Volume { options: options.clone(), image: OnceCell::new() }
    }

    /// The image, shared with the engine.
    pub(super) fn image(&self) -> Result<&Rc<Image>, Refusal> {
        if let Some(image) = self.image.get() {
            return Ok(image);
        }
        let image = Rc::new(Image::connect(&self.options)?);
        Ok(self.image.get_or_init(|| image))
    }

    fn find(&self, name: PathBuf) -> Result<FileEntry, Refusal> {
        let image = self.image()?;
        if !image.open()? {
            if self.options.rbd_create {
                return Ok(FileEntry::new(name, FileKind::Object, None));
            }
            let named = self.options.rbdname.as_deref().unwrap_or_default();
            let advice = "; `rbd ls` lists the images of a pool, rbd_create=1 creates one for the job";
            return Err(Refusal::of(Errno(libc::ENOENT), &format!("rbdname={named}"), advice));
        }
        let made_for_jobs = self.options.rbd_create && image.becomes_that_of_a_job();
        let kind = if made_for_jobs { FileKind::Object } else { FileKind::Volume };
        Ok(FileEntry::new(name, kind, Some(image.size()?)))
    }

    fn extend(
        &self,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        let image = self.image()?;
        image.grow(entry.wanted_size())?;
        let Some(filling) = filling else { return Ok(()) };
        let present = entry.present_size.unwrap_or(0);
        let mut end = End::new(present, |bytes, offset| image.write(bytes, offset));
        let filled = filling.fill(&mut end, (present, entry.missing()), stopped);
        if let Err(errno) = filled {
            // The partial image is removed; otherwise the next run would mistake it for a complete one.
            let _ = image.remove();
            return Err(Refusal { errno, sentence: format!("the image could not be filled: {errno}") });
        }
        image.flush()
    }
}

impl Storage for Volume {
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        self.find(name).map_err(|refusal| refusal.of_job(plan))
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

    fn open(&mut self, plan: &WorkerPlan, index: usize, _: &FileEntry) -> Result<Handle, FileError> {
        self.image().and_then(|image| image.open()).map_err(|refusal| refusal.of_job(plan))?;
        Ok(Handle::of_number(index))
    }

    fn settle(&mut self, plan: &OpenPlan, entry: &FileEntry, _: Handle) -> Result<(), FileError> {
        if !plan.invalidates {
            return Ok(());
        }
        let forgotten = self.image().and_then(|image| image.forget());
        forgotten.map_err(|refusal| FileError::of_call(refusal.errno, "rbd_invalidate_cache", &entry.path))
    }

    /// The library's cache can only be dropped as a whole, and the library does not report its content.
    fn forget(&mut self, _: &FileEntry, _: Handle, wanted: &ReadBack) -> Option<u64> {
        if !wanted.drops {
            return None;
        }
        self.image().and_then(|image| image.forget()).ok().map(|()| 0)
    }

    fn remove(&mut self, _: &FileEntry) -> Result<(), Errno> {
        self.image().and_then(|image| image.remove()).map_err(|refusal| refusal.errno)
    }
}
