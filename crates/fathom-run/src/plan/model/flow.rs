//! Jobs whose numbers of I/Os are kept in proportion.

use serde::{Deserialize, Serialize};

/// A worker's share in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowPlan {
    /// Identifier of the flow.
    pub id: u32,
    /// Its weight, relative to the other members.
    pub weight: u64,
    /// Time that it waits while it is ahead of the others, microseconds.
    pub pause_us: u64,
}
