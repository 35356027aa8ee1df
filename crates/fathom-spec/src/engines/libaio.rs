//! The `libaio` engine and its options.

use crate::declare::options;
use crate::definition::{Bounds, Names};
use crate::engines::{EngineDef, priorities};
use crate::value::PriorityShares;
use fathom_stats::PerDirection;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "libaio";

/// `ioengine=libaio`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "Linux native asynchronous I/O (io_submit)")
    .built()
    .atomic_writes()
    .syncfs()
    .with_options(TABLE)
    .with_priorities(priorities!(libaio));

options! {
    /// Options of the `libaio` engine.
    pub struct LibaioOptions in Engine, table TABLE;

    /// Reap completions from the shared ring without a system call
    Built Flag userspace_reap: bool, { engine: ENGINE };

    /// Fail an I/O instead of waiting for locks (RWF_NOWAIT)
    Built Bool nowait: bool, { engine: ENGINE };

    /// Use vectored I/O (PREADV and PWRITEV)
    Built Bool libaio_vectored: bool, { engine: ENGINE };

    /// Share of I/Os that get cmdprio, in percent, for reads and writes
    Built Int cmdprio_percentage: PerDirection<u32> = "0", {
        bounds: Bounds::between(0.0, 100.0),
        engine: ENGINE,
    };

    /// Priority class of these I/Os
    Built Int cmdprio_class: PerDirection<u32> = "1", { bounds: Bounds::between(1.0, 3.0), engine: ENGINE };

    /// Priority hint of these I/Os
    Built Int cmdprio_hint: PerDirection<u32> = "0", { bounds: Bounds::between(0.0, 1023.0), engine: ENGINE };

    /// Priority level of these I/Os
    Built Int cmdprio: PerDirection<u32> = "0", { bounds: Bounds::between(0.0, 7.0), engine: ENGINE };

    /// Share of I/Os that get a priority, per block size: size/percent[/class/level[/hint]]
    Built Text cmdprio_bssplit: PriorityShares, { names: Names::Nothing, engine: ENGINE };
}
