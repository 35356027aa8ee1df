//! Where the data of a clone lives: what a name stands for there, and how it is made, opened and removed.
//!
//! A storage does what comes before the first I/O and after the last one. The I/Os themselves, trims and syncs among them,
//! are the engine's, which says what storage it works on ([`EngineType::storage`](crate::engine::EngineType::storage)).

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

/// The storage of a job. Each clone has its own, and so has the layout that comes before all of them.
pub type StorageOf = fn(&JobSpec) -> Box<dyn Storage>;

/// How an engine reaches an open target: for files and devices by a descriptor, otherwise by a number between a storage and its engines. One is
/// never taken for the other: a number is kept as a negative one, which the kernel knows no descriptor by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(i32);

impl Handle {
    /// Of a target that is closed, or that there is no way to open.
    pub const NONE: Handle = Handle(-1);

    /// The handle of a target that is no file of this machine.
    pub fn of_number(number: usize) -> Handle {
        let number = i32::try_from(number).ok().and_then(|number| (-2i32).checked_sub(number));
        Handle(number.unwrap_or_else(|| broken(Invariant::OwnHandle, format_args!("number {number:?}"))))
    }

    /// The handle of an open file.
    ///
    /// # Safety
    ///
    /// The descriptor is the storage's, and stays open for as long as the handle is used.
    pub unsafe fn of_descriptor(descriptor: RawFd) -> Handle {
        Handle(descriptor)
    }

    /// The number; `None` for a descriptor and for [`NONE`](Handle::NONE).
    #[inline(always)]
    pub fn number(self) -> Option<usize> {
        usize::try_from((-2i32).checked_sub(self.0)?).ok()
    }

    /// The descriptor; negative where there is none.
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
    /// Name as in messages.
    pub name: String,
    /// How the storage calls it while it is open.
    pub handle: Handle,
    /// True for block devices.
    pub is_block_device: bool,
    /// First byte of the part that the job uses.
    pub start: u64,
    /// Bytes of that part.
    pub size: u64,
}

impl OpenFile {
    /// A target that is not open yet.
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

/// What is to be read back from the medium of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBack {
    /// The bytes.
    pub range: Range<u64>,
    /// Reads are answered from the page cache where it has the data: they are buffered, or copies from a mapping.
    pub is_cached: bool,
    /// What is cached is dropped; otherwise it is only counted.
    pub drops: bool,
}

/// What holds the targets of a clone. Targets have the indices of the clone's entries. An engine that shares more with its
/// storage than handles, such as a connection, finds its own type behind [`Setup::storage`](crate::engine::Setup::storage).
pub trait Storage: Any {
    /// The names that a clone works on, in order.
    fn names(&self, plan: &NamesPlan) -> Vec<PathBuf> {
        names::planned_paths(plan)
    }

    /// Makes the directories of a tree that the targets are spread over, if there is one.
    fn make_directories(&mut self, _plan: &NamesPlan) -> Result<(), FileError> {
        Ok(())
    }

    /// Removes those that are empty, after the targets.
    fn remove_directories(&mut self, _plan: &NamesPlan) -> Result<(), Errno> {
        Ok(())
    }

    /// What a name stands for now; the part of it to work on is not chosen yet. Changes nothing.
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError>;

    /// Refuses targets that the run must not change or make, such as those in use. Changes nothing.
    fn check(&self, _plan: &WorkerPlan, _entries: &[FileEntry]) -> Result<(), FileError> {
        Ok(())
    }

    /// The same for targets that are open by now, by what was opened rather than by their names.
    fn check_opened(&self, _plan: &WorkerPlan, _entries: &[FileEntry]) -> Result<(), FileError> {
        Ok(())
    }

    /// Refuses to make a target longer that exists. Changes nothing.
    fn check_layout(&self, _entry: &FileEntry) -> Result<(), FileError> {
        Ok(())
    }

    /// Makes a target as long as its entry wants, from where it ends now; what it holds already stays. `filling` has the content,
    /// if it matters which. Soon after `stopped` says so, it ends with EINTR, and the target is as it was.
    fn lay_out(
        &mut self,
        plan: &WorkerPlan,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), FileError>;

    /// Lines on targets that were made otherwise than the job asks, each once.
    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Opens a target. Where there is nothing to open, its handle is its index.
    fn open(&mut self, _plan: &WorkerPlan, index: usize, _entry: &FileEntry) -> Result<Handle, FileError> {
        Ok(Handle::of_number(index))
    }

    /// Closes a target; nothing of it is in flight. An error is one of an earlier write, which file systems of servers and in user space may
    /// tell only now.
    fn close(&mut self, _index: usize) -> Result<(), Errno> {
        Ok(())
    }

    /// Once after the first opening of a target: what was cached of it is dropped, hints are given (`invalidate`, `fadvise_hint`,
    /// `write_hint`).
    fn settle(&mut self, _plan: &OpenPlan, _entry: &FileEntry, _handle: Handle) -> Result<(), FileError> {
        Ok(())
    }

    /// Reads the part of an open target that the job uses, so that it is cached (`pre_read`). Ends early when `stopped` says so.
    /// EOPNOTSUPP where this machine caches nothing.
    fn read_into_cache(&mut self, _target: &OpenFile, _stopped: &dyn Fn() -> bool) -> Result<(), Errno> {
        Err(Errno(libc::EOPNOTSUPP))
    }

    /// Makes what was written to an open target durable, outside the loop, unless that is
    /// [the engine's](crate::engine::Engine::sync_now).
    fn sync(&mut self, _handle: Handle, _kind: SyncKind) -> Result<(), Errno> {
        Err(Errno(libc::EOPNOTSUPP))
    }

    /// Drops what this machine has cached of a range of an open target, so that it is read from its medium. What was written must have
    /// been synced. Bytes that stay in memory all the same; `None` where that cannot be told.
    fn forget(&mut self, _entry: &FileEntry, _handle: Handle, _wanted: &ReadBack) -> Option<u64> {
        Some(0)
    }

    /// Hands what was written to a range of an open target to its medium and waits, without a flush of the device's own cache. Nothing
    /// to do where this machine caches no writes.
    fn write_back(&mut self, _entry: &FileEntry, _handle: Handle, _range: &Range<u64>) -> Result<(), Errno> {
        Ok(())
    }

    /// From now on, reads of an open target go past the page cache, or no longer do; false where that cannot be. Offsets and lengths
    /// are multiples of `alignment`.
    fn read_past_cache(&mut self, _entry: &FileEntry, _handle: Handle, _on: bool, _alignment: u64) -> bool {
        false
    }

    /// What this machine has not yet written to the medium of an open target, in bytes; `None` where that cannot be told. An error is that of
    /// an earlier write, which nothing else has reported.
    fn unwritten(&mut self, _entry: &FileEntry, _handle: Handle) -> Result<Option<u64>, Errno> {
        Ok(None)
    }

    /// Removes a target. It is no error if there is none any more: clones that share it all try.
    fn remove(&mut self, entry: &FileEntry) -> Result<(), Errno>;

    /// The zones of a device that the kernel does not report ([`FileKind::Medium`]); `None` for one
    /// that has none. For changes if `writes`.
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

/// The storage of engines that bring none of their own.
pub fn of_kind(kind: StorageKind) -> Box<dyn Storage> {
    match kind {
        StorageKind::Files => Box::new(files::Files::default()),
        StorageKind::Server | StorageKind::Volume | StorageKind::None => {
            Box::new(nowhere::Nowhere::opening(|_| Ok(())))
        }
    }
}
