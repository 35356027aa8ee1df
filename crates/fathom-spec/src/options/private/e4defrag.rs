//! Options of the `e4defrag` engine.

use crate::definition::{Bounds, options};

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "e4defrag";

options! {
    /// Options of the `e4defrag` engine.
    pub struct E4defragOptions at job.private.e4defrag, in Engine, table TABLE;

    /// Donor file, required
    Later Text donorname: Option<String>, { engine: ENGINE };

    /// 0 preallocate donor once, 1 per event
    Later Int inplace: Option<u32>, { bounds: Bounds::between(0.0, 1.0), engine: ENGINE };
}
