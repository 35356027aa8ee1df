//! The `rados` engine and its options.

use crate::definition::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "rados";

/// `ioengine=rados`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "Ceph objects").on_server().with_options(TABLE);

options! {
    /// Options of the `rados` engine.
    pub struct RadosOptions at job.private.rados, in Engine, table TABLE;

    /// Ceph cluster
    Later Text clustername: Option<String>, { engine: ENGINE };

    /// Pool
    Later Text pool: Option<String>, { engine: ENGINE };

    /// Ceph user
    Later Text clientname: Option<String>, { engine: ENGINE };

    /// Config file
    Later Text conf: String = "/etc/ceph/ceph.conf", { engine: ENGINE };

    /// Poll for completions
    Later Bool busy_poll: bool = "0", { engine: ENGINE };

    /// Create objects first
    Later Bool touch_objects: bool = "1", { engine: ENGINE };
}
