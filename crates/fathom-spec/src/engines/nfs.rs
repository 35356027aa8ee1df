//! The `nfs` engine and its options.

use crate::declare::options;
use crate::definition::{Bounds, Names};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "nfs";

/// `ioengine=nfs`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "NFS through libnfs").built().on_server().with_options(TABLE);

options! {
    /// Options of the `nfs` engine.
    pub struct NfsOptions in Engine, table TABLE;

    /// Folder of the job's files, such as nfs://server/export/folder; required
    ///
    /// libnfs parameters follow a question mark: nfsport=, mountport=, uid=, gid=, autoreconnect=.
    Built Text nfs_url: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Number of connections to the server
    Built Int nconnect: u32 = "1", { bounds: Bounds::between(1.0, 64.0), engine: ENGINE };
}
