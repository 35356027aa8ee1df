//! Errors of SCSI commands.

use super::commands::Command;
use super::sense;
use fathom_sys::Errno;
use fathom_sys::scsi::Answer;
use thiserror::Error;

/// Why a command failed.
#[derive(Clone, Debug, Error)]
pub(crate) enum ScsiError {
    /// The system could not deliver the command.
    #[error("{0}")]
    NotDelivered(#[from] Errno),
    /// An error of the device, or of its transport.
    #[error("{}", sense::describe(&.0.answer, .0.command.bytes()))]
    Refused(Box<Refused>),
    /// The disk reports a block size of 0.
    #[error("it reports blocks of 0 bytes")]
    EmptyBlocks,
}

/// A command and its result.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    answer: Answer,
    command: Command,
}

impl ScsiError {
    #[cold]
    pub(crate) fn refused(answer: Answer, command: Command) -> ScsiError {
        ScsiError::Refused(Box::new(Refused { answer, command }))
    }
}
