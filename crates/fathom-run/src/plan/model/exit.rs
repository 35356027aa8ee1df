//! What the end of a job does to others.

use fathom_spec::options::threads::ExitWhat;
use serde::{Deserialize, Serialize};

/// Dependencies between ends of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitPlan {
    /// Jobs that end with it.
    pub ends: Option<ExitWhat>,
    /// If it fails, all others end.
    pub ends_all_by_failing: bool,
}
