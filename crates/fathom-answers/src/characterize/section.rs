//! A part of the text about a load.

use crate::table::Table;

/// A heading, facts with their labels, and a table.
pub(super) struct Section {
    pub(super) heading: &'static str,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) table: Option<Table>,
}
