//! The `nbd` engine and its options.

use crate::definition::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "nbd";

/// `ioengine=nbd`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "network block device").on_server().with_options(TABLE);

options! {
    /// Options of the `nbd` engine.
    pub struct NbdOptions at job.private.nbd, in Engine, table TABLE;

    /// NBD URI
    Later Text uri: Option<String>, { engine: ENGINE };
}
