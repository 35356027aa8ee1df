//! The `mmap` engine and its options.

use crate::declare::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "mmap";

/// `ioengine=mmap`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "memory copies to and from a mapping of the file")
    .built()
    .synchronous()
    .maps_files()
    .with_options(TABLE);

options! {
    /// Options of the `mmap` engine.
    pub struct MmapOptions in Engine, table TABLE;

    /// Private mapping with advice to use huge pages
    Built Int thp: Option<u32>, { engine: ENGINE };
}
