//! The `rados` engine and its options.

use crate::declare::options;
use crate::definition::Names;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "rados";

/// `ioengine=rados`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Ceph objects").built().on_server().with_options(TABLE);

options! {
    /// Options of the `rados` engine.
    pub struct RadosOptions in Engine, table TABLE;

    /// Cluster name, if it is not ceph
    Built Text clustername: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Pool of the objects
    Built Text pool: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Namespace of the pool
    Built Text namespace: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// User name, with or without the prefix client.; if unset, admin
    Built Text clientname: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Cluster configuration file; if unset, CEPH_CONF or the default one
    Built Text conf: Option<String>, { names: Names::ClientFile, engine: ENGINE };

    /// Poll for completions continuously
    Built Bool busy_poll: bool = "0", { engine: ENGINE };

    /// Set the length of objects to be written before the run; 0 leaves them unchanged
    Built Bool touch_objects: bool = "1", { engine: ENGINE };
}
