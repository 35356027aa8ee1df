//! Rules for syncing written data to the device.

use serde::{Deserialize, Serialize};

/// The syncs and write barriers of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncPlan {
    /// Number of writes between two fsyncs; 0 for none.
    pub sync_every: u64,
    /// Number of writes between two fdatasyncs; 0 for none.
    pub data_sync_every: u64,
    /// Number of writes between two sync_file_range calls on the written range; 0 for none.
    pub range_sync_every: u64,
    /// Every Nth write is a barrier: it waits for all writes before it and delays all writes after it; 0 for none.
    pub barrier_every: u64,
    /// True if a file is synced before it is closed.
    pub at_close: bool,
    /// The sync at the end of the job, if any.
    pub at_end: Option<FinalSync>,
}

/// Scope of the final sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinalSync {
    /// The files.
    Files,
    /// Syncs the file systems that hold the files.
    FileSystems,
}
