//! What the end of a job does to others.

use fathom_spec::options::threads::ExitWhat;
use serde::{Deserialize, Serialize};

/// Dependencies between the ends of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitPlan {
    /// Jobs that end when this one does.
    pub ends: Option<ExitWhat>,
    /// If this job fails, all others end.
    pub ends_all_by_failing: bool,
}
