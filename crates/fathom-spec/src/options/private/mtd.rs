//! Options of the `mtd` engine.

use crate::definition::options;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "mtd";

options! {
    /// Options of the `mtd` engine.
    pub struct MtdOptions at job.private.mtd, in Engine, table TABLE;

    /// Skip bad blocks
    Later Bool skip_bad: bool = "0", { engine: ENGINE };
}
