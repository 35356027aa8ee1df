//! The directories of a tree: created before the files in them and removed after them. Only the user can write
//! to the root; otherwise another user could add a link that leads out of the tree.

use super::layout;
use crate::files::{FileError, names};
use crate::plan::model::files::NamesPlan;
use fathom_sys::{Errno, credentials, directory};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Write permission for group and others.
const OPEN_TO_OTHERS: u32 = 0o022;

/// Creates the missing directories of a tree. Existing ones must be directories, and only the user may write to
/// the root.
pub(super) fn make(plan: &NamesPlan) -> Result<(), FileError> {
    for (number, path) in names::tree_directories(plan).iter().enumerate() {
        let failed = |errno| FileError::of_call(errno, "mkdir", path);
        if number == 0 {
            layout::create_parents(path).map_err(failed)?;
        }
        match directory::make(path, 0o700) {
            Ok(()) => {}
            Err(Errno(libc::EEXIST)) => check(path, number == 0)?,
            Err(errno) => return Err(failed(errno)),
        }
    }
    Ok(())
}

/// Checks an existing object at the path of one of the tree's directories.
fn check(path: &Path, is_first: bool) -> Result<(), FileError> {
    let found =
        std::fs::symlink_metadata(path).map_err(|error| FileError::of_call(error.into(), "stat", path))?;
    let objection = match () {
        () if !found.is_dir() => (libc::ENOTDIR, "exists and is not a directory"),
        () if is_first && found.uid() != credentials::effective_user() => {
            (libc::EPERM, "is a directory of another user")
        }
        () if is_first && found.mode() & OPEN_TO_OTHERS != 0 => {
            (libc::EPERM, "is a directory that other users may write to")
        }
        () => return Ok(()),
    };
    let (errno, what) = objection;
    let message =
        format!("fathom: {} {what}: no tree is created in it; use another directory=", path.display());
    Err(FileError::of_call(Errno(errno), "mkdir", path).with_message(message))
}

/// Removes the empty directories of a tree. Directories that are missing or not empty are skipped.
pub(super) fn remove(plan: &NamesPlan) -> Result<(), Errno> {
    for path in names::tree_directories(plan).iter().rev() {
        match std::fs::remove_dir(path) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
                return Err(error.into());
            }
            _ => {}
        }
    }
    Ok(())
}
