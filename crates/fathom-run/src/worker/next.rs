//! What a worker may do next.

use crate::targets::Target;
use crate::unit::Operation;

/// The next action.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// This I/O.
    Io(Target),
    /// This zone reset, in place of a trim.
    ZoneReset(Target),
    /// This sync of a file.
    Sync(Operation, u32),
    /// Nothing before this tick.
    Wait(u64),
    /// Nothing before an I/O in flight has completed.
    WaitForEnd,
    /// Nothing before all I/Os in flight have completed.
    WaitForAll,
    /// Nothing more.
    End,
}
