//! A crash-safe file of JSON lines. Each line is written and synced before the next one begins, written lines
//! never change, and the next reader drops a line that a crash has truncated.

use fathom_command::Failure;
use fathom_errors::plain;
use fathom_results::RunResult;
use fathom_stats::report::RunReport;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time to wait for the end of a killed command that still holds the file's lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// Content of a results file: the first line is a plan, and each further line is a finished step.
pub(crate) trait Journal: Sized {
    /// The nouns with which messages refer to this kind of file.
    const FILES: Files;

    /// Parses the plan.
    fn begin(line: &[u8], path: &Path) -> Result<Self, Mistake>;

    /// Parses another line.
    fn take(&mut self, line: &[u8], path: &Path) -> Result<(), Mistake>;
}

/// A results file whose lines have the complete results of their runs.
pub(crate) trait HasResults: Journal {
    /// The result of the run in a line, and what tells it from the other runs; `None` for a run that failed.
    fn result_in(&self, line: &[u8]) -> Result<Option<(String, RunResult)>, Mistake>;
}

/// The nouns with which messages refer to one kind of file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files {
    /// Start of every file of this kind.
    pub(crate) mark: &'static str,
    /// Name of the command that writes it.
    pub(crate) command: &'static str,
    /// Noun for the activity, as in `another {name} is writing`.
    pub(crate) name: &'static str,
    /// Noun for the run that is recorded in the file, as in `the {subject} ended`.
    pub(crate) subject: &'static str,
    /// Noun for the content, as in `not a line of {line_of}`.
    pub(crate) line_of: &'static str,
    /// How to repair a file with such a line.
    pub(crate) repair: &'static str,
}

/// Why a line is refused.
pub(crate) enum Mistake {
    /// The line is malformed.
    Line(String),
    /// The file as a whole cannot be used.
    File(Failure),
}

impl From<serde_json::Error> for Mistake {
    /// The message of a parse error, without the line number, which is always 1 for a single line.
    fn from(error: serde_json::Error) -> Mistake {
        Mistake::Line(error.to_string().replace(" at line 1 column ", " in column "))
    }
}

impl From<Failure> for Mistake {
    fn from(failure: Failure) -> Mistake {
        Mistake::File(failure)
    }
}

/// True if the path is a file of this kind.
pub(crate) fn is_results<T: Journal>(path: &Path) -> bool {
    let mut start = vec![0; T::FILES.mark.len()];
    // A pipe is not inspected, because reading from it would consume its data.
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == T::FILES.mark.as_bytes()
}

/// Reads a file of this kind.
pub(crate) fn read<T: Journal>(path: &Path) -> Result<T, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    let Files { mark, command, subject, .. } = T::FILES;
    if !bytes.starts_with(mark.as_bytes()) {
        return Err(Failure::new(format!("{}: not a results file of fathom {command}", path.display())));
    }
    parse(&bytes, path)?.0.ok_or_else(|| {
        Failure::new(format!(
            "{}: the {subject} ended before it wrote its first line; run it again",
            path.display()
        ))
    })
}

/// The value in a line whose texts were written as [`text_of`] writes them.
pub(crate) fn value_in<T: DeserializeOwned>(line: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(&fathom_results::single_lines(&String::from_utf8_lossy(line)))
}

/// The results of the runs in a file of this kind that did not fail.
pub(crate) fn results_in<T: HasResults>(path: &Path) -> Result<Vec<(String, RunResult)>, Failure> {
    results_of(&read::<T>(path)?, path)
}

/// The same for a file whose content is known. Results are read again, because only their figures are kept.
pub(crate) fn results_of<T: HasResults>(
    recorded: &T,
    path: &Path,
) -> Result<Vec<(String, RunResult)>, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    let whole = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let results = whole.skip(1).map(|line| recorded.result_in(line).map_err(unusable));
    results.filter_map(Result::transpose).collect()
}

/// Parses the complete lines; also returns their length in bytes.
pub(crate) fn parse<T: Journal>(bytes: &[u8], path: &Path) -> Result<(Option<T>, usize), Failure> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut recorded: Option<T> = None;
    for (number, line) in (1..).zip(bytes[..whole].split_inclusive(|byte| *byte == b'\n')) {
        let taken = match &mut recorded {
            None => T::begin(line, path).map(|begun| recorded = Some(begun)),
            Some(recorded) => recorded.take(line, path),
        };
        taken.map_err(|mistake| match mistake {
            Mistake::File(failure) => failure,
            Mistake::Line(what) => {
                let Files { line_of, repair, .. } = T::FILES;
                Failure::new(format!(
                    "{}, line {number}: not a line of {line_of}: {what}; {repair}",
                    path.display()
                ))
            }
        })?;
    }
    Ok((recorded, whole))
}

/// Refuses a file whose format version differs from this program's.
pub(crate) fn check_form(path: &Path, found: u32, own: u32) -> Result<(), Failure> {
    match found == own {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{}: the file has format {found}, but this version of fathom reads format {own}",
            path.display()
        ))),
    }
}

/// Serialises a value as one line of JSON.
pub(crate) fn line_of<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::new(error.to_string()))
}

