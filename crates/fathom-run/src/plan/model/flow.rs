//! Flows: jobs whose I/O counts are kept in proportion.

use serde::{Deserialize, Serialize};

/// A worker's membership in a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowPlan {
    /// Identifier of the flow.
    pub id: u32,
    /// Weight of the worker relative to the other members.
    pub weight: u64,
    /// Time that the worker waits while it is ahead of the others, microseconds.
    pub pause_us: u64,
}
