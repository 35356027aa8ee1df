//! What runs the tasks of a client, on the thread that has it, only while that thread waits for them.

use super::endpoint::Failure;
use std::future::Future;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// A runtime of one thread, and its tasks, which end first.
pub(super) struct Driver {
    tasks: LocalSet,
    runtime: Runtime,
}

impl Driver {
    pub(super) fn new() -> Result<Driver, Failure> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(|error| {
            Failure::new(error.raw_os_error().unwrap_or(libc::EIO), format!("no event loop: {error}"))
        })?;
        Ok(Driver { tasks: LocalSet::new(), runtime })
    }

    /// Lets tasks run until this one has ended.
    pub(super) fn wait_for<T>(&self, task: impl Future<Output = T>) -> T {
        self.tasks.block_on(&self.runtime, task)
    }

    /// Adds a task, which runs when the thread next waits.
    pub(super) fn begin(&self, task: impl Future<Output = ()> + 'static) {
        self.tasks.spawn_local(task);
    }
}
