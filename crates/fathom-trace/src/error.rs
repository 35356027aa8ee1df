//! Why a log or trace cannot be read.

use fathom_errors::plain;
use std::io;
use thiserror::Error;

/// Errors that end reading early.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A system error.
    #[error("{}", plain(.0))]
    Io(#[from] io::Error),
    /// Text without a header, or with that of version 1.
    #[error("iolog version 1 is no longer supported")]
    OldVersion,
    /// An empty log.
    #[error("the log is empty")]
    Empty,
    /// Damage, with its line or record.
    #[error(transparent)]
    Broken(#[from] Damage),
}

/// Damage of a log or trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// Too few bytes for a trace.
    #[error("short read on trace file: {0} bytes are not a record")]
    Short(usize),
    /// Another kind of file.
    #[error(
        "blktrace appears corrupt: it is not a binary trace of version 7; make one with blktrace, or with blkparse -d"
    )]
    NoTrace,
    /// An implausibly long line.
    #[error("line {number} has more than {most} bytes")]
    LongLine {
        /// Its number.
        number: u64,
        /// Maximum length of a line.
        most: u64,
    },
    /// A tool's text without the places of the requests.
    #[error(
        "its lines have no sectors and sizes; record with a biosnoop that prints the columns SECTOR and BYTES"
    )]
    NoPlaces,
    /// An implausible number of files.
    #[error("it names more than {0} files")]
    TooManyFiles(usize),
}

/// Why a trace ends prematurely; everything before is valid.
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
}
