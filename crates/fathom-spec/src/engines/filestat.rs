//! The options of the `filestat` and `dirstat` engines.

use crate::declare::{choices, options};

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "filestat";

choices! {
    /// System call to measure.
    pub enum StatType {
        /// stat(2)
        Stat = "stat",
        /// lstat(2): a link itself, not its target
        Lstat = "lstat",
        /// statx(2)
        Statx = "statx",
    }
}

options! {
    /// Options of the `filestat` and `dirstat` engines.
    pub struct FilestatOptions in Engine, table TABLE;

    /// System call to measure
    Built Choice stat_type: StatType = "stat", { choices: StatType::CHOICES, engine: ENGINE };
}
