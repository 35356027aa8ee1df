//! The targets of a clone while the job runs.

use super::{FileEntry, FileError, FileKind, layout};
use crate::cause::Cause;
use crate::engine::Engine;
use crate::plan::WorkerPlan;
use crate::plan::model::files::NamesPlan;
use crate::storage::{Handle, OpenFile, ReadBack, Storage};
use fathom_sys::Errno;
use fathom_verify::ledger::SyncKind;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The open targets of a clone; closed on drop.
pub struct OpenFiles {
    /// The open files, in the form that engines use.
    pub list: Vec<OpenFile>,
    /// Device numbers of the block devices below the files, without duplicates.
    pub devices: Vec<u64>,
    storage: Box<dyn Storage>,
    entries: Vec<FileEntry>,
    checked: Instant,
}

impl OpenFiles {
    /// Opens all targets; drops their cached data if the job asks for that.
    pub fn open(
        plan: &WorkerPlan,
        storage: Box<dyn Storage>,
        entries: &[FileEntry],
    ) -> Result<OpenFiles, FileError> {
        let list = entries.iter().map(OpenFile::closed).collect();
        let (entries, devices) = (entries.to_vec(), Vec::new());
        let mut files = OpenFiles { list, devices, storage, entries, checked: Instant::now() };
        let limit = plan.target_plan.files.most_open.unwrap_or(usize::MAX);
        for (index, entry) in files.entries.clone().iter().enumerate() {
            let handle = files.reopen(plan, index)?;
            files.storage.settle(&plan.files.opening, entry, handle)?;
            // Files beyond the `openfiles` limit are opened when an I/O needs them; opening them here only
            // checks that this will work.
            if handle.is_open() && index >= limit {
                // Nothing has been written to the file yet, so an error of the close is irrelevant.
                let _ = files.close(index);
            }
            let device = files.storage.device_below(entry);
            files.devices.extend(device.filter(|device| !files.devices.contains(device)));
        }
        files.check_again(plan)?;
        Ok(files)
    }

    /// Refuses to change targets if they have come into use since they were examined.
    pub(crate) fn check_again(&mut self, plan: &WorkerPlan) -> Result<(), FileError> {
        self.storage.check_opened(plan, &self.entries)?;
        self.checked = Instant::now();
        Ok(())
    }

    /// Time since the last check whether the targets are in use.
    pub(crate) fn since_check(&self) -> Duration {
        self.checked.elapsed()
    }

    /// The targets as they were found before opening.
    pub(crate) fn entries(&self) -> &[FileEntry] {
        &self.entries
    }

    /// Zone size in bytes, with `zonemode=zbd`.
    pub(crate) fn zone_size(&self) -> Option<u64> {
        self.entries.first()?.zones.as_ref().map(|geometry| geometry.zone_size)
    }

    /// The storage of the targets.
    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// Number of open files; files of diskless engines always count as open.
    pub fn open_count(&self) -> usize {
        (0..self.list.len()).filter(|index| self.is_open(*index)).count()
    }

    /// Kind of the file with this index.
    pub fn kind(&self, index: usize) -> FileKind {
        self.entries[index].kind
    }

    /// True if the file is open; files of diskless engines always are.
    pub(crate) fn is_open(&self, index: usize) -> bool {
        self.list[index].handle.is_open() || self.entries[index].kind == FileKind::None
    }

    /// Closes a file temporarily. An error stems from an earlier write.
    pub(crate) fn close(&mut self, index: usize) -> Result<(), Errno> {
        self.list[index].handle = Handle::NONE;
        self.storage.close(index)
    }

    /// Opens a file (again) and returns its handle.
    pub(crate) fn reopen(&mut self, plan: &WorkerPlan, index: usize) -> Result<Handle, FileError> {
        let handle = self.storage.open(plan, index, &self.entries[index])?;
        self.list[index].handle = handle;
        Ok(handle)
    }

