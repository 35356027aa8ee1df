//! What happens when an I/O fails.

use crate::definition::options;
use crate::value::{ContinueOnError, IgnoreErrors};

options! {
    /// What happens when an I/O fails.
    pub struct ErrorHandlingOptions at job.error_handling, in ErrorHandling, table TABLE;

    /// End all jobs when one fails
    Built Flag exitall_on_error: bool;

    /// Which failures do not end the job
    Built Choice continue_on_error: ContinueOnError = "none", { choices: ContinueOnError::CHOICES };

    /// Error names or numbers ignored for read,write,verify, colon separated
    Built Text ignore_error: Option<IgnoreErrors>, { parent: Some("rw") };

    /// Show details of non fatal errors
    Built Bool error_dump: bool = "0";
}
