//! Watches for new names in a directory (inotify). Polling reads a queue in memory and never touches the file system.

use crate::errno::Errno;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Size in bytes of `struct inotify_event` before its name: i32 watch, u32 mask, u32 cookie, u32 length of the
/// name.
const HEADER: usize = 16;

/// A watched directory.
pub struct DirectoryWatch {
    fd: OwnedFd,
}

impl DirectoryWatch {
    /// Watches for names that are created in a directory or moved into it.
    pub fn new(directory: &Path) -> Result<DirectoryWatch, Errno> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        inotify::add_watch(&fd, directory, WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR)?;
        Ok(DirectoryWatch { fd })
    }

    /// True if this name has appeared since the last call, or if the queue overflowed.
    pub fn has_seen(&self, name: &str) -> bool {
        let mut seen = false;
        let mut buffer = [0u8; 4096];
        loop {
            let Ok(read) = rustix::io::read(&self.fd, &mut buffer) else {
                return seen;
            };
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
