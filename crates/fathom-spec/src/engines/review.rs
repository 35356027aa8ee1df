//! Requirements across the options of a job.

use super::{EngineDef, Engines};
use crate::diagnostic::{Diagnostic, Origin, Rejected};
use crate::hosts::HostPlace;
use crate::message::Message;
use crate::spec::JobSpec;

/// The view of a rule, which also receives the rule's messages.
pub struct Review<'a> {
    /// Jobs that were defined before this one.
    pub(crate) earlier: &'a [JobSpec],
    /// The engines that jobs may name.
    pub(crate) engines: Engines<'a>,
    /// The position of the host, in a run over several hosts.
    pub(crate) host: Option<&'a HostPlace>,
    /// Lines to print.
    pub(crate) messages: &'a mut Vec<Message>,
    /// True if one of the messages was a warning.
    pub(crate) warned: bool,
}

/// One rule, which may change or refuse the job.
pub type Rule = fn(&mut JobSpec, &mut Review<'_>) -> Result<(), Rejected>;

impl Review<'_> {
    /// The declaration of the job's engine, if the engine exists.
    pub(crate) fn engine_of(&self, job: &JobSpec) -> Option<&'static EngineDef> {
        self.engines.of_job(job)
    }

    /// Refuses the job: prints fio's line, then explains the problem in fathom's words.
    pub fn refuse(
        &mut self,
        origin: &Origin,
        line: impl Into<String>,
        problem: impl Into<String>,
    ) -> Rejected {
        self.messages.push(Message::stderr(line));
        self.refuse_in_our_words(origin, problem)
    }

    /// Refuses a job that fio accepts, or about which fio prints nothing.
    pub fn refuse_in_our_words(&mut self, origin: &Origin, problem: impl Into<String>) -> Rejected {
        self.messages.push(Diagnostic::general(origin, problem).message());
        Rejected
    }

    /// Prints a line on standard error that does not stop the run, unless warnings are fatal.
    pub fn warn(&mut self, line: impl Into<String>) {
        self.messages.push(Message::stderr(line));
        self.warned = true;
    }

    /// Prints one of fathom's own notes: an option without effect, or with an unexpected one.
    pub fn note(&mut self, line: impl Into<String>) {
        self.messages.push(Message::stderr(line));
    }

    /// Prints a line that fio has in its report.
    pub fn note_as_fio(&mut self, line: impl Into<String>) {
        self.messages.push(Message::stdout(line));
    }
}
