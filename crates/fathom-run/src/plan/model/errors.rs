//! Which errors do not end the job.

use serde::{Deserialize, Serialize};

/// What a worker does about errors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPlan {
    /// Of reads.
    pub reads: Tolerance,
    /// Of everything else that is done to files.
    pub writes: Tolerance,
    /// Data that is not what was written.
    pub checks: Tolerance,
    /// Errors that do not end the job are reported all the same.
    pub tells: bool,
}

/// Errors of one kind that do not end the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Those of the device and of the data.
    pub goes_on: bool,
    /// These numbers.
    pub errors: Vec<i32>,
}
