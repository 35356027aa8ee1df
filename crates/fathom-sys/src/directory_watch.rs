//! New names in a directory (inotify). Asking for them reads a queue in memory and never touches the file system.

use crate::errno::{Errno, check};
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes of `struct inotify_event` before its name: i32 watch, u32 mask, u32 cookie, u32 length of the name.
const HEADER: usize = 16;

/// A directory under watch.
pub struct DirectoryWatch {
    fd: OwnedFd,
}

impl DirectoryWatch {
    /// Watches for names that are created in a directory or moved there.
    pub fn new(directory: &Path) -> Result<DirectoryWatch, Errno> {
        let path = CString::new(directory.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))?;
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        check(i64::from(fd))?;
        // SAFETY: a fresh descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let wanted = libc::IN_CREATE | libc::IN_MOVED_TO | libc::IN_ONLYDIR;
        // SAFETY: the path is a valid C string for the whole call.
        check(i64::from(unsafe { libc::inotify_add_watch(fd.as_raw_fd(), path.as_ptr(), wanted) }))?;
        Ok(DirectoryWatch { fd })
    }

    /// True when this name has appeared since the last call, or so many names have that some were not noted.
    pub fn has_seen(&self, name: &str) -> bool {
        let mut seen = false;
        let mut buffer = [0u8; 4096];
        loop {
            // SAFETY: the buffer is as long as stated.
            let read = unsafe { libc::read(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
            let Ok(read) = usize::try_from(read) else { return seen };
            if read == 0 {
                return seen;
            }
            seen |= names_in(&buffer[..read], name);
        }
    }
}

fn names_in(mut events: &[u8], wanted: &str) -> bool {
    let word = |bytes: &[u8], at: usize| {
        let bytes: Option<[u8; 4]> = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    };
    let mut seen = false;
    while events.len() >= HEADER {
        let (mask, length) = (word(events, 4), word(events, 12) as usize);
        let end = (HEADER + length).min(events.len());
        let name = events[HEADER..end].split(|&byte| byte == 0).next().unwrap_or_default();
        seen |= mask & libc::IN_Q_OVERFLOW != 0 || name == wanted.as_bytes();
        events = &events[end..];
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_are_seen_once() {
        let directory = std::env::temp_dir().join(format!("fathom-watch-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("a directory");
        let watch = DirectoryWatch::new(&directory).expect("a watch");
        assert!(!watch.has_seen("wanted"));
        std::fs::write(directory.join("other"), "").expect("written");
        assert!(!watch.has_seen("wanted"));
        std::fs::write(directory.join("wanted"), "").expect("written");
        assert!(watch.has_seen("wanted"));
        assert!(!watch.has_seen("wanted"));
        std::fs::rename(directory.join("other"), directory.join("wanted")).expect("renamed");
        assert!(watch.has_seen("wanted"));
        std::fs::remove_dir_all(&directory).expect("removed");
        assert!(DirectoryWatch::new(&directory).is_err());
    }
}
