//! Options of the `gfapi` and `gfapi_async` engines.

use crate::definition::options;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "gfapi";

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
