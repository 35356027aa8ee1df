//! How I/Os are queued, and what an I/O waits for before it is issued.

use serde::{Deserialize, Serialize};

/// The queue of a worker; its depth is in [`WorkerPlan`](super::WorkerPlan).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlan {
    /// I/Os submitted together.
    pub submit: u32,
    /// Number of completions to wait for when no more I/Os can be issued.
    pub complete_min: u32,
    /// Maximum number of completions per reap.
    pub complete_max: u32,
    /// Depth to which the queue is drained before it is refilled.
    pub low: u32,
    /// True if the queue is refilled after each completion instead of after the whole reap.
    pub tops_up: bool,
    /// True if the job asks for more than one I/O in flight, but its engine completes each call synchronously.
    pub is_deep: bool,
    /// True if I/Os are passed to threads that call the engine.
    pub offloads: bool,
    /// True if an I/O waits for overlapping ones in flight.
    pub serializes_overlap: bool,
}
