//! The `libhipfile` engine and its options.

use crate::declare::{choices, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "libhipfile";

/// `ioengine=libhipfile`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "ROCm storage")
    .synchronous()
    .with_options(TABLE)
    .lacking("it needs an AMD GPU with its driver (amdgpu, ROCm) and the library libhipfile");

choices! {
    /// Path of the data.
    pub enum RocmIo {
        /// hipFile
        HipFile = "hipfile",
        /// POSIX calls and copies
        Posix = "posix",
    }
}

options! {
    /// Options of the `libhipfile` engine.
    pub struct LibhipfileOptions in Engine, table TABLE;

    /// GPU ids, separated by colons, distributed to the clones
    Later Text gpu_dev_ids: Option<String>, { engine: ENGINE };

    /// hipFile or POSIX with copies
    Later Choice rocm_io: RocmIo = "hipfile", { choices: RocmIo::CHOICES, engine: ENGINE };
}
