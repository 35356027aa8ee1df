//! `write_iolog`: a text log of the I/Os that a worker issued, in the order of issue.

use crate::files::names;
use crate::plan::{Plan, WorkerPlan};
use fathom_logs::IoRecord;
use fathom_trace::iolog::{HEADER, write_file_line, write_io_line};

/// Entries of a recording other than I/Os. Their numbers continue those of the six operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FileEvent {
    /// The file was added to the job.
    Add = 6,
    /// The file was opened.
    Open = 7,
    /// The file was closed.
    Close = 8,
}

/// Words of the log format, indexed by operation or event number.
const WORDS: [&str; 9] =
    ["read", "write", "trim", "sync", "datasync", "sync_file_range", "add", "open", "close"];

/// The recording of one worker.
pub(super) struct Recording {
    /// File names as the job uses them, indexed by file number.
    files: Vec<String>,
    /// Text that has not been written yet.
    pub(super) bytes: Vec<u8>,
}

impl Recording {
    /// Starts a recording, with the header unless another clone writes it to the same file.
    pub(super) fn new(plan: &Plan, worker: &WorkerPlan) -> Recording {
        let paths = names::paths(&worker.files.names);
        let is_first = plan
            .workers
            .iter()
            .find(|other| other.recording == worker.recording)
            .is_none_or(|first| first.thread_number == worker.thread_number);
        let bytes = if is_first { format!("{HEADER}\n").into_bytes() } else { Vec::new() };
        Recording { files: paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(), bytes }
    }

    /// Adds the line for a record. In such a record, `end_ns` holds the time and `clat_ns` the file.
    pub(super) fn add(&mut self, record: &IoRecord) {
        let Some(file) = self.files.get(record.clat_ns as usize) else { return };
        let Some(word) = WORDS.get(usize::from(record.direction)) else { return };
        let time_us = record.end_ns / 1000;
        if record.direction >= FileEvent::Add as u8 {
            write_file_line(&mut self.bytes, time_us, file, word);
        } else {
            write_io_line(&mut self.bytes, time_us, file, word, record.offset, record.length);
        }
    }
}
