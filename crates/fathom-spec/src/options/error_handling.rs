//! Error handling.

use crate::declare::options;
use crate::definition::Names;
use crate::value::{ContinueOnError, IgnoreErrors};

options! {
    /// Error handling.
    pub struct ErrorHandlingOptions in ErrorHandling, table TABLE;

    /// End all jobs when this one fails
    Built Flag exitall_on_error: bool;

    /// Types of errors after which the job continues
    ///
    /// Only I/O errors and verification errors; a full disk always ends the job.
    Built Choice continue_on_error: ContinueOnError = "none", { choices: ContinueOnError::CHOICES };

    /// Errors to ignore, by name or number
    ///
    /// Separated by colons; commas separate the lists for reads, writes and verification.
    Built Text ignore_error: Option<IgnoreErrors>, { names: Names::Nothing, parent: Some("rw") };

    /// Print each ignored error
    Built Bool error_dump: bool = "0";
}
