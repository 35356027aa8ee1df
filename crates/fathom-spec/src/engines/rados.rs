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

    /// Cluster, if it is not called ceph
    Built Text clustername: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Pool of the objects
    Built Text pool: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Namespace of the pool
    Built Text namespace: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// User name, with or without the prefix client.; if unset, admin
    Built Text clientname: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Cluster configuration file; if unset, CEPH_CONF or the default one
    Built Text conf: Option<String>, { names: Names::ClientFile, engine: ENGINE };

    /// Looks for completions without a pause
    Built Bool busy_poll: bool = "0", { engine: ENGINE };

    /// Gives objects that are written their length before the run; 0 leaves them as they are
    Built Bool touch_objects: bool = "1", { engine: ENGINE };
}
