//! Options of the `mmap` engine.

use crate::definition::options;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "mmap";

options! {
    /// Options of the `mmap` engine.
    pub struct MmapOptions at job.private.mmap, in Engine, table TABLE;

    /// Private mapping with advice to use huge pages
    Built Int thp: Option<u32>, { engine: ENGINE };
}
