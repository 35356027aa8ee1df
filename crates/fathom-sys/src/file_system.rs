//! Facts about mounted file systems, and files without a name.

use crate::Errno;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Bytes that an unprivileged user may still write to the file system that holds `path`.
pub fn free_bytes(path: &Path) -> Result<u64, Errno> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))?;
    let mut answer = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero byte, and the answer is as large as the call expects.
    if unsafe { libc::statvfs(path.as_ptr(), answer.as_mut_ptr()) } != 0 {
        return Err(Errno::last());
    }
    // SAFETY: the call has filled the answer; all its fields are numbers, for which zeros are valid, too.
    let answer = unsafe { answer.assume_init() };
    Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
}

/// A new empty file in `directory` that has no name: it is gone when the last process that has it open ends, however that
/// ends. File systems that cannot make one get a file whose name is removed at once.
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(libc::O_TMPFILE).open(directory) {
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT)) =>
        {
            let path = directory.join(format!(".fathom-{}", std::process::id()));
            let file = options.create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
        opened => opened,
    }
}

/// True when the open file can be opened again without the page cache.
pub fn allows_direct(file: &File) -> bool {
    let path = path_of(file);
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path).is_ok()
}

/// A path to an open file, valid in this process and in its children.
pub fn path_of(file: &File) -> std::path::PathBuf {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn an_unnamed_file_works_and_has_no_name() {
        let directory = std::env::temp_dir();
        let mut file = unnamed_file(&directory).expect("a file");
        file.write_all(b"data").expect("writes");
        let mut again = File::open(path_of(&file)).expect("opens again");
        let mut text = String::new();
        again.read_to_string(&mut text).expect("reads");
        assert_eq!((text.as_str(), file.stream_position().ok()), ("data", Some(4)));
        let target = std::fs::read_link(path_of(&file)).expect("a link");
        assert!(target.to_string_lossy().ends_with("(deleted)"), "{target:?}");
    }

    #[test]
    fn there_is_room_somewhere() {
        assert!(free_bytes(Path::new("/")).is_ok());
        assert!(free_bytes(Path::new("/nonexistent")).is_err());
    }
}
