//! Opens and creates directories.

use crate::errno::{Errno, check};
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens a directory for lookups only. Symbolic links are followed.
pub fn open(path: &Path) -> Result<OwnedFd, Errno> {
    crate::file::open(path, libc::O_PATH | libc::O_DIRECTORY, 0)
}

/// Creates a directory with this mode, minus the umask of the process; `EEXIST` if the name exists.
pub fn make(path: &Path, mode: u32) -> Result<(), Errno> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))?;
    // SAFETY: the path is a valid C string for the whole call.
    check(i64::from(unsafe { libc::mkdir(path.as_ptr(), mode) })).map(|_| ())
}
