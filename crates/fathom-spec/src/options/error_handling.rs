//! What happens when an I/O fails.

use crate::definition::options;
use crate::value::{ContinueOnError, IgnoreErrors};

options! {
    /// What happens when an I/O fails.
    pub struct ErrorHandlingOptions at job.error_handling, in ErrorHandling, table TABLE;

    /// End all jobs when this one fails
    Built Flag exitall_on_error: bool;

    /// Which failures the job survives
    ///
    /// Only I/O errors and data that does not match; a full disk always ends the job.
    Built Choice continue_on_error: ContinueOnError = "none", { choices: ContinueOnError::CHOICES };

    /// Errors the job survives, by name or number
    ///
    /// Separated by colons; lists for reads, writes and verification are separated by commas.
    Built Text ignore_error: Option<IgnoreErrors>, { parent: Some("rw") };

    /// Show each error that the job survives
    Built Bool error_dump: bool = "0";
}
