//! I/Os that are due by a schedule alone (`open_loop`).

use fathom_spec::value::ArrivalProcess;
use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// When the I/Os of a clone are due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrivalsPlan {
    /// I/Os in a second on average, per direction; none for what comes from a log, whose entries have times of their own.
    pub per_second: PerDirection<Option<f64>>,
    /// How they are spread.
    pub process: ArrivalProcess,
    /// Reads and writes by chance: each is due by its own rate, whatever the shares of the mix.
    pub is_mix: bool,
    /// The last stretch before an I/O is due is waited for awake.
    pub spins: bool,
}
