//! Where a log is read from.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Bytes read at a time.
const BUFFER: usize = 256 << 10;

/// Opens a log from its beginning.
pub(crate) fn open(path: &Path) -> io::Result<BufReader<File>> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    }
    Ok(BufReader::with_capacity(BUFFER, file))
}

/// True for what can be read only once.
pub(crate) fn is_stream(name: &str) -> bool {
    name == "-"
        || std::fs::metadata(name).is_ok_and(|metadata| {
            let kind = metadata.file_type();
            kind.is_socket() || kind.is_fifo() || kind.is_char_device()
        })
}

/// The copy of a stream, in a file that has no name any more. It lasts as long as the program.
#[derive(Debug)]
pub(crate) struct Spool {
    descriptor: i32,
}

impl Spool {
    /// Reads a stream to its end.
    pub(crate) fn of(name: &str) -> Result<Spool, String> {
        let shown = if name == "-" { "standard input" } else { name };
        let mut file = nameless_file().map_err(|error| {
            format!("fathom: no room for a copy of {shown} in {}: {error}", directory().display())
        })?;
        let copied = copy(name, &mut file);
        copied.map_err(|error| format!("fathom: {shown}: the log cannot be read to its end: {error}"))?;
        // Kept open for the workers to come.
        Ok(Spool { descriptor: file.into_raw_fd() })
    }

    /// Where every process of the run finds it.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.descriptor))
    }
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
    // Readable for the user that a worker may become; nobody else finds a file without a name.
    let path =
        directory().join(format!("fathom-replay-{}-{:?}", std::process::id(), std::thread::current().id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o644).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
