//! The `rbd` engine and its options.

use crate::definition::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "rbd";

/// `ioengine=rbd`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Ceph block devices").on_volume().with_options(TABLE);

options! {
    /// Options of the `rbd` engine.
    pub struct RbdOptions at job.private.rbd, in Engine, table TABLE;

    /// Ceph cluster
    Later Text clustername: Option<String>, { engine: ENGINE };

    /// Image
    Later Text rbdname: Option<String>, { engine: ENGINE };

    /// Pool
    Later Text pool: Option<String>, { engine: ENGINE };

    /// Ceph user
    Later Text clientname: Option<String>, { engine: ENGINE };

    /// Poll for completions
    Later Bool busy_poll: bool = "0", { engine: ENGINE };

    /// luks1 or luks2
    Later Text rbd_encryption_format: Option<String>, { engine: ENGINE };

    /// Passphrase
    Later Text rbd_encryption_passphrase: Option<String>, { engine: ENGINE };
}
