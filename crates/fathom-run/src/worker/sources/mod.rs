//! Sources of the next I/O other than targets: log entries, blocks to be read back, due syncs.

mod ahead;
pub(super) mod dependent;
pub(super) mod ranges;
pub(super) mod replay;
pub(super) mod syncs;
pub(super) mod timed;
pub(super) mod verifier;
