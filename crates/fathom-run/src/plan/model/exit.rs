//! How the end of a job affects other jobs.

use fathom_spec::options::threads::ExitWhat;
use serde::{Deserialize, Serialize};

/// Dependencies between the ends of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitPlan {
    /// Jobs that end when this one does.
    pub ends: Option<ExitWhat>,
    /// True if all other jobs end when this one fails.
    pub ends_all_by_failing: bool,
}
