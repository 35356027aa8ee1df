//! A file of lines of JSON that survives anything: each line is written and synced before the next begins, lines already written
//! never change, and a line truncated by a crash is dropped by the next reader.

use fathom_command::Failure;
use fathom_stats::report::RunReport;
use serde::Serialize;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the end of a command that was killed is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whose file it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    /// What every file of it begins with.
    pub(crate) mark: &'static str,
    /// In a sentence: `sweep`.
    pub(crate) name: &'static str,
    /// Its word on the command line.
    pub(crate) command: &'static str,
    /// [`name`](Owner::name) where it is known which one: `the {subject} ended`.
    pub(crate) subject: &'static str,
}

impl Owner {
    /// True for a file that it wrote.
    pub(crate) fn wrote(&self, path: &Path) -> bool {
        let mut start = vec![0; self.mark.len()];
        // A pipe would lose what is looked at.
        path.is_file()
            && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
            && start == self.mark.as_bytes()
    }

    /// The content of a file that it wrote, as `parse` reads it.
    pub(crate) fn read<T>(
        &self,
        path: &Path,
        parse: impl FnOnce(&[u8], &Path) -> Result<(Option<T>, usize), Failure>,
    ) -> Result<T, Failure> {
        let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
        if !bytes.starts_with(self.mark.as_bytes()) {
            return Err(Failure::new(format!(
                "{}: not a results file of fathom {}",
                path.display(),
                self.command
            )));
        }
        parse(&bytes, path)?.0.ok_or_else(|| {
            Failure::new(format!(
                "{}: the {} ended before it wrote its first line; run it again",
                path.display(),
                self.subject
            ))
        })
    }
}

/// A file of another form than this program writes is refused.
pub(crate) fn check_form(path: &Path, found: u32, own: u32) -> Result<(), Failure> {
    match found == own {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{}: the file has format {found}, but this version of fathom reads format {own}",
            path.display()
        ))),
    }
}

/// What is wrong with a line; one of JSON is always line 1 of itself.
pub(crate) fn told_of_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " in column ")
}

/// A value as a line of JSON.
pub(crate) fn line_of<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::new(error.to_string()))
}

/// The report of a run as a line of JSON.
pub(crate) fn line_of_report(report: &RunReport) -> Result<String, Failure> {
    let format = fathom_report::by_name("jsonl").ok_or_else(|| Failure::new("there is no format jsonl"))?;
    let mut bytes = Vec::new();
    format.write(report, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// A file that grows.
pub(crate) struct ResultsFile {
    file: File,
    path: PathBuf,
    length: u64,
}

impl ResultsFile {
    /// Opens the file or makes it, locks it, and gives its content. What somebody else wrote is refused.
    pub(crate) fn open(path: &Path, owner: Owner) -> Result<(ResultsFile, Vec<u8>), Failure> {
        let fail = |error: std::io::Error| Failure::file(path, &error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(fail)?;
        if !file.metadata().map_err(fail)?.is_file() {
            return Err(Failure::new(format!(
                "{}: results need a regular file; name another one with --output",
                path.display()
            )));
        }
        lock(&file, path, owner.name)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(fail)?;
        let mark = owner.mark.as_bytes();
        if !bytes.starts_with(mark) && !mark.starts_with(&bytes) {
            return Err(Failure::new(format!(
                "{}: this file exists and is not from a {}; name another one with --output",
                path.display(),
                owner.name
            )));
        }
        Ok((ResultsFile { file, path: path.to_owned(), length: 0 }, bytes))
    }

    /// Keeps so many bytes of whole lines; what comes after them goes.
    pub(crate) fn keep(&mut self, length: u64) -> Result<(), Failure> {
        self.length = length;
        self.cut()
    }

    /// Writes the first line. A new file is only safe once its name is.
    pub(crate) fn begin(&mut self, line: String) -> Result<(), Failure> {
        self.keep(0)?;
        self.append(line)?;
        let directory =
            self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| Failure::file(directory, &error))
    }

    /// Adds a line; when this returns, it is on the disk.
    pub(crate) fn append(&mut self, line: String) -> Result<(), Failure> {
        let bytes = (line + "\n").into_bytes();
        let written = self
            .file
            .seek(SeekFrom::Start(self.length))
            .and_then(|_| self.file.write_all(&bytes))
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // What was written of the line would be dropped by the next reader as well.
            let _ = self.cut();
            return Err(Failure::new(format!(
                "{}: {error}; its content stays valid, and the same command resumes from there",
                self.path.display()
            )));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes everything after the last complete line.
    fn cut(&mut self) -> Result<(), Failure> {
        self.file.set_len(self.length).map_err(|error| Failure::file(&self.path, &error))
    }
}

/// The whole lines of a file with their numbers, from 1, and how many bytes they have.
pub(crate) fn whole_lines(bytes: &[u8]) -> (impl Iterator<Item = (usize, &[u8])>, usize) {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    ((1..).zip(bytes[..whole].split_inclusive(|byte| *byte == b'\n')), whole)
}

/// A string of JSON on one line.
pub(crate) fn text_of(text: &str) -> Result<String, Failure> {
    line_of(&fathom_results::single_line(text))
}

/// Two commands must not write to one file. The workers of one that was just killed may hold the lock for a moment.
fn lock(file: &File, path: &Path, name: &str) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(format!(
                    "{}: another {name} is writing to this file",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(Failure::file(path, &error)),
        }
    }
}
