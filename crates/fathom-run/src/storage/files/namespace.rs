//! Files and directories as directory entries: the targets of engines that create, stat and remove them. Only
//! the directories that hold the names are opened, so that an operation looks up one name and follows no link
//! on the way.

use super::super::{Handle, Storage};
use super::{Files, layout};
use crate::files::filling::Filling;
use crate::files::{FileEntry, FileError, FileKind};
use crate::plan::WorkerPlan;
use crate::plan::model::files::NamesPlan;
use fathom_spec::engines::metadata::{Metadata, NameOperation};
use fathom_sys::{Errno, directory};
use std::collections::HashMap;
use std::ffi::CString;
use std::fs::Metadata as Found;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Location of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetName {
    /// Descriptor of the directory; open as long as the storage or an owner of its
    /// [`directories`](Namespace::directories) exists.
    pub directory: RawFd,
    /// The name within the directory.
    pub name: CString,
}

/// The targets of a clone, as directory entries.
pub struct Namespace {
    metadata: Metadata,
    /// True if symbolic links are examined themselves instead of their targets.
    sees_links: bool,
    files: Files,
    places: Vec<TargetName>,
    by_path: HashMap<PathBuf, RawFd>,
    directories: Vec<Arc<OwnedFd>>,
}

impl Namespace {
    /// Creates the storage for an engine with this operation. `sees_links` is true if the engine examines
    /// symbolic links themselves.
    pub fn new(metadata: Metadata, sees_links: bool) -> Namespace {
        Namespace {
            metadata,
            sees_links,
            files: Files::default(),
            places: Vec::new(),
            by_path: HashMap::new(),
            directories: Vec::new(),
        }
    }

    /// The targets by index, as far as they have been opened.
    pub fn places(&self) -> &[TargetName] {
        &self.places
    }

    /// Shared ownership of the targets' directories, which keeps them open.
    pub fn directories(&self) -> Vec<Arc<OwnedFd>> {
        self.directories.clone()
    }

    /// The parent directory of a target; opened once for all targets in it.
    fn directory_of(&mut self, path: &Path) -> Result<RawFd, Errno> {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => return Ok(libc::AT_FDCWD),
        };
        if let Some(known) = self.by_path.get(parent) {
            return Ok(*known);
        }
        let opened = Arc::new(directory::open(parent)?);
        let descriptor = opened.as_raw_fd();
        self.by_path.insert(parent.to_owned(), descriptor);
        self.directories.push(opened);
        Ok(descriptor)
    }

    /// Why an existing object cannot be the engine's target; `None` if it can.
    fn objection(&self, found: &Found) -> Option<(i32, &'static str)> {
        let kind = found.file_type();
        let on_directories = self.metadata.on_directories;
        match self.metadata.operation {
            // Both a link and its target are acceptable; the job decides which one is examined.
            NameOperation::Stat if on_directories && !kind.is_dir() => {
                Some((libc::ENOTDIR, "exists and is not a directory"))
            }
            NameOperation::Stat => None,
            // The create operation itself will report that the directory exists.
            NameOperation::Create if on_directories => None,
            NameOperation::Create if kind.is_symlink() => {
                Some((libc::ELOOP, "is a symbolic link: the file would be created at its target"))
            }
            NameOperation::Create | NameOperation::Delete if !on_directories && kind.is_dir() => {
                Some((libc::EISDIR, "is a directory"))
            }
            NameOperation::Create if !kind.is_file() => {
                Some((libc::EEXIST, "exists and is not a regular file"))
            }
            NameOperation::Create => None,
            NameOperation::Delete if on_directories && kind.is_symlink() => {
                Some((libc::ENOTDIR, "is a symbolic link, and neither it nor its target is removed"))
            }
            NameOperation::Delete if on_directories && !kind.is_dir() => {
                Some((libc::ENOTDIR, "exists and is not a directory"))
            }
            NameOperation::Delete if on_directories => None,
            NameOperation::Delete if !kind.is_file() && !kind.is_symlink() => {
                Some((libc::EPERM, "is not a regular file, and nothing else is removed"))
            }
            NameOperation::Delete => None,
        }
    }

    fn follows_links(&self) -> bool {
        self.metadata.operation == NameOperation::Stat && !self.sees_links
    }
}

impl Storage for Namespace {
    fn names(&self, plan: &NamesPlan) -> Vec<PathBuf> {
        self.files.names(plan)
    }

    fn make_directories(&mut self, plan: &NamesPlan) -> Result<(), FileError> {
        self.files.make_directories(plan)
    }

