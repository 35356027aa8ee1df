//! The reasons for which a log or trace cannot be read.

use fathom_errors::plain;
use std::io;
use thiserror::Error;

/// An error that ends reading early.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A system error.
    #[error("{}", plain(.0))]
    Io(#[from] io::Error),
    /// The text has no header, or that of version 1.
    #[error("iolog version 1 is no longer supported")]
    OldVersion,
    /// The log is empty.
    #[error("the log is empty")]
    Empty,
    /// The log is damaged; holds the line or record.
    #[error(transparent)]
    Broken(#[from] Damage),
}

/// The damage of a log or trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// The file is too short for a trace.
    #[error("short read on trace file: {0} bytes are not a record")]
    Short(usize),
    /// The file has another format.
    #[error(
        "blktrace appears corrupt: it is not a binary trace of version 7; make one with blktrace, or with blkparse -d"
    )]
    NoTrace,
    /// Something else than a recording of files.
    #[error("it is not a recording of files of version 1")]
    NoRecording,
    /// A recording of files, where a block trace or a log is needed.
    #[error(
        "it is a recording of files (fathom record --files): fathom characterize reads it, and fathom trace-to-job makes a log of it \
         that read_iolog replays"
    )]
    Files,
    /// A log without completions, where the dependencies of its I/Os are needed.
    #[error(
        "an I/O log lists no completions, and replay_dependencies=1 waits for those of the trace: leave the option out, or record a block \
         trace with fathom record"
    )]
    NoCompletions,
    /// A line is implausibly long.
    #[error("line {number} has more than {most} bytes")]
    LongLine {
        /// Its number.
        number: u64,
        /// Maximum length of a line.
        most: u64,
    },
    /// The text of a tool lacks the sectors and sizes of the requests.
    #[error(
        "its lines have no sectors and sizes; record with a biosnoop that prints the columns SECTOR and BYTES"
    )]
    NoPlaces,
    /// An I/O does not fit into the target.
    #[error(
        "an I/O of {length} bytes does not fit into the {capacity} bytes of the target that replay_map= names"
    )]
    LargerThanTarget {
        /// Length of the I/O.
        length: u64,
        /// Bytes of the target that may be used.
        capacity: u64,
    },
    /// The log names a file that was not in it when it was scanned.
    #[error("the log has changed since the run was planned")]
    Changed,
    /// The number of files is implausible.

    #[error("it names more than {0} files")]
    TooManyFiles(usize),
}

/// The reason for which a trace ends prematurely. Events before the end are valid.
#[derive(Debug, Error)]
pub enum CutOff {
    /// A system error.
    #[error("{}", plain(.0))]
    Io(#[from] io::Error),
    /// A truncated record.
    #[error("the last record is cut off after {0} bytes")]
    Record(usize),
    /// Not a record.
    #[error("bad magic in blktrace data: {0:x}")]
    Magic(u32),
    /// A truncated payload.
    #[error("the payload of the last record is cut off")]
    Payload,
    /// The last frame of a recording of files is truncated.
    #[error("the last frame is cut off")]
    Frame,
    /// A recording of files ends without its sums.
    #[error("the recorder was killed, or the file is cut off")]
    NoEnd,
    /// Not a record of a recording of files.
    #[error("record {0} is damaged")]
    NotRecord(u64),
}
