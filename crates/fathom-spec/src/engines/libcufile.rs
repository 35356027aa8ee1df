//! The `libcufile` engine and its options.

use crate::declare::{choices, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "libcufile";

/// `ioengine=libcufile`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "GPUDirect storage").synchronous().with_options(TABLE).lacking(
        "it needs an NVIDIA GPU with GPUDirect Storage, its driver and the proprietary library libcufile",
    );

choices! {
    /// Path of the data.
    pub enum CudaIo {
        /// cuFile
        CuFile = "cufile",
        /// POSIX calls and copies
        Posix = "posix",
    }
}

options! {
    /// Options of the `libcufile` engine.
    pub struct LibcufileOptions in Engine, table TABLE;

    /// GPU ids, separated by colons, distributed to the clones
    Later Text gpu_dev_ids: Option<String>, { engine: ENGINE };

    /// cuFile or POSIX with copies
    Later Choice cuda_io: CudaIo = "cufile", { choices: CudaIo::CHOICES, engine: ENGINE };
}
