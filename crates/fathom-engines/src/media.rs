//! Media behind character devices. Only their engine can determine their size; apart from that, they are
//! treated like files.

use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::plan::model::files::{NamesPlan, OpenPlan};
use fathom_run::storage::files::Files;
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::zones::device::OwnZones;
use fathom_sys::Errno;
use std::path::PathBuf;

/// Looks up a name as a target of a certain engine.
pub(crate) type LookAt = Box<dyn Fn(&WorkerPlan, PathBuf) -> Result<FileEntry, FileError>>;
/// Determines the zones of a target; see [`Storage::own_zones`].
pub(crate) type ZonesOf = Box<dyn Fn(&FileEntry, bool) -> Result<Option<OwnZones>, FileError>>;

/// Targets of an engine that determines their sizes itself.
pub(crate) struct Media {
    files: Files,
    look_at: LookAt,
    zones_of: Option<ZonesOf>,
    /// True if `direct=1` is accepted, because character devices have no page cache.
    past_caches: bool,
}

impl Media {
    /// Media whose properties depend on their name alone.
    pub(crate) fn new(look_at: fn(PathBuf) -> Result<FileEntry, FileError>) -> Media {
        Media::for_job(Box::new(move |_, path| look_at(path)))
    }

    /// Media whose properties depend on the job.
    pub(crate) fn for_job(look_at: LookAt) -> Media {
        Media { files: Files::default(), look_at, zones_of: None, past_caches: false }
    }

    /// Media that may have zones.
    pub(crate) fn with_zones(self, zones_of: ZonesOf) -> Media {
        Media { zones_of: Some(zones_of), ..self }
    }

    /// Accepts `direct=1` on character devices, which the kernel would refuse.
    pub(crate) fn past_caches(self) -> Media {
        Media { past_caches: true, ..self }
    }
}

impl Storage for Media {
    fn names(&self, plan: &NamesPlan) -> Vec<PathBuf> {
        self.files.names(plan)
    }

    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        (self.look_at)(plan, name)
    }

    fn own_zones(&self, entry: &FileEntry, writes: bool) -> Result<Option<OwnZones>, FileError> {
        match &self.zones_of {
            Some(zones_of) => zones_of(entry, writes),
            None => self.files.own_zones(entry, writes),
        }
    }

    fn check(&self, plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
        self.files.check(plan, entries)
    }

    fn check_opened(&self, plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
        self.files.check_opened(plan, entries)
    }

    fn check_layout(&self, entry: &FileEntry) -> Result<(), FileError> {
        self.files.check_layout(entry)
    }

    /// Does nothing, because a medium always has its full size.
    fn lay_out(
        &mut self,
        _plan: &WorkerPlan,
        entry: &FileEntry,
        _filling: Option<&mut Filling>,
        _stopped: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        Err(FileError::of_call(Errno(libc::EINVAL), "open", &entry.path))
    }

    fn open(&mut self, plan: &WorkerPlan, index: usize, entry: &FileEntry) -> Result<Handle, FileError> {
        if !self.past_caches || !plan.files.opening.direct || entry.kind != FileKind::Medium {
            return self.files.open(plan, index, entry);
        }
        let mut cached = plan.clone();
        cached.files.opening.direct = false;
        self.files.open(&cached, index, entry)
    }

    fn close(&mut self, index: usize) -> Result<(), Errno> {
        self.files.close(index)
    }

    fn settle(&mut self, plan: &OpenPlan, entry: &FileEntry, handle: Handle) -> Result<(), FileError> {
        self.files.settle(plan, entry, handle)
    }

    /// Called only for engines without a cache; the others sync themselves.
    fn sync(&mut self, _handle: Handle, _kind: SyncKind) -> Result<(), Errno> {
        Ok(())
    }

    /// Does nothing: devices are never removed, even if the job says so about its files.
    fn remove(&mut self, _entry: &FileEntry) -> Result<(), Errno> {
        Ok(())
    }

    fn device_below(&self, entry: &FileEntry) -> Option<u64> {
        self.files.device_below(entry)
    }
}
