//! A file for node_exporter's textfile collector. Each version replaces the previous one atomically.

use fathom_errors::plain;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file cannot be written.
#[derive(Debug, Error)]
pub enum TextFileError {
    /// A device, a pipe or a directory.
    #[error("{} is not a plain file; name a new one", .0.display())]
    NoFile(PathBuf),
    /// The file has other content.
    #[error("{} exists and holds something other than fathom's metrics; name another file, or remove it", .0.display())]
    InTheWay(PathBuf),
    /// The system refuses.
    #[error("{} cannot be written: {error}", path.display(), error = plain(.error))]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// Start of the files that this program writes.
const BEGINNING: &[u8] = b"# HELP fathom_";

/// Checks that the file may and can be written, before a run relies on it.
pub fn check(path: &Path) -> Result<(), TextFileError> {
    match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => {
            return Err(TextFileError::NoFile(path.to_owned()));
        }
        Ok(_) if !is_ours(path) => return Err(TextFileError::InTheWay(path.to_owned())),
        _ => {}
    }
    let beside = beside(path);
    create(&beside)
        .and_then(|_| fs::remove_file(&beside))
        .map_err(|error| TextFileError::NotWritten { path: path.to_owned(), error })
}

/// Creates a new file; never opens an existing one.
fn create(path: &Path) -> io::Result<File> {
    let new = || File::options().write(true).create_new(true).open(path);
    match new() {
        // A killed process with the same ID has left the file behind.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path).and_then(|()| new())
        }
        other => other,
    }
}

fn is_ours(path: &Path) -> bool {
    let mut beginning = [0; BEGINNING.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == BEGINNING
}

/// Writes the text to the file.
pub fn write(path: &Path, text: &str) -> Result<(), TextFileError> {
    let beside = beside(path);
    let written = create(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| rename(&beside, path));
    written.map_err(|error| {
        // An error is ignored: the file is incomplete and not needed.
        let _ = fs::remove_file(&beside);
        TextFileError::NotWritten { path: path.to_owned(), error }
    })
}

/// Replaces the file unless it now has other content.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() && !is_ours(to) {
        return Err(io::Error::other("it now holds something other than fathom's metrics"));
    }
    fs::rename(from, to)
}

/// The temporary name of a version. Collectors ignore hidden files and files with this suffix.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_is_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.prom");
        check(&path).expect("new");
        write(&path, "# HELP fathom_info a\n").expect("written");
        check(&path).expect("ours");
        write(&path, "# HELP fathom_info b\n").expect("written again");
        assert_eq!(fs::read_to_string(&path).expect("there"), "# HELP fathom_info b\n");
        fs::write(&path, "node_boot 1\n").expect("another's");
        assert!(check(&path).expect_err("not ours").to_string().contains("something other"));
        assert!(
            write(&path, "# HELP fathom_info c\n")
                .expect_err("not ours")
                .to_string()
                .contains("something other")
        );
        assert_eq!(fs::read_to_string(&path).expect("there"), "node_boot 1\n");
        assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 1, "nothing is left behind");
        assert!(check(&directory.path().join("no/where.prom")).is_err());
        assert!(check(directory.path()).expect_err("a directory").to_string().contains("plain file"));
    }
}
