//! Jobs that keep their numbers of I/Os in proportion.

use serde::{Deserialize, Serialize};

/// The place of a worker in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowPlan {
    /// Which flow.
    pub id: u32,
    /// Its part of the I/Os, next to the weights of the others.
    pub weight: u64,
    /// How long it waits when it is ahead of the others, microseconds.
    pub pause_us: u64,
}
