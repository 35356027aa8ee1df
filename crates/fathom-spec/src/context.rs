//! The context in which an option's value is parsed, and why it could not be.

use thiserror::Error;

use crate::machine::Machine;
use crate::message::Message;

/// What values may depend on, apart from their own text.
pub struct ParseContext<'a> {
    /// 1024 if `k` means 1024 bytes, 1000 if it means 1000.
    pub kb_base: u32,
    /// True once a check of the text alone was requested.
    pub parse_only: bool,
    /// True if the value is in a job file rather than on the command line.
    pub in_job_file: bool,
    /// Name of the job, for messages that mention it.
    pub job_name: String,
    /// Files and machine facts.
    pub source: &'a dyn Machine,
    /// The names of existing engines; without it, every name is accepted.
    pub engines: Option<Vec<&'static str>>,
    /// Lines to print, in order: reasons for a failure, and warnings.
    pub notes: Vec<Message>,
    /// What a valid value means contrary to appearance, as words that follow the option.
    pub remarks: Vec<String>,
}

impl<'a> ParseContext<'a> {
    /// A context in which suffixes have their usual meaning.
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

/// A value that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected {expected}")]
pub struct ValueError {
    /// What would have been accepted, as words that follow "expected".
    pub expected: String,
    /// The notes already contain everything that fio prints, so its usual line is left out.
    pub fully_reported: bool,
}

impl ValueError {
    /// An error that names what would have been accepted.
    pub fn new(expected: impl Into<String>) -> Self {
        ValueError { expected: expected.into(), fully_reported: false }
    }
}
