//! The amount of work of a worker, and its passes over the files.

use serde::{Deserialize, Serialize};

/// Limits besides the bytes of [`Amounts`](super::amounts::Amounts).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetPlan {
    /// Number of repetitions; at least 1.
    pub loops: u64,
    /// I/Os of each loop, if limited.
    pub ios: Option<u64>,
    /// There is a single pass, which may move more bytes than the files have, and nothing else ends it.
    pub is_single_pass: bool,
    /// A pass ends after the bytes of `size`, or of a larger `io_size`, wherever the targets are then.
    pub passes_end_by_size: bool,
    /// Data between holes is gone through again until the bytes moved and read back reach `size`.
    pub goes_again_through_holes: bool,
    /// Each pass over the files repeats the first.
    pub repeats_passes: bool,
}