/// Serialises the report of a run as one line of JSON.
pub(crate) fn line_of_report(report: &RunReport) -> Result<String, Failure> {
    let format = fathom_report::by_name("jsonl").ok_or_else(|| Failure::new("there is no format jsonl"))?;
    let mut bytes = Vec::new();
    format.write(report, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// A results file that is being written, with its content so far.
pub(crate) struct ResultsFile<T> {
    file: LineFile,
    recorded: T,
}

/// A results file that is open and locked.
pub(crate) struct Opened<T> {
    file: LineFile,
    whole: u64,
    /// The content that the file had when it was opened.
    pub(crate) found: Option<T>,
}

impl<T: Journal> Opened<T> {
    /// Opens or creates the file, locks it, and reads it. Refuses files written by other programs.
    pub(crate) fn new(path: &Path) -> Result<Opened<T>, Failure> {
        let (file, bytes) = LineFile::open(path, &T::FILES)?;
        let (found, whole) = parse(&bytes, path)?;
        Ok(Opened { file, whole: whole as u64, found })
    }

    /// Starts the file with this plan as its first line.
    pub(crate) fn begin(mut self, plan: String) -> Result<ResultsFile<T>, Failure> {
        let path = self.file.path.clone();
        let recorded = T::begin(plan.as_bytes(), &path).map_err(unusable)?;
        self.file.begin(plan)?;
        Ok(ResultsFile { file: self.file, recorded })
    }

    /// Continues after the last complete line, unless the plan in the file differs in the arguments that
    /// `differences` names.
    pub(crate) fn resume_same(
        self,
        recorded: T,
        differences: impl Fn(&T) -> Vec<&'static str>,
    ) -> Result<ResultsFile<T>, Failure> {
        let differences = differences(&recorded);
        match differences.is_empty() {
            true => self.resume(recorded),
            false => Err(Failure::new(format!(
                "{}: this file holds a different {}: {} differ; name another file with --output, or remove it",
                self.file.path.display(),
                T::FILES.name,
                differences.join(", ")
            ))),
        }
    }

    /// Continues after the last complete line.
    pub(crate) fn resume(mut self, recorded: T) -> Result<ResultsFile<T>, Failure> {
        self.file.keep(self.whole)?;
        Ok(ResultsFile { file: self.file, recorded })
    }
}

impl<T: Journal> ResultsFile<T> {
    pub(crate) fn recorded(&self) -> &T {
        &self.recorded
    }

    pub(crate) fn into_recorded(self) -> T {
        self.recorded
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// Appends a line and syncs it to disk; it becomes part of the content.
    pub(crate) fn add(&mut self, line: String) -> Result<(), Failure> {
        self.file.append(&line)?;
        self.recorded.take(line.as_bytes(), &self.file.path).map_err(unusable)
    }
}

/// The failure for a line that this program wrote but cannot parse, which is a defect.
fn unusable(mistake: Mistake) -> Failure {
    match mistake {
        Mistake::Line(what) => Failure::new(what),
        Mistake::File(failure) => failure,
    }
}

/// A file of JSON lines.
struct LineFile {
    file: File,
    path: PathBuf,
    length: u64,
}

impl LineFile {
    fn open(path: &Path, files: &Files) -> Result<(LineFile, Vec<u8>), Failure> {
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
        lock(&file, path, files.name)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(fail)?;
        let mark = files.mark.as_bytes();
        if !bytes.starts_with(mark) && !mark.starts_with(&bytes) {
            return Err(Failure::new(format!(
                "{}: this file exists and is not from a {}; name another one with --output",
                path.display(),
                files.name
            )));
        }
        Ok((LineFile { file, path: path.to_owned(), length: 0 }, bytes))
    }

    /// Truncates the file to its first `length` bytes, which are complete lines.
    fn keep(&mut self, length: u64) -> Result<(), Failure> {
        self.length = length;
        self.cut()
    }

    /// Writes the first line. A new file is durable only after its directory entry has been synced as well.
    fn begin(&mut self, line: String) -> Result<(), Failure> {
        self.keep(0)?;
        self.append(&line)?;
        let directory =
            self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| Failure::file(directory, &error))
    }

    /// Appends a line and syncs it to disk.
    fn append(&mut self, line: &str) -> Result<(), Failure> {
        let bytes = format!("{line}\n").into_bytes();
        let written = self
            .file
            .seek(SeekFrom::Start(self.length))
            .and_then(|_| self.file.write_all(&bytes))
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // A failure is ignored, because the next reader drops the partial line as well.
            let _ = self.cut();
            return Err(Failure::new(format!(
                "{}: {error}; its content stays valid, and the same command resumes from there",
                self.path.display(),
                error = plain(&error)
            )));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Removes everything after the last complete line.
    fn cut(&mut self) -> Result<(), Failure> {
        self.file.set_len(self.length).map_err(|error| Failure::file(&self.path, &error))
    }
}

/// Serialises a text as a JSON string on one line.
pub(crate) fn text_of(text: &str) -> Result<String, Failure> {
    line_of(&fathom_results::single_line(text))
}

/// Locks the file, because two commands must not write to it. The workers of a command that was just killed may
/// hold the lock for a moment longer.
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
