//! The `gfapi` and `gfapi_async` engines and their options.

use crate::definition::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "gfapi";

/// `ioengine=gfapi`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Gluster").synchronous().on_server().with_options(TABLE);

/// `ioengine=gfapi_async`
pub const ASYNCHRONOUS: EngineDef =
    EngineDef::new("gfapi_async", "Gluster, asynchronous").on_server().with_options(TABLE);

options! {
    /// Options of the `gfapi` and `gfapi_async` engines.
    pub struct GfapiOptions at job.private.gfapi, in Engine, table TABLE;

    /// Gluster volume
    Later Text volume: Option<String>, { engine: ENGINE };

    /// Gluster host
    Later Text brick: Option<String>, { engine: ENGINE };

    /// One connection for all jobs
    Later Bool single_instance as "single-instance": bool, { engine: ENGINE };
}
