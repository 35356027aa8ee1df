//! Queuing of I/Os, and what an I/O waits for before it is issued.

use serde::{Deserialize, Serialize};

/// The queue of a worker; its depth is that of the [`WorkerPlan`](super::WorkerPlan).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlan {
    /// I/Os submitted together.
    pub submit: u32,
    /// Completions to wait for when no more I/Os can be issued.
    pub complete_min: u32,
    /// Maximum number of completions per reap.
    pub complete_max: u32,
    /// The queue is drained to this depth before it is refilled.
    pub low: u32,
    /// The queue is refilled after each completion, not after the whole reap.
    pub tops_up: bool,
    /// More than one I/O in flight was requested from an engine that the worker calls synchronously.
    pub is_deep: bool,
    /// I/O is passed to threads that call the engine.
    pub offloads: bool,
    /// An I/O waits for overlapping ones in flight.
    pub serializes_overlap: bool,
}
