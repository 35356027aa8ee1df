//! The `e4defrag` engine and its options.

use crate::definition::{Bounds, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "e4defrag";

/// `ioengine=e4defrag`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "moves ext4 extents").synchronous().with_options(TABLE);

options! {
    /// Options of the `e4defrag` engine.
    pub struct E4defragOptions at job.private.e4defrag, in Engine, table TABLE;

    /// Donor file, required
    Later Text donorname: Option<String>, { engine: ENGINE };

    /// 0 preallocate donor once, 1 per event
    Later Int inplace: Option<u32>, { bounds: Bounds::between(0.0, 1.0), engine: ENGINE };
}
