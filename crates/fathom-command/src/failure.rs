//! Errors that end a command or tool.

use fathom_errors::{access, plain};
use std::fmt;
use std::io;
use std::path::Path;

/// Exit code after a bug in fathom itself (`EX_SOFTWARE` of sysexits.h).
pub const DEFECT: u8 = 70;

/// Ends a tool with an exit code and a message.
#[derive(Debug)]
pub enum Failure {
    /// The error, its location, and a remedy.
    Message(String),
    /// An unknown option, with its dashes.
    UnknownOption(String),
    /// The output could not be written.
    Output(io::Error),
    /// An internal inconsistency, so that no figure can be trusted; holds a description.
    Defect(String),
}

impl Failure {
    /// A failure with this message.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure::Message(message.into())
    }

    /// A failure with the message of an error.
    pub fn because(error: impl std::error::Error) -> Failure {
        Failure::Message(plain(&error))
    }

    /// A file that could not be opened, read or written.
    pub fn file(path: &Path, error: &io::Error) -> Failure {
        let advice = match error.kind() {
            io::ErrorKind::PermissionDenied => access(path).map(|advice| format!("; {advice}")),
            io::ErrorKind::StorageFull => Some("; free some space there, or name another place".to_owned()),
            _ => None,
        };
        Failure::Message(format!("{}: {}{}", path.display(), plain(error), advice.unwrap_or_default()))
    }

    /// 70 for a bug in fathom, 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Defect(_) => DEFECT,
            _ => 1,
        }
    }

    /// True if the reader of the output has exited, as with `| head`.
    pub fn reader_is_gone(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Message(message) => formatter.write_str(message),
            Failure::UnknownOption(option) => {
                write!(formatter, "there is no option {option}; --help lists the options")
            }
            Failure::Output(error) => write!(formatter, "the output is incomplete: {}", plain(error)),
            Failure::Defect(found) => write!(
                formatter,
                "{found}; this is a bug in fathom, and none of these figures can be trusted; please report it with the command"
            ),
        }
    }
}

/// Only writing to a tool's streams fails without a path, so the error is about the output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Failure {
        match error {
            lexopt::Error::UnexpectedOption(option) => Failure::UnknownOption(option),
            error => Failure::Message(format!("{error}; --help lists the options")),
        }
    }
}
