//! How much work a worker does, and its passes over the files.

use serde::{Deserialize, Serialize};

/// Limits besides the bytes of [`Amounts`](super::amounts::Amounts).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetPlan {
    /// Number of repetitions; at least 1.
    pub loops: u64,
    /// Number of I/Os in each loop, if limited.
    pub ios: Option<u64>,
    /// True if the job makes a single pass with no other limit; it may move more bytes than the files have.
    pub is_single_pass: bool,
    /// True if a pass ends after the bytes of `size`, or of a larger `io_size`, at any position.
    pub passes_end_by_size: bool,
    /// True if data between holes is traversed again until bytes moved plus bytes read back reach `size`.
    pub goes_again_through_holes: bool,
    /// True if every pass over the files repeats the first one.
    pub repeats_passes: bool,
}
