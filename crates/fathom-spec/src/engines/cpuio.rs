//! The `cpuio` engine and its options.

use crate::definition::{choices, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "cpuio";

/// `ioengine=cpuio`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "burns CPU time")
    .built()
    .synchronous()
    .without_files()
    .without_data()
    .with_options(TABLE);

choices! {
    /// How to keep the CPU busy.
    pub enum CpuMode {
        /// Counting
        Noop = "noop",
        /// Sorting
        Qsort = "qsort",
    }
}

options! {
    /// Options of the `cpuio` engine.
    pub struct CpuioOptions at job.private.cpuio, in Engine, table TABLE;

    /// CPU load in percent (required)
    Built Int cpuload: Option<u32>, { engine: ENGINE };

    /// Kind of CPU stress
    Built Choice cpumode: CpuMode = "noop", { choices: CpuMode::CHOICES, engine: ENGINE };

    /// Length of a burn cycle in microseconds
    Built Int cpuchunks: u32 = "50000", { parent: Some("cpuload"), engine: ENGINE };

    /// Stop when all jobs that do I/O have ended
    Built Bool exit_on_io_done: bool = "0", { engine: ENGINE };
}
