//! The context in which an option's value is parsed, and the error if that fails.

use thiserror::Error;

use crate::machine::Machine;
use crate::message::Message;

/// The context on which values may depend in addition to their own text.
pub struct ParseContext<'a> {
    /// 1024 if `k` stands for 1024 bytes, 1000 if it stands for 1000.
    pub kb_base: u32,
    /// True once a check of the text alone was requested.
    pub parse_only: bool,
    /// True if the value is in a job file instead of on the command line.
    pub in_job_file: bool,
    /// Name of the job, for messages that mention it.
    pub job_name: String,
    /// Access to files and to facts about the machine.
    pub source: &'a dyn Machine,
    /// The names of the engines that exist; `None` accepts every name.
    pub engines: Option<Vec<&'static str>>,
    /// Lines to print, in order: reasons for a failure, and warnings.
    pub notes: Vec<Message>,
    /// Meanings that differ from what a valid value seems to say, as phrases that follow the option.
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

    /// Adds a remark on how a value was interpreted that fio accepts silently.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }
}

/// The error for a value that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected {expected}")]
pub struct ValueError {
    /// The values that would have been accepted, as a phrase that follows "expected".
    pub expected: String,
    /// True if the notes already contain all lines that fio prints, so that its usual line is left out.
    pub fully_reported: bool,
}

impl ValueError {
    /// An error that names the values that would have been accepted.
    pub fn new(expected: impl Into<String>) -> Self {
        ValueError { expected: expected.into(), fully_reported: false }
    }
}
