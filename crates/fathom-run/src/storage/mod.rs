//! Storage of a clone's data: how names are resolved, and how targets are created, opened and removed. A
//! storage does everything before the first I/O and after the last one. The I/Os themselves, including trims
//! and syncs, are up to the engine, which selects its storage
//! ([`EngineType::storage`](crate::engine::EngineType::storage)).

pub mod files;
pub mod nowhere;

use crate::files::entry::{FileEntry, FileError, FileKind};
use crate::files::filling::Filling;
use crate::files::names;
use crate::invariant::{Invariant, broken};
use crate::plan::WorkerPlan;
use crate::plan::model::files::{NamesPlan, OpenPlan};
use crate::zones::device::OwnZones;
use fathom_spec::JobSpec;
use fathom_spec::engines::StorageKind;
use fathom_sys::Errno;
pub use fathom_verify::ledger::SyncKind;
use std::any::Any;
use std::ops::Range;
use std::os::fd::RawFd;
use std::path::PathBuf;

/// Constructor of a job's storage. Each clone has a separate storage, and so has the layout before the run.
pub type StorageOf = fn(&JobSpec) -> Box<dyn Storage>;

/// Opaque reference to an open target: a descriptor for files and devices, otherwise a number shared by a
/// storage and its engines. Numbers are stored as negative values, which are never valid descriptors, so the
/// two cannot be confused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(i32);

impl Handle {
    /// Handle of a target that is closed or cannot be opened.
    pub const NONE: Handle = Handle(-1);

    /// The handle of a target that is not a file of this machine.
    pub fn of_number(number: usize) -> Handle {
        let number = i32::try_from(number).ok().and_then(|number| (-2i32).checked_sub(number));
        Handle(number.unwrap_or_else(|| broken(Invariant::OwnHandle, format_args!("number {number:?}"))))
    }

    /// The handle of an open file.
    ///
    /// # Safety
    ///
    /// The storage owns the descriptor, and keeps it open for as long as the handle is used.
    pub unsafe fn of_descriptor(descriptor: RawFd) -> Handle {
        Handle(descriptor)
    }

    /// The number of a handle; `None` for a descriptor and for [`NONE`](Handle::NONE).
    #[inline(always)]
    pub fn number(self) -> Option<usize> {
        usize::try_from((-2i32).checked_sub(self.0)?).ok()
    }

    /// The descriptor of a handle; negative if it has none.
    #[inline(always)]
    pub const fn descriptor(self) -> RawFd {
        self.0
    }

    /// False for [`NONE`](Handle::NONE).
    #[inline(always)]
    pub const fn is_open(self) -> bool {
        self.0 != -1
    }
}

/// One opened file.
#[derive(Clone, Debug)]
pub struct OpenFile {
    /// Name of the file in messages.
    pub name: String,
    /// Handle of the file while it is open.
    pub handle: Handle,
    /// True for block devices.
    pub is_block_device: bool,
    /// First byte of the used part.
    pub start: u64,
    /// Bytes of the used part.
    pub size: u64,
}

impl OpenFile {
    /// Describes a target that is not open yet.
    pub fn closed(entry: &FileEntry) -> OpenFile {
        OpenFile {
            name: entry.name(),
            handle: Handle::NONE,
            is_block_device: entry.kind == FileKind::Block,
            start: entry.start,
            size: entry.size,
        }
    }
}

/// How written data is read back from its medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBack {
    /// The bytes.
    pub range: Range<u64>,
    /// True if reads may be served from the page cache, because they are buffered or copied from a mapping.
    pub is_cached: bool,
    /// True if cached data is dropped; otherwise it is only counted.
    pub drops: bool,
}

/// The storage of a clone's targets, which have the same numbers as the clone's entries. An engine that shares
/// more with its storage than handles, such as a connection, downcasts
/// [`Setup::storage`](crate::engine::Setup::storage).
pub trait Storage: Any {
    /// The names of a clone's targets, in order.
    fn names(&self, plan: &NamesPlan) -> Vec<PathBuf> {
        names::planned_paths(plan)
    }

    /// Creates the directories of the targets' tree, if the job has one.
    fn make_directories(&mut self, _plan: &NamesPlan) -> Result<(), FileError> {
        Ok(())
    }

    /// Removes the empty directories of the tree, after the targets were removed.
    fn remove_directories(&mut self, _plan: &NamesPlan) -> Result<(), Errno> {
        Ok(())
    }

    /// Looks up a name without changing anything; the used part is chosen later.
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError>;

    /// Refuses targets that the run must not change or create, such as those in use. Has no side effects.
    fn check(&self, _plan: &WorkerPlan, _entries: &[FileEntry]) -> Result<(), FileError> {
        Ok(())
    }

