//! The `mtd` engine and its options.

use crate::definition::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "mtd";

/// `ioengine=mtd`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "flash memory character devices").synchronous().with_options(TABLE);

options! {
    /// Options of the `mtd` engine.
    pub struct MtdOptions at job.private.mtd, in Engine, table TABLE;

    /// Skip bad blocks
    Later Bool skip_bad: bool = "0", { engine: ENGINE };
}
