//! The two loops: one I/O after the other, and as many in flight as the depth allows. Only these, and their common core, are
//! generic over the engine.

mod depths;
pub(super) mod queued;
pub(super) mod synchronous;
