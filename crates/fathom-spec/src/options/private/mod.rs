//! Options of the built-in profiles.

use crate::definition::OptionDef;

pub mod act;
pub mod tiobench;

/// The options of the built-in profiles.
pub fn of_profiles() -> [&'static [OptionDef]; 2] {
    [act::TABLE, tiobench::TABLE]
}