    fn remove_directories(&mut self, plan: &NamesPlan) -> Result<(), Errno> {
        self.files.remove_directories(plan)
    }

    fn look_at(&self, plan: &WorkerPlan, path: PathBuf) -> Result<FileEntry, FileError> {
        let found = match self.follows_links() {
            true => std::fs::metadata(&path),
            false => std::fs::symlink_metadata(&path),
        };
        let found = match found {
            Ok(found) => Some(found),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(FileError::of_call(error.into(), "stat", &path)),
        };
        if let Some((errno, objection)) = found.as_ref().and_then(|found| self.objection(found)) {
            let message = format!(
                "fathom: job {}: {} {objection}; name another with filename= or directory=",
                plan.name,
                path.display()
            );
            let call = self.metadata.call();
            return Err(FileError::of_call(Errno(errno), call, &path).with_message(message));
        }
        let there = found.as_ref().map(|_| 0);
        match (self.metadata.makes_targets(), self.metadata.on_directories) {
            (true, _) => Ok(FileEntry::new(path, FileKind::Name, there)),
            (_, true) => Ok(FileEntry::new(path, FileKind::Directory, there)),
            // Objects other than files are examined or removed as they are, regardless of the job's file size.
            (_, false) if found.as_ref().is_some_and(|found| !found.is_file()) => {
                Ok(FileEntry::new(path, FileKind::Name, there))
            }
            (_, false) => self.files.look_at(plan, path),
        }
    }

    fn check(&self, plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
        self.files.check(plan, entries)?;
        let removes_directories =
            self.metadata.operation == NameOperation::Delete && self.metadata.on_directories;
        let there = entries.iter().filter(|entry| removes_directories && entry.present_size.is_some());
        for entry in there {
            let is_empty = std::fs::read_dir(&entry.path).map_or(true, |mut found| found.next().is_none());
            if !is_empty {
                let message = format!(
                    "fathom: job {}: {} is not empty, and its content is not the job's to remove",
                    plan.name,
                    entry.path.display()
                );
                let refused = FileError::of_call(Errno(libc::ENOTEMPTY), "delete", &entry.path);
                return Err(refused.with_message(message));
            }
        }
        Ok(())
    }

    fn check_layout(&self, entry: &FileEntry) -> Result<(), FileError> {
        self.files.check_layout(entry)
    }

    fn lay_out(
        &mut self,
        plan: &WorkerPlan,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        if entry.kind != FileKind::Directory {
            return self.files.lay_out(plan, entry, filling, stopped);
        }
        if stopped() {
            return Err(FileError::of_call(Errno(libc::EINTR), "mkdir", &entry.path));
        }
        let made = layout::create_parents(&entry.path).and_then(|()| directory::make(&entry.path, 0o700));
        match made {
            // Another clone, which uses the same directories, has created it first.
            Err(Errno(libc::EEXIST)) if entry.path.is_dir() => Ok(()),
            made => made.map_err(|errno| FileError::of_call(errno, "mkdir", &entry.path)),
        }
    }

    fn take_remarks(&mut self) -> Vec<String> {
        self.files.take_remarks()
    }

    fn open(&mut self, _: &WorkerPlan, index: usize, entry: &FileEntry) -> Result<Handle, FileError> {
        // A target that was opened once stays open for all its operations.
        if index >= self.places.len() {
            let failed = |call: &'static str| move |errno| FileError::of_call(errno, call, &entry.path);
            if self.metadata.makes_targets() {
                layout::create_parents(&entry.path).map_err(failed("mkdir"))?;
            }
            let directory = self.directory_of(&entry.path).map_err(failed("open"))?;
            let name = entry.path.file_name().map(|name| CString::new(name.as_bytes()));
            let Some(Ok(name)) = name else { return Err(failed("open")(Errno(libc::EINVAL))) };
            self.places.push(TargetName { directory, name });
        }
        Ok(Handle::of_number(index))
    }

    fn remove(&mut self, entry: &FileEntry) -> Result<(), Errno> {
        if !self.metadata.on_directories {
            return self.files.remove(entry);
        }
        let is_directory = std::fs::symlink_metadata(&entry.path).is_ok_and(|found| found.is_dir());
        match std::fs::remove_dir(&entry.path) {
            Err(error) if is_directory && error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn device_below(&self, entry: &FileEntry) -> Option<u64> {
        match entry.kind {
            FileKind::Regular => self.files.device_below(entry),
            _ => None,
        }
    }
}
