//! I/Os that are due by a schedule (`open_loop`).

use fathom_spec::value::ArrivalProcess;
use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// The schedule of a clone's I/Os.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsPlan {
    /// Mean I/Os per second in each direction; `None` for a replayed log, whose entries have times.
    pub per_second: PerDirection<Option<f64>>,
    /// Distribution of the arrivals.
    pub process: ArrivalProcess,
    /// Mixed reads and writes: each direction is due at its own rate, whatever the shares of the mix.
    pub is_mix: bool,
    /// Busy-wait for the last moments before an I/O is due.
    pub spins: bool,
}
