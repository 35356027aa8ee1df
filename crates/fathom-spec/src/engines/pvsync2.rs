//! The `pvsync2` engine and its options.

use crate::declare::options;
use crate::definition::Bounds;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "pvsync2";

/// `ioengine=pvsync2`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "preadv2(2) and pwritev2(2) with flags")
    .built()
    .synchronous()
    .atomic_writes()
    .syncfs()
    .with_options(TABLE);

options! {
    /// Options of the `pvsync2` engine.
    pub struct Pvsync2Options in Engine, table TABLE;

    /// Poll the device for completions (RWF_HIPRI)
    Built Flag hipri: bool, { engine: ENGINE };

    /// Share of polled I/Os, in percent
    Built Int hipri_percentage: u32 = "100", { bounds: Bounds::between(0.0, 100.0), engine: ENGINE };

    /// Drop the pages of each buffered I/O from the page cache (RWF_DONTCACHE)
    Built Int uncached: Option<u32>, { engine: ENGINE };

    /// Fail an I/O instead of waiting for locks (RWF_NOWAIT)
    Built Bool nowait: bool, { engine: ENGINE };
}
