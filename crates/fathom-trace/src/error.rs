//! Why a log or trace cannot be read.

use std::io;
use thiserror::Error;

/// Why reading ended before its time.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The system said so.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Text without a header, or with that of the first version.
    #[error("iolog version 1 is no longer supported")]
    OldVersion,
    /// Nothing in it at all.
    #[error("the log is empty")]
    Empty,
    /// What is wrong, with the line or record.
    #[error(transparent)]
    Broken(#[from] Damage),
}

/// What is wrong with a log or trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// Too few bytes for a trace.
    #[error("short read on trace file: {0} bytes are no record")]
    Short(usize),
    /// Another kind of file.
    #[error(
        "blktrace appears corrupt: it is no binary trace of version 7; make one with blktrace, or with blkparse -d"
    )]
    NoTrace,
    /// A line that nobody has written.
    #[error("line {number} has more than {most} bytes")]
    LongLine {
        /// Its number.
        number: u64,
        /// Bytes that a line may have.
        most: u64,
    },
    /// Files that nobody has.
    #[error("it names more than {0} files")]
    TooManyFiles(usize),
}

/// Why a trace ends before its end; everything before is good.
#[derive(Debug, Error)]
pub enum CutOff {
    /// The system said so.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A record without its end.
    #[error("the last record is cut off after {0} bytes")]
    Record(usize),
    /// What is no record.
    #[error("bad magic in blktrace data: {0:x}")]
    Magic(u32),
    /// A record without what it announces.
    #[error("the payload of the last record is cut off")]
    Payload,
}
