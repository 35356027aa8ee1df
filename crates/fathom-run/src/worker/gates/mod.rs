//! May the next I/O go now? What a rate, a flow, a zone, a lock or another I/O has to say to that.

pub(super) mod admission;
pub(super) mod flow;
pub(super) mod overlap;
pub(super) mod pace;
pub(super) mod zones;
