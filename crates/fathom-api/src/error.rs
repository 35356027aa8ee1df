//! Errors: one type per step, and one for all of them.

use fathom_errors::plain;
use fathom_results::ReadError;
use fathom_run::plan::PlanError;
use fathom_spec::mistakes::Mistake;
use std::fmt;
use std::io;
use std::process::ExitStatus;
use thiserror::Error;

/// An error of any step, for `?`.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The text of the jobs.
    #[error(transparent)]
    Jobs(#[from] JobsError),
    /// Planning them.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Running them.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Reading a result.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Errors in the text of jobs; displayed as one line per mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobsError {
    /// The mistakes in text order; never empty.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for JobsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Mistake { line, text }) in self.mistakes.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            match line {
                Some(line) => write!(formatter, "{separator}line {line}: {text}")?,
                None => write!(formatter, "{separator}{text}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for JobsError {}

/// The reason for which a run has no outcome. A failed job is not such a reason: its error is in the result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The process of the run could not be started, or the plan could not be sent to it.
    #[error("the process of the run cannot be started: {error}", error = plain(.0))]
    Process(io::Error),
    /// The system denied something that the run needs; nothing was run.
    #[error("{0}")]
    NotStarted(String),
    /// The process of the run ended without an outcome.
    #[error("the process of the run ended without a result ({0}); call Runner::begin() first in main()")]
    Lost(ExitStatus),
    /// A bug in fathom ended the run or one of its jobs, so no figure can be trusted.
    #[error("{0}")]
    Defect(String),
    /// The run cannot be judged, or its result cannot be read.
    #[error(transparent)]
    Result(#[from] ReadError),
}
