//! Files and devices of this machine, through the calls of the operating system.

mod in_use;
mod layout;
pub(crate) mod locks;
mod namespace;
mod open;
mod read_back;
pub(crate) mod scheduler;
mod tree;

pub use in_use::{disk_at, use_of, uses_of};
pub use namespace::{Namespace, TargetName};

use super::{Handle, OpenFile, ReadBack, Storage};
use crate::files::filling::Filling;
use crate::files::{FileEntry, FileError, FileKind, names};
use crate::plan::WorkerPlan;
use crate::plan::model::files::{NamesPlan, OpenPlan};
use fathom_spec::options::file::FileType;
use fathom_sys::{Errno, block_device, file};
use fathom_verify::ledger::SyncKind;
use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The files and devices of a clone; drop closes those that are still open. Their handles are descriptors.
#[derive(Default)]
pub struct Files {
    /// Descriptors by file index; `None` for closed files.
    descriptors: Vec<Option<OwnedFd>>,
    /// The backing files of the loop devices below each target that was read back.
    backing: HashMap<PathBuf, Vec<PathBuf>>,
    /// Messages about targets that were created.
    remarks: Vec<String>,
}

impl Storage for Files {
    fn names(&self, plan: &NamesPlan) -> Vec<PathBuf> {
        names::paths(plan)
    }

    fn make_directories(&mut self, plan: &NamesPlan) -> Result<(), FileError> {
        tree::make(plan)
    }

    fn remove_directories(&mut self, plan: &NamesPlan) -> Result<(), Errno> {
        tree::remove(plan)
    }

    fn look_at(&self, plan: &WorkerPlan, path: PathBuf) -> Result<FileEntry, FileError> {
        let metadata = match std::fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(FileEntry::new(path, FileKind::Regular, None));
            }
            Err(error) => return Err(FileError::of_call(error.into(), "stat", &path)),
        };
        let found = metadata.file_type();
        if found.is_dir() {
            let message = format!(
                "fathom: job {}: {} is a directory: directory= makes the job's files in it, filename= names a file",
                plan.name,
                path.display()
            );
            return Err(FileError::of_call(Errno(libc::EISDIR), "open", &path).with_message(message));
        }
        let kind = match plan.files.kind {
            FileType::File => FileKind::Regular,
            FileType::Block => FileKind::Block,
            FileType::Char => FileKind::Character,
            FileType::Any if found.is_block_device() => FileKind::Block,
            FileType::Any if found.is_file() => FileKind::Regular,
            FileType::Any => FileKind::Character,
        };
        let size = match kind {
            FileKind::Regular => Some(metadata.len()),
            FileKind::Block => Some(device_size(&path)?),
            _ => None,
        };
        Ok(FileEntry::new(path, kind, size))
    }

    fn check(&self, plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
        layout::check(plan, entries)
    }

    fn check_opened(&self, plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
        let opened = |index: usize| self.descriptors.get(index)?.as_ref().map(AsRawFd::as_raw_fd);
        layout::check_opened(plan, entries, &opened)
    }

    fn check_layout(&self, entry: &FileEntry) -> Result<(), FileError> {
        layout::check_layout(entry)
    }

    fn lay_out(
        &mut self,
        plan: &WorkerPlan,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        layout::lay_out(&plan.files, entry, filling, stopped, &mut self.remarks)
    }

    fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    fn open(&mut self, plan: &WorkerPlan, index: usize, entry: &FileEntry) -> Result<Handle, FileError> {
        let descriptor = open::open(plan, entry)?;
        // SAFETY: the descriptor is kept below, and closed when the target has no I/O in flight.
        let handle = unsafe { Handle::of_descriptor(descriptor.as_raw_fd()) };
        if self.descriptors.len() <= index {
            self.descriptors.resize_with(index + 1, || None);
        }
        self.descriptors[index] = Some(descriptor);
        Ok(handle)
    }

    fn close(&mut self, index: usize) -> Result<(), Errno> {
        match self.descriptors.get_mut(index).and_then(Option::take) {
            Some(descriptor) => file::close(descriptor),
            None => Ok(()),
        }
    }

    fn settle(&mut self, plan: &OpenPlan, entry: &FileEntry, handle: Handle) -> Result<(), FileError> {
        open::settle(plan, entry, handle.descriptor())
    }

    fn read_into_cache(&mut self, target: &OpenFile, stopped: &dyn Fn() -> bool) -> Result<(), Errno> {
        open::read_all(target, stopped)
    }

    fn sync(&mut self, handle: Handle, kind: SyncKind) -> Result<(), Errno> {
        match kind {
            SyncKind::FileSystem => file::sync_file_system(handle.descriptor()),
            SyncKind::DataSync => file::sync_data(handle.descriptor()),
            SyncKind::Sync | SyncKind::Range => file::sync(handle.descriptor()),
        }
    }

    fn forget(&mut self, entry: &FileEntry, handle: Handle, wanted: &ReadBack) -> Option<u64> {
        let backing = match self.backing.get(&entry.path) {
            Some(known) => known,
            None => self.backing.entry(entry.path.clone()).or_insert(read_back::backing_files(entry)),
        };
        read_back::forget(entry, handle.descriptor(), backing, wanted)
    }

    fn write_back(&mut self, entry: &FileEntry, handle: Handle, range: &Range<u64>) -> Result<(), Errno> {
        read_back::write_back(entry, handle.descriptor(), range)
    }

    fn read_past_cache(&mut self, entry: &FileEntry, handle: Handle, on: bool, alignment: u64) -> bool {
        read_back::read_past_cache(entry, handle.descriptor(), on, alignment)
    }

    fn unwritten(&mut self, entry: &FileEntry, handle: Handle) -> Result<Option<u64>, Errno> {
        read_back::unwritten(entry, handle.descriptor())
    }

    fn remove(&mut self, entry: &FileEntry) -> Result<(), Errno> {
        let is_file = std::fs::symlink_metadata(&entry.path).is_ok_and(|m| m.is_file() || m.is_symlink());
        if !is_file {
            return Ok(());
        }
        match std::fs::remove_file(&entry.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn device_below(&self, entry: &FileEntry) -> Option<u64> {
        let metadata = std::fs::metadata(&entry.path).ok()?;
        match entry.kind {
            FileKind::Block => Some(metadata.rdev()),
            FileKind::Regular => Some(metadata.dev()),
            _ => None,
        }
    }
}

fn device_size(path: &Path) -> Result<u64, FileError> {
    let failed = |call: &'static str| move |errno: Errno| FileError::of_call(errno, call, path);
    let descriptor = file::open(path, libc::O_RDONLY, 0).map_err(failed("open"))?;
    block_device::size(descriptor.as_raw_fd()).map_err(failed("ioctl"))
}