    /// Removes targets that can be recreated, lays them out again and opens them.
    pub(crate) fn renew(&mut self, plan: &WorkerPlan, readonly: bool) -> Result<(), FileError> {
        for entry in self.entries.iter_mut().filter(|entry| entry.kind.can_be_made()) {
            self.storage.remove(entry).map_err(|errno| FileError::of_call(errno, "unlink", &entry.path))?;
            entry.present_size = None;
        }
        layout::prepare(&mut *self.storage, plan, &self.entries, readonly, |_, _| {})?;
        for index in 0..self.entries.len() {
            if self.entries[index].kind.can_grow() && self.list[index].handle.is_open() {
                self.reopen(plan, index)?;
            }
        }
        Ok(())
    }

    /// Removes files after the run (`unlink`), but never an export or an image. A failure does not prevent the
    /// removal of the others.
    pub(crate) fn remove(&mut self, plan: &NamesPlan) -> Vec<Errno> {
        let removable = self.entries.iter().filter(|entry| entry.kind != FileKind::Volume);
        let mut errors: Vec<Errno> = removable.filter_map(|entry| self.storage.remove(entry).err()).collect();
        errors.extend(self.storage.remove_directories(plan).err());
        errors
    }

    /// Syncs an open file through its engine or its storage; does nothing for a closed one.
    pub(crate) fn sync(
        &mut self,
        engine: &mut dyn Engine,
        index: usize,
        kind: SyncKind,
    ) -> Result<(), Errno> {
        match self.list[index].handle {
            Handle::NONE => Ok(()),
            handle => engine.sync_now(handle, kind).unwrap_or_else(|| self.storage.sync(handle, kind)),
        }
    }

    /// [`Storage::forget`] for the part of an open file that the job uses.
    pub(crate) fn forget(&mut self, index: usize, is_cached: bool, drops: bool) -> Option<u64> {
        let range = self.range(index);
        let wanted = ReadBack { range, is_cached, drops };
        self.storage.forget(&self.entries[index], self.list[index].handle, &wanted)
    }

    /// [`Storage::write_back`] for the part of an open file that the job uses.
    pub(crate) fn write_back(&mut self, index: usize) -> Result<(), Errno> {
        let range = self.range(index);
        self.storage.write_back(&self.entries[index], self.list[index].handle, &range)
    }

    /// [`Storage::read_past_cache`].
    pub(crate) fn read_past_cache(&mut self, index: usize, on: bool, alignment: u64) -> bool {
        self.storage.read_past_cache(&self.entries[index], self.list[index].handle, on, alignment)
    }

    /// [`Storage::unwritten`].
    pub(crate) fn unwritten(&mut self, index: usize) -> Result<Option<u64>, Errno> {
        self.storage.unwritten(&self.entries[index], self.list[index].handle)
    }

    fn range(&self, index: usize) -> Range<u64> {
        let file = &self.list[index];
        file.start..file.start.saturating_add(file.size)
    }

    /// The first file on this block device (`dev_t`).
    pub(crate) fn on_device(&self, device: u64) -> Option<&FileEntry> {
        self.entries.iter().find(|entry| self.storage.device_below(entry) == Some(device))
    }

    /// Reads all files once to cache them; can be stopped. Files beyond `openfiles` are opened for this.
    pub(crate) fn read_into_cache(
        &mut self,
        plan: &WorkerPlan,
        stopped: impl Fn() -> bool,
    ) -> Result<(), FileError> {
        let failed = |errno: Errno| FileError {
            errno: errno.0,
            text: Some(Cause::PRE_READ.line(errno)),
            message: None,
        };
        for index in 0..self.list.len() {
            let was_open = self.is_open(index);
            if !was_open {
                self.reopen(plan, index)?;
            }
            self.storage.read_into_cache(&self.list[index], &stopped).map_err(failed)?;
            if !was_open {
                // The file was opened only for reading, so an error of the close is irrelevant.
                let _ = self.close(index);
            }
        }
        Ok(())
    }
}
