//! Why a log or trace cannot be read.

use std::fmt;
use std::io;

/// Why reading ended before its time.
#[derive(Debug)]
pub enum TraceError {
    /// The system said so.
    Io(io::Error),
    /// Text without a header, or with that of the first version.
    OldVersion,
    /// Nothing in it at all.
    Empty,
    /// What is wrong, with the line or record.
    Broken(String),
}

impl fmt::Display for TraceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Io(error) => write!(formatter, "{error}"),
            TraceError::OldVersion => formatter.write_str("iolog version 1 is no longer supported"),
            TraceError::Empty => formatter.write_str("the log is empty"),
            TraceError::Broken(text) => formatter.write_str(text),
        }
    }
}

impl std::error::Error for TraceError {}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> TraceError {
        TraceError::Io(error)
    }
}
