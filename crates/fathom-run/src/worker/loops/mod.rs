//! The two run loops: one for a single I/O at a time, one for as many I/Os in flight as the depth allows. Only
//! these loops and their common core are generic over the engine.

mod depths;
pub(super) mod queued;
pub(super) mod synchronous;
