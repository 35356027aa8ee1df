//! The files of which a trace consists.

use fathom_command::{Failure, NewFile};
use fathom_record::Parts;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Destination of the trace.
pub(super) struct Files {
    path: PathBuf,
    may_replace: bool,
    is_split: bool,
}

impl Files {
    /// Refuses destinations that cannot be written, before anything is recorded.
    pub(super) fn new(path: &Path, may_replace: bool, is_split: bool) -> Result<Files, Failure> {
        let files = Files { path: path.to_owned(), may_replace, is_split };
        match files.file(1) {
            Some(file) => file.check()?,
            None if io::stdout().is_terminal() => {
                return Err(Failure::new(
                    "-o -: a trace is binary and standard output is a terminal; pipe it to blkparse -i -, or name a file",
                ));
            }
            None => {}
        }
        Ok(files)
    }

    /// The file of a part; `None` for standard output.
    pub(super) fn file(&self, part: u32) -> Option<NewFile> {
        if self.path == Path::new("-") {
            return None;
        }
        let path = if self.is_split { numbered(&self.path, part) } else { self.path.clone() };
        Some(NewFile::new(path, self.may_replace))
    }
}

impl Parts for Files {
    fn open(&mut self, part: u32) -> io::Result<(PathBuf, Box<dyn Write>)> {
        let Some(file) = self.file(part) else {
            let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
            return Ok((PathBuf::from("standard output"), Box::new(output)));
        };
        let opened = file.create().map_err(|failure| io::Error::other(failure.to_string()))?;
        Ok((file.path().to_owned(), Box::new(opened)))
    }
}

/// `db.trace.zst` as `db.0001.trace.zst`.
fn numbered(path: &Path, part: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.strip_suffix(".zst").unwrap_or(&name);
    let stem = stem.rfind('.').filter(|place| *place > 0).unwrap_or(stem.len());
    path.with_file_name(OsString::from(format!("{}.{part:04}{}", &name[..stem], &name[stem..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_before_the_endings() {
        for (path, expected) in [
            ("a/db.trace", "a/db.0007.trace"),
            ("db.trace.zst", "db.0007.trace.zst"),
            ("db", "db.0007"),
            ("db.zst", "db.0007.zst"),
            (".db", ".db.0007"),
        ] {
            assert_eq!(numbered(Path::new(path), 7), Path::new(expected));
        }
    }
}
