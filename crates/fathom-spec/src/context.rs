//! What the value of an option is read with, and why it could not be.

use thiserror::Error;

use crate::machine::Machine;
use crate::message::Message;

/// What values may depend on besides their own text.
pub struct ParseContext<'a> {
    /// 1024 when `k` means 1024 bytes, 1000 when it means 1000.
    pub kb_base: u32,
    /// Only the text is looked at, as far as that was asked for before it.
    pub parse_only: bool,
    /// The value stands in a job file rather than on the command line.
    pub in_job_file: bool,
    /// Name of the job, for messages that mention it.
    pub job_name: String,
    /// Files and machine facts.
    pub source: &'a dyn Machine,
    /// The names of the engines there are; without, every name is one.
    pub engines: Option<Vec<&'static str>>,
    /// Lines to print, in order: reasons of a failure and warnings.
    pub notes: Vec<Message>,
    /// What a valid value means that it does not seem to say, in words that follow the option.
    pub remarks: Vec<String>,
}

impl<'a> ParseContext<'a> {
    /// A context with the usual meaning of suffixes.
    pub fn new(source: &'a dyn Machine) -> Self {
        ParseContext {
            kb_base: 1024,
            parse_only: false,
            in_job_file: false,
            job_name: String::new(),
            source,
            engines: None,
            notes: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Adds a line for standard error.
    pub(crate) fn complain(&mut self, text: impl Into<String>) {
        self.notes.push(Message::stderr(text));
    }

    /// Reports how a value was read that fio accepts silently.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }
}

/// A value that could not be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected {expected}")]
pub struct ValueError {
    /// What would have been accepted, in words that follow "expected".
    pub expected: String,
    /// The notes already say everything that fio says; its usual line does not follow.
    pub fully_reported: bool,
}

impl ValueError {
    /// An error that names what would have been accepted.
    pub fn new(expected: impl Into<String>) -> Self {
        ValueError { expected: expected.into(), fully_reported: false }
    }
}
