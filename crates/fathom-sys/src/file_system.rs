//! Facts about mounted file systems, and files that leave nothing behind.

use crate::Errno;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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

/// A new file that goes when it is dropped.
#[derive(Debug)]
pub struct PassingFile {
    /// Open for reading and writing.
    pub file: File,
    /// Its name, where it cannot do without one.
    name: Option<PathBuf>,
}

impl PassingFile {
    /// An empty file in `directory`. It has no name and is gone when the last process that has it open ends, however that ends.
    /// File systems that cannot make one get a file whose name is removed at once, and those that cannot open that
    /// again (GlusterFS) one whose name is removed on drop.
    pub fn new(directory: &Path) -> io::Result<PassingFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        match options.clone().custom_flags(libc::O_TMPFILE).open(directory) {
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT | libc::EINVAL | libc::ENOSYS)
                ) => {}
            opened => return opened.map(|file| PassingFile { file, name: None }),
        }
        let name = directory.join(format!(".fathom-{}", std::process::id()));
        let unnamed = options.create_new(true).open(&name)?;
        std::fs::remove_file(&name)?;
        if File::open(path_of(&unnamed)).is_ok() {
            return Ok(PassingFile { file: unnamed, name: None });
        }
        let file = options.open(&name)?;
        Ok(PassingFile { file, name: Some(name) })
    }

    /// A path to it, valid in this process and in its children.
    pub fn path(&self) -> PathBuf {
        self.name.clone().unwrap_or_else(|| path_of(&self.file))
    }

    /// True when it can be opened again without the page cache.
    pub fn allows_direct(&self) -> bool {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(self.path()).is_ok()
    }
}

impl Drop for PassingFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Whoever removed it already wanted the same.
            let _ = std::fs::remove_file(name);
        }
    }
}

fn path_of(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn an_unnamed_file_works_and_has_no_name() {
        let directory = std::env::temp_dir();
        let mut made = PassingFile::new(&directory).expect("a file");
        made.file.write_all(b"data").expect("writes");
        let mut again = File::open(made.path()).expect("opens again");
        let mut text = String::new();
        again.read_to_string(&mut text).expect("reads");
        assert_eq!((text.as_str(), made.file.stream_position().ok()), ("data", Some(4)));
        let target = std::fs::read_link(made.path()).expect("a link");
        assert!(target.to_string_lossy().ends_with("(deleted)"), "{target:?}");
    }

    #[test]
    fn a_name_that_is_needed_goes_with_the_file() {
        let name = std::env::temp_dir().join(format!("fathom-passing-{}", std::process::id()));
        let file = File::create(&name).expect("a file");
        let made = PassingFile { file, name: Some(name.clone()) };
        assert_eq!((made.path(), name.exists()), (name.clone(), true));
        drop(made);
        assert!(!name.exists());
    }

    #[test]
    fn there_is_room_somewhere() {
        assert!(free_bytes(Path::new("/")).is_ok());
        assert!(free_bytes(Path::new("/nonexistent")).is_err());
    }
}
