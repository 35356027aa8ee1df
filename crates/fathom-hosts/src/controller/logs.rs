//! Logs that hosts send, stored as `NAME.HOST` on the controller's machine, and verification states saved on a
//! trigger, stored as `HOST-JOB-0-verify.state`. A host could send any name. A name is therefore accepted only
//! if it begins with the log prefix of one of the host's jobs and contains no further directories.

use fathom_errors::plain;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a log of a host is missing or incomplete.
#[derive(Debug, Error)]
pub(super) enum LogError {
    /// A name that does not belong to any of the host's jobs.
    #[error("fathom: host {host} sends a log {name:?} that none of its jobs keeps; it is ignored")]
    Unexpected { host: String, name: String },
    /// The file cannot be written.
    #[error("fathom: cannot write the log {}: {error}", path.display(), error = plain(.error))]
    NotWritten { path: PathBuf, error: io::Error },
}

/// Destination of the hosts' logs.
pub(super) struct LogSink {
    hosts: Vec<String>,
    /// Allowed prefixes of log names, for each host.
    prefixes: Vec<Vec<PathBuf>>,
    files: BTreeMap<PathBuf, BufWriter<File>>,
    is_incomplete: bool,
}

impl LogSink {
    pub(super) fn new(hosts: &[String], prefixes: Vec<Vec<PathBuf>>) -> LogSink {
        LogSink { hosts: hosts.to_vec(), prefixes, files: BTreeMap::new(), is_incomplete: false }
    }

    /// Appends data to a log.
    pub(super) fn take(&mut self, index: usize, name: &str, bytes: &[u8]) -> Result<(), LogError> {
        let host = self.hosts.get(index).cloned().unwrap_or_default();
        if !self.is_expected(index, name) {
            self.is_incomplete = true;
            return Err(LogError::Unexpected { host, name: name.to_owned() });
        }
        let host = host.replace('/', "_");
        let path = match state_of(name) {
            Some(rest) => PathBuf::from(format!("{host}-{rest}")),
            None => PathBuf::from(format!("{name}.{host}")),
        };
        let file = match self.files.get_mut(&path) {
            Some(file) => file,
            None => {
                let file = File::create(&path).map_err(|error| self.lost(&path, error))?;
                self.files.entry(path.clone()).or_insert(BufWriter::new(file))
            }
        };
        if let Err(error) = file.write_all(bytes) {
            return Err(self.lost(&path, error));
        }
        Ok(())
    }

    fn is_expected(&self, index: usize, name: &str) -> bool {
        if state_of(name).is_some() {
            return true;
        }
        let prefixes = self.prefixes.get(index).map_or(&[][..], Vec::as_slice);
        prefixes.iter().any(|prefix| {
            name.strip_prefix(&*prefix.to_string_lossy()).is_some_and(|rest| {
                rest.starts_with(['_', '-']) && !rest.contains('/') && !rest.contains('\0')
            })
        })
    }

    fn lost(&mut self, path: &Path, error: io::Error) -> LogError {
        self.is_incomplete = true;
        LogError::NotWritten { path: path.to_owned(), error }
    }

    /// Completes all files.
    pub(super) fn finish(&mut self) -> Result<(), LogError> {
        for (path, mut file) in std::mem::take(&mut self.files) {
            file.flush().map_err(|error| self.lost(&path, error))?;
        }
        Ok(())
    }

    /// True if a log is missing or incomplete.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }
}

/// The `JOB-0-verify.state` part of the name of a saved state.
fn state_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("local-")?;
    (rest.ends_with("-verify.state") && !rest.contains('/') && !rest.contains('\0')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_cannot_choose_where_it_writes() {
        let directory = tempfile::tempdir().expect("a directory");
        let prefix = directory.path().join("run");
        let mut sink = LogSink::new(&["a".to_owned(), "b/c".to_owned()], vec![vec![prefix.clone()], vec![]]);
        let name = format!("{}_bw.1.log", prefix.display());
        sink.take(0, &name, b"1, 2\n").expect("its own log");
        sink.take(0, &name, b"3, 4\n").expect("the rest of it");
        let parent = directory.path().display().to_string();
        for foreign in [
            "/etc/passwd".to_owned(),
            format!("{parent}/run"),
            format!("{parent}/run_x/../../../etc/passwd"),
            format!("{parent}/other_bw.1.log"),
        ] {
            assert!(sink.take(0, &foreign, b"x").is_err(), "{foreign}");
        }
        assert!(sink.take(0, "local-/../x-verify.state", b"x").is_err());
        assert!(sink.take(1, &name, b"x").is_err() && sink.is_incomplete());
        sink.finish().expect("written");
        let text = std::fs::read_to_string(format!("{name}.a")).expect("the log");
        assert_eq!(text, "1, 2\n3, 4\n");
    }
}
