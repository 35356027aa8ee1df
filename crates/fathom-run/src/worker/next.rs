//! What a worker may do next.

use crate::targets::Target;
use crate::unit::Operation;

/// The next thing to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// This I/O.
    Io(Target),
    /// This reset of a zone, in place of a trim.
    ZoneReset(Target),
    /// This sync of a file.
    Sync(Operation, u32),
    /// Nothing before this tick.
    Wait(u64),
    /// Nothing before an I/O in flight has ended.
    WaitForEnd,
    /// Nothing any more.
    End,
}
