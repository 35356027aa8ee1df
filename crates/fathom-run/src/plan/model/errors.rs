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
    /// Tolerated errors are still reported.
    pub tells: bool,
}

/// Tolerated errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Tolerate errors of the device and of the data.
    pub goes_on: bool,
    /// Tolerate these errnos.
    pub errors: Vec<i32>,
}
