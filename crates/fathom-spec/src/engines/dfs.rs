//! The `dfs` engine and its options.

use crate::declare::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "dfs";

/// `ioengine=dfs`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "DAOS file system")
    .on_server()
    .with_options(TABLE)
    .lacking("it needs a DAOS server, which needs dedicated persistent memory or NVMe devices, and the library libdfs");

options! {
    /// Options of the `dfs` engine.
    pub struct DfsOptions in Engine, table TABLE;

    /// DAOS pool (label or UUID), required
    Later Text pool: Option<String>, { engine: ENGINE };

    /// DAOS container, required
    Later Text cont: Option<String>, { engine: ENGINE };

    /// Chunk size, 0 = container default
    Later Size chunk_size: u64 = "0", { engine: ENGINE };

    /// Object class name
    Later Text object_class: Option<String>, { engine: ENGINE };

    /// Pool service replica list
    Later Text svcl: Option<String>, { engine: ENGINE };
}
