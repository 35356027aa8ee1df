//! Metadata operations as system calls.

use fathom_run::storage::files::TargetName;
use fathom_spec::engines::filestat::StatType;
use fathom_spec::engines::metadata::{Metadata, NameOperation};
use fathom_sys::{Errno, file_system};
use std::mem::MaybeUninit;
use std::path::Path;

/// Mode of new files, as in fio.
pub(super) const FILE_MODE: libc::mode_t = 0o600;
/// Mode of new directories: as in fio, they have no permissions.
pub(super) const DIRECTORY_MODE: libc::mode_t = 0;
/// Flags for creating files: an existing symbolic link is an error and is not followed.
pub(super) const CREATE_FLAGS: libc::c_int = libc::O_CREAT | libc::O_RDWR | libc::O_NOFOLLOW;

/// A metadata operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// `open` and `close`.
    CreateFile,
    /// `mkdir`.
    CreateDirectory,
    /// `stat`, or `lstat`.
    Stat {
        /// `AT_*` flags.
        flags: libc::c_int,
    },
    /// `statx`.
    Statx,
    /// `unlink`.
    DeleteFile,
    /// `rmdir`.
    DeleteDirectory,
}

/// Buffers into which system calls write their results.
pub(super) struct Results {
    attributes: MaybeUninit<libc::stat>,
    more: MaybeUninit<libc::statx>,
}

impl Default for Results {
    fn default() -> Self {
        Results { attributes: MaybeUninit::zeroed(), more: MaybeUninit::zeroed() }
    }
}

impl Operation {
    pub(super) fn new(metadata: Metadata, stat: StatType) -> Operation {
        match (metadata.operation, metadata.on_directories) {
            (NameOperation::Create, false) => Operation::CreateFile,
            (NameOperation::Create, true) => Operation::CreateDirectory,
            (NameOperation::Delete, false) => Operation::DeleteFile,
            (NameOperation::Delete, true) => Operation::DeleteDirectory,
            (NameOperation::Stat, _) => match stat {
                StatType::Stat => Operation::Stat { flags: 0 },
                StatType::Lstat => Operation::Stat { flags: libc::AT_SYMLINK_NOFOLLOW },
                StatType::Statx => Operation::Statx,
            },
        }
    }

    /// Performs the operation. The result is negative if it failed, with the error in `errno`.
    #[inline(always)]
    pub(super) fn perform(self, place: &TargetName, results: &mut Results) -> libc::c_int {
        let (directory, name) = (place.directory, place.name.as_ptr());
        // SAFETY: the name is a C string, and the results have the size that the calls expect; all live through the call.
        unsafe {
            match self {
                Operation::CreateFile => {
                    let made = libc::openat(directory, name, CREATE_FLAGS | libc::O_CLOEXEC, FILE_MODE);
                    if made < 0 { made } else { libc::close(made) }
                }
                Operation::CreateDirectory => libc::mkdirat(directory, name, DIRECTORY_MODE),
                Operation::Stat { flags } => {
                    libc::fstatat(directory, name, results.attributes.as_mut_ptr(), flags)
                }
                Operation::Statx => libc::statx(
                    directory,
                    name,
                    libc::AT_STATX_SYNC_AS_STAT,
                    libc::STATX_ALL,
                    results.more.as_mut_ptr(),
                ),
                Operation::DeleteFile => libc::unlinkat(directory, name, 0),
                Operation::DeleteDirectory => libc::unlinkat(directory, name, libc::AT_REMOVEDIR),
            }
        }
    }

    /// Advice for the user after the operation has failed on this target.
    pub(super) fn advice(self, name: &str) -> Option<String> {
        let path = Path::new(name);
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let makes = matches!(self, Operation::CreateFile | Operation::CreateDirectory);
        if makes && file_system::free_inodes(directory) == Ok(0) {
            return Some(
                "the file system has no inode left (df -i): create fewer files, or make one with more inodes"
                    .to_owned(),
            );
        }
        let there = std::fs::symlink_metadata(path).map_err(Errno::from);
        match (self, there) {
            (Operation::CreateDirectory, Ok(found)) => {
                let what = if found.is_dir() { "a directory" } else { "something else" };
                Some(format!(
                    "{what} of that name exists already; remove it, or use unlink_each_loop=1 if loops create it again"
                ))
            }
            (Operation::CreateFile, Ok(found)) if found.is_symlink() => {
                Some("a symbolic link has that name, and no file is created at its target".to_owned())
            }
            (Operation::DeleteFile | Operation::DeleteDirectory, Err(Errno(libc::ENOENT))) => Some(
                "nothing has that name any more: each target can be removed once; unlink_each_loop=1 creates \
                them again for each loop"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}
