//! The `gfapi` and `gfapi_async` engines and their options.

use crate::declare::options;
use crate::definition::Names;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "gfapi";

/// `ioengine=gfapi`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Gluster").built().synchronous().on_server().with_options(TABLE);

/// `ioengine=gfapi_async`
pub const ASYNCHRONOUS: EngineDef =
    EngineDef::new("gfapi_async", "Gluster, asynchronous").built().on_server().with_options(TABLE);

options! {
    /// Options of the `gfapi` and `gfapi_async` engines.
    pub struct GfapiOptions in Engine, table TABLE;

    /// Volume that holds the job's files
    Built Text volume: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// A server of the volume, HOST or HOST:PORT
    Built Text brick: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// One connection for all clones that are threads of one process (thread)
    Built Bool single_instance as "single-instance": bool, { engine: ENGINE };
}
