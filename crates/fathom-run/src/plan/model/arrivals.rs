//! I/Os that are due by a schedule (`open_loop`).

use fathom_spec::value::ArrivalProcess;
use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// The schedule of a clone's I/Os.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsPlan {
    /// Mean I/Os per second, by direction; `None` for a log, whose entries have their own times.
    pub per_second: PerDirection<Option<f64>>,
    /// Distribution of the arrivals.
    pub process: ArrivalProcess,
    /// Mixed reads and writes: each is due by its own rate, whatever the shares of the mix.
    pub is_mix: bool,
    /// Spin during the last stretch before an I/O is due.
    pub spins: bool,
}
