//! A target of a clone: its kind and size, and why it cannot be used.

use crate::cause::{self, Cause};
use crate::exhausted;
use crate::plan::WorkerPlan;
use crate::zones::geometry::Geometry;
use fathom_errors::access;
use fathom_sys::Errno;
use std::path::{Path, PathBuf};

/// Kind of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, or a path that does not exist yet.
    Regular,
    /// A block device.
    Block,
    /// A character device, pipe or socket, which has no size.
    Character,
    /// A character device with a medium, which has a size: SCSI generic, flash memory.
    Medium,
    /// A target of fixed size on a server, such as an export, an image or a logical unit.
    Volume,
    /// A target on a server that grows when data is written beyond its end.
    Object,
    /// One object per block of the job; none has to exist before a write.
    Objects,
    /// A directory that is itself the target; it may have yet to be created.
    Directory,
    /// A name that the I/O itself creates; nothing has to exist beforehand.
    Name,
    /// No file at all, for diskless engines.
    None,
}

impl FileKind {
    /// True if writes never change the target's size.
    pub fn has_fixed_size(self) -> bool {
        matches!(self, FileKind::Block | FileKind::Medium | FileKind::Volume)
    }

    /// True if the target can be created, grows when data is written beyond its end, and can be removed.
    pub fn can_grow(self) -> bool {
        matches!(self, FileKind::Regular | FileKind::Object)
    }

    /// True if the target can be removed and recreated.
    pub fn can_be_made(self) -> bool {
        self.can_grow() || matches!(self, FileKind::Directory | FileKind::Name)
    }

    /// True if the kernel of this machine knows the target by its path.
    pub fn has_path(self) -> bool {
        matches!(
            self,
            FileKind::Regular
                | FileKind::Block
                | FileKind::Character
                | FileKind::Medium
                | FileKind::Directory
                | FileKind::Name
        )
    }
}

/// One file of a clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// The path, for messages.
    pub path: PathBuf,
    /// Its kind.
    pub kind: FileKind,
    /// Current size; `None` if the target does not exist yet.
    pub present_size: Option<u64>,
    /// Offset of the part that the clone uses.
    pub start: u64,
    /// Length of this part in bytes.
    pub size: u64,
    /// Bytes of `size` that extend beyond the end of the file.
    pub beyond_end: u64,
    /// End of the data set of which this part is a share. Every clone with a share lays the file out with this
    /// length.
    pub data_set_end: Option<u64>,
    /// The file's zones, with `zonemode=zbd`.
    pub zones: Option<Geometry>,
}

impl FileEntry {
    /// Describes a target found under a path; the part to use is chosen later.
    pub fn new(path: PathBuf, kind: FileKind, present_size: Option<u64>) -> FileEntry {
        FileEntry {
            path,
            kind,
            present_size,
            start: 0,
            size: 0,
            beyond_end: 0,
            data_set_end: None,
            zones: None,
        }
    }

    /// The path as text.
    pub fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Size that a regular file must have before the run.
    pub fn wanted_size(&self) -> u64 {
        self.data_set_end.unwrap_or(self.start.saturating_add(self.size))
    }

    /// Size of the file during the run.
    pub fn whole_size(&self) -> u64 {
        self.wanted_size().max(self.present_size.unwrap_or(0))
    }

    /// True if a replayed log accesses bytes beyond the part of the file that can be mapped.
    pub(super) fn is_too_short_to_map(&self, plan: &WorkerPlan, end: u64) -> bool {
        plan.files.are_mapped && self.kind == FileKind::Regular && self.present_size.unwrap_or(0) < end
    }

    /// Bytes missing from the required size.
    pub fn missing(&self) -> u64 {
        self.wanted_size().saturating_sub(self.present_size.unwrap_or(0))
    }

    /// True if the run needs bytes that are missing.
    pub fn is_short(&self) -> bool {
        match self.kind {
            FileKind::Directory => self.present_size.is_none(),
            _ => self.kind.can_grow() && self.missing() > 0,
        }
    }
}

/// Why a clone's files cannot be used: the text of the job's error line, and further messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The error.
    pub errno: i32,
    /// Text that follows `err=N/` in fio's form of an error line; `None` if fio prints only the message.
    pub text: Option<String>,
    /// A message for standard error.
    pub message: Option<String>,
}

impl FileError {
    /// An error of a system call on a file.
    pub fn of_call(errno: Errno, call: &str, path: &Path) -> FileError {
        let text = cause::line_of_file(call, path.display(), errno);
        let advice = exhausted::open_files(errno)
            .or_else(|| exhausted::space(errno, path))
            .or_else(|| matches!(errno.0, libc::EACCES | libc::EPERM).then(|| access(path))?);
        let message = advice.map(|advice| format!("fathom: {}: {errno}: {advice}", path.display()));
        FileError { errno: errno.0, text: Some(text), message }
    }

    /// An error of an engine's call.
    pub fn of_engine(engine: &str, call: &str, errno: Errno) -> FileError {
        FileError { errno: errno.0, text: Some(cause::line_of_engine(engine, call, errno)), message: None }
    }

    /// A mistake in the job's options.
    pub(crate) fn of_job(cause: Cause, message: String) -> FileError {
        let errno = Errno(libc::EINVAL);
        FileError { errno: errno.0, text: Some(cause.line(errno)), message: Some(message) }
    }

    /// A mistake in the job's options for which fio prints only the message.
    pub fn without_line(message: String) -> FileError {
        FileError { errno: libc::EINVAL, text: None, message: Some(message) }
    }

    /// Adds a message.
    pub fn with_message(mut self, message: String) -> FileError {
        self.message = Some(message);
        self
    }
}
