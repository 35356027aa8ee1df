//! Writes to outputs that may have no reader, or whose reader may be stopped: named pipes, pipes, terminals.
//! The kernel blocks the writer until something reads, and a program that takes its signals from a queue does
//! not see any while it is blocked. These functions never block for longer than one poll interval.

use crate::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// Poll interval while waiting for a reader.
const LOOK: Duration = Duration::from_millis(20);
/// Number of bytes for which a writable pipe always has room (pipe(7), `PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// Opens a file for writing. A named pipe is opened once it has a reader; until then `keep_waiting` is called
/// repeatedly, and if it returns false the error is `Interrupted`.
pub fn open(
    options: &mut OpenOptions,
    path: &Path,
    keep_waiting: &mut dyn FnMut() -> bool,
) -> io::Result<File> {
    if !std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        return options.open(path);
    }
    options.custom_flags(libc::O_NONBLOCK);
    loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {}
            Err(error) => return Err(error),
            Ok(file) => {
                // SAFETY: plain flag change on our own descriptor; access modes and O_APPEND are kept by the kernel's rules.
                unsafe {
                    let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
                    libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK);
                }
                return Ok(file);
            }
        }
        if !keep_waiting() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        std::thread::sleep(LOOK);
    }
}

/// Writes as much as possible without blocking for longer than `wait`; returns the number of bytes written.
/// Files other than pipes and terminals accept all bytes.
pub fn write_some(file: &impl AsRawFd, bytes: &[u8], wait: Duration) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() && is_writable(file, wait) {
        let part = &bytes[written..bytes.len().min(written + AT_ONCE)];
        // SAFETY: the buffer is as long as stated.
        let result = unsafe { libc::write(file.as_raw_fd(), part.as_ptr().cast(), part.len()) };
        match usize::try_from(result) {
            Ok(count) => written += count,
            Err(_) => match Errno::last() {
                Errno(libc::EINTR) => {}
                // Another process may have made the descriptor non-blocking.
                Errno(libc::EAGAIN) => break,
                errno => return Err(io::Error::from_raw_os_error(errno.0)),
            },
        }
    }
    Ok(written)
}

/// Waits until something can be written. A pipe without readers counts as writable: the write then fails.
fn is_writable(file: &impl AsRawFd, wait: Duration) -> bool {
    let mut entry = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    let ms = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one entry, which lives through the call.
    unsafe { libc::poll(&mut entry, 1, ms) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_pipe_takes_what_it_has_room_for() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let text = vec![7u8; 1 << 20];
        let written = write_some(&writer, &text, Duration::ZERO).expect("written");
        assert!(written > 0 && written < text.len(), "{written}");
        assert_eq!(write_some(&writer, &text, Duration::ZERO).expect("full"), 0);
        let mut part = vec![0; written];
        reader.read_exact(&mut part).expect("read");
        assert!(write_some(&writer, &text, Duration::ZERO).expect("room again") > 0);
        drop(reader);
        let error = write_some(&writer, &text, Duration::ZERO).expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_named_pipe_is_waited_for_as_long_as_is_wanted() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(made.success());
        let mut asked = 0;
        let mut keep_waiting = || {
            asked += 1;
            asked < 3
        };
        let error = open(OpenOptions::new().write(true), &path, &mut keep_waiting).expect_err("nobody reads");
        assert_eq!((error.kind(), asked), (io::ErrorKind::Interrupted, 3));
        let own = path.clone();
        let reader = std::thread::spawn(move || std::fs::read(own).expect("read"));
        let file = open(OpenOptions::new().write(true), &path, &mut || true).expect("it has a reader");
        assert_eq!(write_some(&file, b"text", Duration::ZERO).expect("written"), 4);
        drop(file);
        assert_eq!(reader.join().expect("it ends"), b"text");
    }
}
