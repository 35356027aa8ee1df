//! Options of the `nbd` engine.

use crate::definition::options;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "nbd";

options! {
    /// Options of the `nbd` engine.
    pub struct NbdOptions at job.private.nbd, in Engine, table TABLE;

    /// NBD URI
    Later Text uri: Option<String>, { engine: ENGINE };
}
