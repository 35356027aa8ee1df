//! What is demanded of jobs, across their options.

use super::{EngineDef, Engines};
use crate::diagnostic::{Diagnostic, Origin, Rejected};
use crate::hosts::HostPlace;
use crate::message::Message;
use crate::spec::JobSpec;

/// What a rule sees and where it speaks.
pub struct Review<'a> {
    /// The jobs defined before this one.
    pub(crate) earlier: &'a [JobSpec],
    /// The engines that jobs may name.
    pub(crate) engines: Engines<'a>,
    /// The place of the host, in a run over several.
    pub(crate) host: Option<&'a HostPlace>,
    /// Lines to print.
    pub(crate) messages: &'a mut Vec<Message>,
    /// One of them was a warning.
    pub(crate) warned: bool,
}

/// One rule: may change the job, and may refuse it.
pub type Rule = fn(&mut JobSpec, &mut Review<'_>) -> Result<(), Rejected>;

impl Review<'_> {
    /// What the engine of the job can do, if there is one of that name.
    pub(crate) fn engine_of(&self, job: &JobSpec) -> Option<&'static EngineDef> {
        self.engines.of_job(job)
    }

    /// Refuses the job: fio's line, then what is wrong in our words.
    pub fn refuse(
        &mut self,
        origin: &Origin,
        line: impl Into<String>,
        problem: impl Into<String>,
    ) -> Rejected {
        self.messages.push(Message::stderr(line));
        self.refuse_in_our_words(origin, problem)
    }

    /// Refuses what fio takes, or says nothing of.
    pub fn refuse_in_our_words(&mut self, origin: &Origin, problem: impl Into<String>) -> Rejected {
        self.messages.push(Diagnostic::general(origin, problem).message());
        Rejected
    }

    /// A line on standard error that does not stop the run, unless warnings are fatal.
    pub fn warn(&mut self, line: impl Into<String>) {
        self.messages.push(Message::stderr(line));
        self.warned = true;
    }

    /// A line of ours: what has no effect, or another one than it seems.
    pub fn note(&mut self, line: impl Into<String>) {
        self.messages.push(Message::stderr(line));
    }

    /// A line that fio prints among those of its report.
    pub fn note_as_fio(&mut self, line: impl Into<String>) {
        self.messages.push(Message::stdout(line));
    }
}
