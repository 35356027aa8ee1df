//! The next steps of a worker.

use crate::targets::Target;
use crate::unit::Operation;

/// The next action of a worker.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// This I/O.
    Io(Target),
    /// Reset this zone instead of trimming it.
    ZoneReset(Target),
    /// Sync this file.
    Sync(Operation, u32),
    /// Wait until this tick.
    Wait(u64),
    /// Wait for an I/O in flight to complete.
    WaitForEnd,
    /// Wait for all I/Os in flight to complete.
    WaitForAll,
    /// Nothing more.
    End,
}
