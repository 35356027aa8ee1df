//! The `libblkio` engine and its options.

use crate::declare::{choices, options};
use crate::definition::Bounds;
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "libblkio";

/// `ioengine=libblkio`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "block devices through libblkio").one_thread().with_options(TABLE).lacking(
        "it needs the library libblkio, which few distributions have, and for devices that other engines cannot reach (vhost-user, VFIO, \
         vDPA), one dedicated to this process; io_uring and sg work on the kernel's devices",
    );

choices! {
    /// How to wait for completions.
    pub enum LibblkioWaitMode {
        /// A blocking call
        Block = "block",
        /// An event descriptor
        EventFd = "eventfd",
        /// Polling
        Loop = "loop",
    }
}

options! {
    /// Options of the `libblkio` engine.
    pub struct LibblkioOptions in Engine, table TABLE;

    /// Driver name, required
    Later Text libblkio_driver: Option<String>, { engine: ENGINE };

    /// path property
    Later Text libblkio_path: Option<String>, { engine: ENGINE };

    /// Properties set before connect
    Later Text libblkio_pre_connect_props: Option<String>, { engine: ENGINE };

    /// num-entries property
    Later Int libblkio_num_entries: Option<u32>, { bounds: Bounds::at_least(1.0), engine: ENGINE };

    /// queue-size property
    Later Int libblkio_queue_size: Option<u32>, { bounds: Bounds::at_least(1.0), engine: ENGINE };

    /// Properties set before start
    Later Text libblkio_pre_start_props: Option<String>, { engine: ENGINE };

    /// Polled queues
    Later Flag hipri: bool, { engine: ENGINE };

    /// Vectored requests
    Later Flag libblkio_vectored: bool, { engine: ENGINE };

    /// Trim as write zeroes
    Later Flag libblkio_write_zeroes_on_trim: bool, { engine: ENGINE };

    /// How to wait
    Later Choice libblkio_wait_mode: LibblkioWaitMode = "block", {
        choices: LibblkioWaitMode::CHOICES,
        engine: ENGINE,
    };

    /// Always enable the eventfd
    Later Flag libblkio_force_enable_completion_eventfd: bool, { engine: ENGINE };
}
