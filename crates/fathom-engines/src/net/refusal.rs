//! Why something on a server is not to be had.

use super::library::LibraryError;
use fathom_run::files::FileError;
use fathom_run::plan::WorkerPlan;
use fathom_sys::Errno;

/// An error with a sentence for whoever reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) errno: Errno,
    /// One sentence.
    pub(crate) sentence: String,
}

impl Refusal {
    pub(crate) fn new(errno: i32, sentence: impl Into<String>) -> Refusal {
        Refusal { errno: Errno(errno), sentence: sentence.into() }
    }

    /// A library that is not there, or not as it has to be.
    pub(crate) fn of_library(error: LibraryError) -> Refusal {
        Refusal::new(libc::ENOSYS, error.to_string())
    }

    /// Of a call that gave an error.
    pub(crate) fn of(errno: Errno, what: &str, advice: &str) -> Refusal {
        Refusal { errno, sentence: format!("{what}: {errno}{advice}") }
    }

    /// The same, if a call gave a negative number, `-errno`.
    pub(crate) fn unless_done(result: i32, what: &str, advice: &str) -> Result<(), Refusal> {
        if result < 0 { Err(Refusal::of(Errno(-result), what, advice)) } else { Ok(()) }
    }

    /// As the job reports it.
    pub(crate) fn of_job(self, plan: &WorkerPlan) -> FileError {
        let message = Some(format!("fathom: job {}: {}", plan.name, self.sentence));
        FileError { errno: self.errno.0, text: None, message }
    }
}
