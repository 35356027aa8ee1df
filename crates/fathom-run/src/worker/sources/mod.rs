//! What comes next if it is not the next target: an entry of a log, a block to be read back, a sync that is due.

pub(super) mod ranges;
pub(super) mod replay;
pub(super) mod syncs;
pub(super) mod timed;
pub(super) mod verifier;