    /// Like [`check`](Storage::check) for opened targets: examines the opened objects rather than their names.
    fn check_opened(&self, _plan: &WorkerPlan, _entries: &[FileEntry]) -> Result<(), FileError> {
        Ok(())
    }

    /// Refuses targets that cannot be extended. Has no side effects.
    fn check_layout(&self, _entry: &FileEntry) -> Result<(), FileError> {
        Ok(())
    }

    /// Extends a target from its current end to its entry's size; existing content stays. `filling` provides
    /// the content, if the job needs any. Ends with EINTR soon after `stopped` returns true, with the target
    /// restored.
    fn lay_out(
        &mut self,
        plan: &WorkerPlan,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), FileError>;

    /// Messages about targets that were not created as requested; each is returned once.
    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Opens a target. By default nothing is opened and the handle is the target's index.
    fn open(&mut self, _plan: &WorkerPlan, index: usize, _entry: &FileEntry) -> Result<Handle, FileError> {
        Ok(Handle::of_number(index))
    }

    /// Closes a target without I/O in flight. An error stems from an earlier write, which network and
    /// user-space file systems may report only now.
    fn close(&mut self, _index: usize) -> Result<(), Errno> {
        Ok(())
    }

    /// Called once after a target is first opened: drops cached data and gives hints (`invalidate`,
    /// `fadvise_hint`, `write_hint`).
    fn settle(&mut self, _plan: &OpenPlan, _entry: &FileEntry, _handle: Handle) -> Result<(), FileError> {
        Ok(())
    }

    /// Reads the used part of an open target into the cache (`pre_read`). Ends early when `stopped` returns
    /// true. Returns EOPNOTSUPP if targets of this kind are not cached on this machine.
    fn read_into_cache(&mut self, _target: &OpenFile, _stopped: &dyn Fn() -> bool) -> Result<(), Errno> {
        Err(Errno(libc::EOPNOTSUPP))
    }

    /// Makes data written to an open target durable, outside the loop, unless that is up to [the
    /// engine](crate::engine::Engine::sync_now).
    fn sync(&mut self, _handle: Handle, _kind: SyncKind) -> Result<(), Errno> {
        Err(Errno(libc::EOPNOTSUPP))
    }

    /// Drops this machine's cached data in a range of an open target, so that the next read comes from the
    /// medium. Writes must have been synced. Returns the bytes that stay in memory nevertheless; `None` if
    /// unknown.
    fn forget(&mut self, _entry: &FileEntry, _handle: Handle, _wanted: &ReadBack) -> Option<u64> {
        Some(0)
    }

    /// Writes dirty data in a range of an open target back to its medium and waits, without flushing the
    /// device's own cache. A no-op if this machine does not cache writes.
    fn write_back(&mut self, _entry: &FileEntry, _handle: Handle, _range: &Range<u64>) -> Result<(), Errno> {
        Ok(())
    }

    /// Makes reads of an open target bypass the page cache, or use it again; returns false if that is
    /// impossible. Offsets and lengths are multiples of `alignment`.
    fn read_past_cache(&mut self, _entry: &FileEntry, _handle: Handle, _on: bool, _alignment: u64) -> bool {
        false
    }

    /// Bytes that this machine has not yet written to the medium of an open target; `None` if unknown. An error
    /// stems from an earlier write and has not been reported before.
    fn unwritten(&mut self, _entry: &FileEntry, _handle: Handle) -> Result<Option<u64>, Errno> {
        Ok(None)
    }

    /// Removes a target. A missing target is not an error, because all clones that share it try.
    fn remove(&mut self, entry: &FileEntry) -> Result<(), Errno>;

    /// The zones of a device that the kernel does not report ([`FileKind::Medium`]); `None` for a device
    /// without zones. `writes` is true if they will be changed.
    fn own_zones(&self, entry: &FileEntry, _writes: bool) -> Result<Option<OwnZones>, FileError> {
        Err(FileError::without_line(format!(
            "{}: zonemode=zbd needs a regular file or a block device",
            entry.name()
        )))
    }

    /// The number (`dev_t`) of this machine's block device that holds the data of a target.
    fn device_below(&self, _entry: &FileEntry) -> Option<u64> {
        None
    }
}

/// The default storage for engines.
pub fn of_kind(kind: StorageKind) -> Box<dyn Storage> {
    match kind {
        StorageKind::Files => Box::new(files::Files::default()),
        StorageKind::Server | StorageKind::Volume | StorageKind::None => {
            Box::new(nowhere::Nowhere::opening(|_| Ok(())))
        }
    }
}
