//! Errors that do not end the job.

use serde::{Deserialize, Serialize};

/// Error tolerance of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPlan {
    /// Tolerance for errors of reads.
    pub reads: Tolerance,
    /// Tolerance for errors of all other operations on files.
    pub writes: Tolerance,
    /// Verification errors.
    pub checks: Tolerance,
    /// True if tolerated errors are still reported.
    pub tells: bool,
}

/// Tolerated errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerance {
    /// True if device errors and data errors are tolerated.
    pub goes_on: bool,
    /// Further errnos to tolerate.
    pub errors: Vec<i32>,
}
