//! The `xnvme` engine and its options.

use super::io_uring::PiCheck;
use crate::declare::options;
use crate::engines::EngineDef;
use crate::value::WordList;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "xnvme";

/// `ioengine=xnvme`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "NVMe through xNVMe").places_data().with_options(TABLE).lacking(
        "it needs the library xNVMe, which distributions do not have, and to do more than io_uring and io_uring_cmd, an NVMe device detached \
         from the kernel (SPDK)",
    );

options! {
    /// Options of the `xnvme` engine.
    pub struct XnvmeOptions in Engine, table TABLE;

    /// Polled completions
    Later Flag hipri: bool, { engine: ENGINE };

    /// Kernel submission thread
    Later Flag sqthread_poll: bool, { engine: ENGINE };

    /// Backend
    Later Text xnvme_be: Option<String>, { engine: ENGINE };

    /// Memory backend
    Later Text xnvme_mem: Option<String>, { engine: ENGINE };

    /// Async interface
    Later Text xnvme_async: Option<String>, { engine: ENGINE };

    /// Sync interface
    Later Text xnvme_sync: Option<String>, { engine: ENGINE };

    /// Admin interface
    Later Text xnvme_admin: Option<String>, { engine: ENGINE };

    /// Namespace id
    Later Int xnvme_dev_nsid: Option<u32>, { engine: ENGINE };

    /// Subsystem NQN
    Later Text xnvme_dev_subnqn: Option<String>, { engine: ENGINE };

    /// Vectored commands
    Later Flag xnvme_iovec: bool, { engine: ENGINE };

    /// Metadata bytes per I/O
    Later Int md_per_io_size: u32 = "0", { engine: ENGINE };

    /// PRACT bit
    Later Bool pi_act: bool = "1", { engine: ENGINE };

    /// Fields to check, separated by commas: GUARD, REFTAG, APPTAG
    Later Choice pi_chk: Option<WordList<PiCheck>>, { choices: PiCheck::CHOICES, engine: ENGINE };

    /// Application tag
    Later Int apptag: u32 = "0x1234", { engine: ENGINE };

    /// Application tag mask
    Later Int apptag_mask: u32 = "0xffff", { engine: ENGINE };
}
