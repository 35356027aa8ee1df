//! How much a worker does, and in how many passes over its files.

use serde::{Deserialize, Serialize};

/// What there is to do beside the bytes of [`Amounts`](super::amounts::Amounts).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetPlan {
    /// How often everything is done; at least 1.
    pub loops: u64,
    /// I/Os of each loop, if their number is limited.
    pub ios: Option<u64>,
    /// There is one pass, which may move more than the files have bytes, and nothing else ends it.
    pub is_single_pass: bool,
    /// A pass over the files ends with the bytes of `size`, or those of a larger `io_size`, wherever the targets are then.
    pub passes_end_by_size: bool,
    /// What lies between holes is gone through again until what was moved and read back is as much as `size`.
    pub goes_again_through_holes: bool,
    /// Each pass over the files repeats the first.
    pub repeats_passes: bool,
}
