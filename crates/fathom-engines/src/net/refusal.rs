//! Errors of operations on servers.

use super::library::LibraryError;
use fathom_run::files::FileError;
use fathom_run::plan::WorkerPlan;
use fathom_sys::Errno;

/// An error number with a sentence for the user.
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

    /// The refusal for a library that is missing or incompatible.
    pub(crate) fn of_library(error: LibraryError) -> Refusal {
        Refusal::new(libc::ENOSYS, error.to_string())
    }

    /// A failed call.
    pub(crate) fn of(errno: Errno, what: &str, advice: &str) -> Refusal {
        Refusal { errno, sentence: format!("{what}: {errno}{advice}") }
    }

    /// Returns a refusal if the result of a call is negative (`-errno`).
    pub(crate) fn unless_done(result: i32, what: &str, advice: &str) -> Result<(), Refusal> {
        if result < 0 { Err(Refusal::of(Errno(-result), what, advice)) } else { Ok(()) }
    }

    /// Converts the refusal to an error of the job.
    pub(crate) fn of_job(self, plan: &WorkerPlan) -> FileError {
        let message = Some(format!("fathom: job {}: {}", plan.name, self.sentence));
        FileError { errno: self.errno.0, text: None, message }
    }
}
