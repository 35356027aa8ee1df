//! What the end of a job means to others.

use fathom_spec::options::threads::ExitWhat;
use serde::{Deserialize, Serialize};

/// How the ends of jobs hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitPlan {
    /// Jobs that end when it ends.
    pub ends: Option<ExitWhat>,
    /// All others end when it fails.
    pub ends_all_by_failing: bool,
}
