//! Opens logs for replay.

use crate::plan::model::replay::LogSource;
use fathom_errors::plain;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Why a log that can be read only once cannot be replayed.
#[derive(Debug, Error)]
pub(crate) enum CopyError {
    /// The directory for temporary files has no room for a copy.
    #[error("fathom: no room for a copy of {log} in {}: {error}", directory().display(), error = plain(.error))]
    NoRoom {
        /// The log.
        log: String,
        /// The system's error.
        error: io::Error,
    },
    /// Reading failed before the end of the source.
    #[error("fathom: {log}: the log cannot be read to its end: {error}", error = plain(.error))]
    BrokenOff {
        /// The log.
        log: String,
        /// The system's error.
        error: io::Error,
    },
}

/// Number of bytes read at a time.
const BUFFER: usize = 256 << 10;

/// Copies of streams, in the order in which this process made them. They are unnamed files that last as long as
/// this process and its children.
static COPIES: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Opens a log at its beginning; compressed logs are decompressed.
pub(crate) fn open(source: &LogSource) -> io::Result<Box<dyn BufRead + Send>> {
    match source {
        LogSource::File(path) => open_file(path),
        LogSource::Copy(number) => {
            let copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
            let copy = copies.get(*number).ok_or(io::ErrorKind::NotFound)?;
            // The copy is reopened, because an inherited descriptor shares its position with other processes.
            open_file(Path::new(&format!("/proc/self/fd/{}", copy.as_raw_fd())))
        }
    }
}

/// Opens a file at its beginning; compressed files are decompressed.
pub(crate) fn open_file(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    }
    fathom_trace::plain(BufReader::with_capacity(BUFFER, file))
}

/// True for a file that can be read only once.
pub(crate) fn is_stream(name: &str) -> bool {
    name == "-"
        || std::fs::metadata(name).is_ok_and(|metadata| {
            let kind = metadata.file_type();
            kind.is_socket() || kind.is_fifo() || kind.is_char_device()
        })
}

/// Reads a stream to its end; returns the source of its copy.
pub(crate) fn keep_copy(name: &str) -> Result<LogSource, CopyError> {
    let log = || if name == "-" { "standard input" } else { name }.to_owned();
    let mut file = nameless_file().map_err(|error| CopyError::NoRoom { log: log(), error })?;
    copy(name, &mut file).map_err(|error| CopyError::BrokenOff { log: log(), error })?;
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    copies.push(file);
    Ok(LogSource::Copy(copies.len() - 1))
}

fn copy(name: &str, file: &mut File) -> io::Result<u64> {
    if name == "-" {
        return io::copy(&mut io::stdin().lock(), file);
    }
    match std::fs::metadata(name)?.file_type().is_socket() {
        true => io::copy(&mut UnixStream::connect(name)?, file),
        false => io::copy(&mut File::open(name)?, file),
    }
}

fn directory() -> PathBuf {
    std::env::temp_dir()
}

fn nameless_file() -> io::Result<File> {
    // The copy is readable for everyone, because a worker may switch to another user. Other users still cannot
    // open it, as an unnamed file has no path.
    let path =
        directory().join(format!("fathom-replay-{}-{:?}", std::process::id(), std::thread::current().id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o644).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
