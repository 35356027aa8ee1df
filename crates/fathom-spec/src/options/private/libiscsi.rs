//! Options of the `libiscsi` engine.

use crate::definition::options;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "libiscsi";

options! {
    /// Options of the `libiscsi` engine.
    pub struct LibiscsiOptions at job.private.libiscsi, in Engine, table TABLE;

    /// Initiator name
    Later Text initiator: String = "iqn.2019-04.org.fio:fio", { engine: ENGINE };
}
