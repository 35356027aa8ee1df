//! The amount of work of a worker, and its passes over the files.

use serde::{Deserialize, Serialize};

/// Limits besides the bytes of [`Amounts`](super::amounts::Amounts).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetPlan {
    /// Number of repetitions; at least 1.
    pub loops: u64,
    /// I/Os of each loop, if limited.
    pub ios: Option<u64>,
    /// There is a single pass with no other limit; it may move more bytes than the files have.
    pub is_single_pass: bool,
    /// A pass ends after the bytes of `size`, or of a larger `io_size`, at any position.
    pub passes_end_by_size: bool,
    /// Data between holes is traversed again until bytes moved plus bytes read back reach `size`.
    pub goes_again_through_holes: bool,
    /// Every pass over the files repeats the first one.
    pub repeats_passes: bool,
}
