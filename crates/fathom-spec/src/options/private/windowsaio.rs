//! Options of the `windowsaio` engine.

use crate::definition::options;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "windowsaio";

options! {
    /// Options of the `windowsaio` engine.
    pub struct WindowsaioOptions at job.private.windowsaio, in Engine, table TABLE;

    /// Reap completions in the job
    Later Flag no_completion_thread: bool, { engine: ENGINE };
}
