//! What a SCSI device has against a command.

use super::commands::Command;
use super::sense;
use fathom_sys::Errno;
use fathom_sys::scsi::Answer;
use thiserror::Error;

/// Why a command did not do what it was to do.
#[derive(Clone, Debug, Error)]
pub(crate) enum ScsiError {
    /// The system does not deliver it.
    #[error("{0}")]
    NotDelivered(#[from] Errno),
    /// The device, or what connects it, says so.
    #[error("{}", sense::describe(&.0.answer, .0.command.bytes()))]
    Refused(Box<Refused>),
    /// A disk without room.
    #[error("it names blocks of 0 bytes")]
    EmptyBlocks,
}

/// A command and the answer to it.
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
