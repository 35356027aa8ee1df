//! The `windowsaio` engine and its options.

use crate::declare::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "windowsaio";

/// `ioengine=windowsaio`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Windows native asynchronous I/O").with_options(TABLE);

options! {
    /// Options of the `windowsaio` engine.
    pub struct WindowsaioOptions in Engine, table TABLE;

    /// Reap completions in the job
    Later Flag no_completion_thread: bool, { engine: ENGINE };
}
