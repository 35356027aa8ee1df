//! What the thread that takes snapshots and those that bring them to their places share.

use crate::Snapshot;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What the threads share.
pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
    pub(crate) changed: Condvar,
    pub(crate) version: String,
    /// The run is repeated, so that last figures are not the end.
    pub(crate) repeats: bool,
}

/// The newest snapshot, and who has had it.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// How many snapshots there were.
    pub(crate) number: u64,
    /// How often the last figures of the run have been read at an endpoint.
    pub(crate) read_at_end: bool,
    /// No snapshot follows.
    pub(crate) closed: bool,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked left nothing half done: the state is replaced whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest snapshot for a reader from outside.
    pub(crate) fn for_reader(&self) -> (Option<Arc<Snapshot>>, &str) {
        let mut state = self.state();
        let snapshot = state.snapshot.clone();
        if snapshot.as_ref().is_some_and(|snapshot| snapshot.is_last) {
            state.read_at_end = true;
            self.changed.notify_all();
        }
        (snapshot, &self.version)
    }
}
