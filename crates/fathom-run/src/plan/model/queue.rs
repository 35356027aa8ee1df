//! How I/Os are queued, and what one waits for before it is issued.

use serde::{Deserialize, Serialize};

/// The queue of a worker; its depth is that of the [`WorkerPlan`](super::WorkerPlan).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlan {
    /// I/Os that are handed over together.
    pub submit: u32,
    /// Ends to wait for at least when no more can be issued.
    pub complete_min: u32,
    /// Ends to take at once at most.
    pub complete_max: u32,
    /// I/Os in flight down to which ends are waited for before the queue is filled again.
    pub low: u32,
    /// The queue is topped up after each end that is taken, not after the last.
    pub tops_up: bool,
    /// More than one I/O at a time was asked for, of an engine called by the worker itself.
    pub is_deep: bool,
    /// I/O is handed to threads that call the engine.
    pub offloads: bool,
    /// An I/O waits for those in flight that it overlaps.
    pub serializes_overlap: bool,
}
