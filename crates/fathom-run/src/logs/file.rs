//! Log files, opened before anything runs: a run whose logs cannot be written must not start.

use super::LogRegion;
use crate::message::{Message, MessageSender};
use crate::plan::Plan;
use fathom_errors::plain;
use fathom_stats::Direction;
use fathom_sys::Errno;
use fathom_sys::fifo;
use fathom_sys::file::raise_open_file_limit;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Called while a log, such as a named pipe, waits for its reader; returns whether to keep waiting.
pub(crate) type KeepWaiting<'a> = &'a mut dyn FnMut(&Path) -> bool;

/// A log file as the log writer sees it.
pub(crate) struct LogFile {
    path: PathBuf,
    /// `None` after a write error: the run continues without this log.
    file: Option<File>,
}

impl LogFile {
    /// Creates or truncates a file, or opens it for appending. For a named pipe without a reader,
    /// `keep_waiting` decides.
    fn open(path: &Path, append: bool, keep_waiting: KeepWaiting<'_>) -> Result<LogFile, (PathBuf, Errno)> {
        let mut options = OpenOptions::new();
        match append {
            true => options.append(true),
            false => options.write(true).truncate(true),
        };
        match fifo::open(options.create(true), path, &mut || keep_waiting(path)) {
            Ok(file) => Ok(LogFile { path: path.to_owned(), file: Some(file) }),
            Err(error) => Err((path.to_owned(), Errno::from(error))),
        }
    }

    /// Writes and clears `bytes`. The first failure is reported and counted; all later data is discarded.
    pub(crate) fn write(&mut self, bytes: &mut Vec<u8>, region: &LogRegion, messages: &MessageSender) {
        if bytes.is_empty() {
            return;
        }
        if let Some(Err(error)) = self.file.as_mut().map(|file| file.write_all(bytes)) {
            self.file = None;
            region.add_failed_file();
            messages.send(&Message::Error(format!(
                "fathom: cannot write the log {}: {error}; the run goes on without it",
                self.path.display(),
                error = plain(&error)
            )));
        }
        region.count_write();
        bytes.clear();
    }
}

/// All log files of a run.
pub(crate) struct OpenLogs {
    /// Files of each worker, in the order of the paths in its plan.
    pub(crate) of_workers: Vec<Vec<LogFile>>,
    /// Recording of each worker's I/Os (`write_iolog`).
    pub(crate) of_recordings: Vec<Option<LogFile>>,
    /// Bandwidth of the whole run: read, write, trim.
    pub(crate) aggregate: Vec<LogFile>,
}

impl OpenLogs {
    /// Opens all log files of a plan.
    pub(crate) fn open(plan: &Plan, keep_waiting: KeepWaiting<'_>) -> Result<OpenLogs, (PathBuf, Errno)> {
        let count: usize =
            plan.workers.iter().flat_map(|worker| &worker.logs).map(|logs| logs.paths.len()).sum();
        raise_open_file_limit((count + plan.workers.len()) as u64 + 256);
        let mut open = |path: &Path, append| LogFile::open(path, append, keep_waiting);
        let mut of_workers = Vec::new();
        for worker in &plan.workers {
            let logs = worker.logs.iter();
            let paths = logs.flat_map(|logs| logs.paths.iter().map(|path| (path, logs.shared_files)));
            of_workers.push(paths.map(|(path, shared)| open(path, shared)).collect::<Result<_, _>>()?);
        }
        let recordings = plan.workers.iter().map(|worker| worker.recording.as_deref());
        let of_recordings =
            recordings.map(|path| path.map(|path| open(path, true)).transpose()).collect::<Result<_, _>>()?;
        let aggregate = plan.bandwidth_log.iter().flat_map(|prefix| {
            Direction::ALL
                .map(|direction| format!("{}-{}_bw.log", prefix.display(), direction.word()))
                .map(|path| open(Path::new(&path), false))
        });
        Ok(OpenLogs { of_workers, of_recordings, aggregate: aggregate.collect::<Result<_, _>>()? })
    }
}
