//! Errors that end the program early.

use crate::exit;
use crate::output::Output;
use fathom_errors::plain;
use fathom_local::planning::UnknownHost;
use std::fmt::Display;
use std::process::ExitCode;
use thiserror::Error;

/// A line for the user, and an exit status. Whatever ends the program before its report is converted to one,
/// from the typed errors of the crates it uses.
#[derive(Debug, PartialEq, Error)]
#[error("{line}")]
pub(crate) struct Refusal {
    line: String,
    status: u8,
}

/// Its text is a complete line.
impl From<UnknownHost> for Refusal {
    fn from(error: UnknownHost) -> Refusal {
        Refusal::new(error.to_string())
    }
}

impl Refusal {
    /// A complete line, including its prefix: `fathom: ` or, if scripts may expect it, `fio: `.
    pub(crate) fn new(line: impl Into<String>) -> Refusal {
        Refusal { line: line.into(), status: exit::SETUP_FAILED }
    }

    /// What could not be done, and why.
    pub(crate) fn because(what: impl Display, why: impl Display) -> Refusal {
        Refusal::new(format!("fathom: {what}: {}", plain(&why)))
    }

    /// Like `new`, with another exit status.
    pub(crate) fn with_status(self, status: u8) -> Refusal {
        Refusal { status, ..self }
    }

    /// The line without the prefix, for a command that adds its own name.
    pub(crate) fn in_own_words(&self) -> &str {
        self.line.trim_start_matches("fathom: ")
    }

    /// Prints the line; returns the exit status.
    pub(crate) fn tell(&self, output: &mut Output) -> ExitCode {
        ExitCode::from(self.status_told(output))
    }

    /// Prints the line; returns the exit status as a number.
    pub(crate) fn status_told(&self, output: &mut Output) -> u8 {
        output.error_line(&self.line);
        self.status
    }
}
