//! Directories, and names in them: made, looked at and removed without a step through the path from the top.

use crate::errno::{Errno, check};
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A directory that names can be looked up in; nothing is read from it. Links on the way to it are followed.
pub fn open(path: &Path) -> Result<OwnedFd, Errno> {
    crate::file::open(path, libc::O_PATH | libc::O_DIRECTORY, 0)
}

/// Makes a directory with this mode, of which the mask of the process is taken off; `EEXIST` if the name is taken.
pub fn make(path: &Path, mode: u32) -> Result<(), Errno> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))?;
    // SAFETY: the path is a valid C string for the whole call.
    check(i64::from(unsafe { libc::mkdir(path.as_ptr(), mode) })).map(|_| ())
}
