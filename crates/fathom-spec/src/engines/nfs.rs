//! The `nfs` engine and its options.

use crate::definition::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "nfs";

/// `ioengine=nfs`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "NFS through libnfs").on_server().with_options(TABLE);

options! {
    /// Options of the `nfs` engine.
    pub struct NfsOptions at job.private.nfs, in Engine, table TABLE;

    /// libnfs URL, required
    Later Text nfs_url: Option<String>, { engine: ENGINE };
}
