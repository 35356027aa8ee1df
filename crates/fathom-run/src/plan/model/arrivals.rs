//! Scheduled start times of I/Os (`open_loop`).

use fathom_spec::value::ArrivalProcess;
use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// The schedule of a clone's I/Os.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsPlan {
    /// Mean I/Os per second in each direction; `None` for a replayed log, whose entries carry their own times.
    pub per_second: PerDirection<Option<f64>>,
    /// Distribution of the times between arrivals.
    pub process: ArrivalProcess,
    /// In mixed reads and writes, each direction is scheduled at its own rate, regardless of the shares of the
    /// mix.
    pub is_mix: bool,
    /// True if the worker busy-waits for the last moments before an I/O is due.
    pub spins: bool,
}
