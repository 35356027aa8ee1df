//! The `filestat` and `dirstat` engines and their options.

use crate::definition::{choices, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "filestat";

/// `ioengine=filestat`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "stats files").synchronous().with_options(TABLE);

/// `ioengine=dirstat`
pub const DIRECTORIES: EngineDef =
    EngineDef::new("dirstat", "stats directories").synchronous().with_options(TABLE);

choices! {
    /// System call to measure.
    pub enum StatType {
        /// stat(2)
        Stat = "stat",
        /// lstat(2)
        Lstat = "lstat",
        /// statx(2)
        Statx = "statx",
    }
}

options! {
    /// Options of the `filestat` and `dirstat` engines.
    pub struct FilestatOptions at job.private.filestat, in Engine, table TABLE;

    /// System call to measure
    Later Choice stat_type: StatType = "stat", { choices: StatType::CHOICES, engine: ENGINE };
}
