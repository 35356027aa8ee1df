//! Options of the `nfs` engine.

use crate::definition::options;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "nfs";

options! {
    /// Options of the `nfs` engine.
    pub struct NfsOptions at job.private.nfs, in Engine, table TABLE;

    /// libnfs URL, required
    Later Text nfs_url: Option<String>, { engine: ENGINE };
}
