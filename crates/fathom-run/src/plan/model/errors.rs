//! Errors that do not end the job.

use serde::{Deserialize, Serialize};

/// Error tolerance of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPlan {
    /// Errors of reads.
    pub reads: Tolerance,
    /// Errors of all other operations on files.
    pub writes: Tolerance,
    /// Verification errors.
    pub checks: Tolerance,
    /// Whether tolerated errors are still reported.
    pub tells: bool,
}

/// Tolerated errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Tolerate device errors and data errors.
    pub goes_on: bool,
    /// Tolerate the listed errnos.
    pub errors: Vec<i32>,
}
