//! When what was written must be on the device.

use serde::{Deserialize, Serialize};

/// The syncs and barriers of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncPlan {
    /// Writes after which the file is synced; 0: never.
    pub sync_every: u64,
    /// Writes after which the file's data is synced; 0: never.
    pub data_sync_every: u64,
    /// Writes after which the range written is synced; 0: never.
    pub range_sync_every: u64,
    /// Every Nth write waits for all before it and holds back all after it; 0: none does.
    pub barrier_every: u64,
    /// A file is synced before it is closed.
    pub at_close: bool,
    /// What is synced when all is written.
    pub at_end: Option<FinalSync>,
}

/// What is synced at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinalSync {
    /// The files.
    Files,
    /// The file systems that they lie on.
    FileSystems,
}
