//! State shared between the thread that takes snapshots and those that deliver them.

use crate::Snapshot;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// State shared by the threads.
pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
    pub(crate) changed: Condvar,
    pub(crate) version: String,
    /// True if the run is repeated, so its last figures are not the end.
    pub(crate) repeats: bool,
}

/// The latest snapshot, and which readers have received it.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// Number of snapshots so far.
    pub(crate) number: u64,
    /// Number of times that endpoints have served the last figures of the run.
    pub(crate) reads_at_end: u32,
    /// Set when no more snapshots follow.
    pub(crate) closed: bool,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent even after a panic in a thread, because it is always replaced as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest snapshot, for an external reader.
    pub(crate) fn for_reader(&self) -> (Option<Arc<Snapshot>>, &str) {
        let mut state = self.state();
        let snapshot = state.snapshot.clone();
        if snapshot.as_ref().is_some_and(|snapshot| snapshot.is_last) {
            state.reads_at_end += 1;
            self.changed.notify_all();
        }
        (snapshot, &self.version)
    }
}
