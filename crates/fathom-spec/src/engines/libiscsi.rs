//! The `libiscsi` engine and its options.

use crate::definition::options;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "libiscsi";

/// `ioengine=libiscsi`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "iSCSI through libiscsi").on_volume().with_options(TABLE);

options! {
    /// Options of the `libiscsi` engine.
    pub struct LibiscsiOptions at job.private.libiscsi, in Engine, table TABLE;

    /// Initiator name
    Later Text initiator: String = "iqn.2019-04.org.fio:fio", { engine: ENGINE };
}
