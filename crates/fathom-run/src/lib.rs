//! Plan and run: what a job does, how files are prepared, the loop of a worker, the crew of all workers, and the supervisor.
//!
//! Nothing here parses option text or prints. A plan goes in; samples and events come out.

mod cause;
mod cgroup;
pub mod crew;
pub mod engine;
pub mod exhausted;
pub mod files;
pub mod idleness;
pub mod invariant;
mod io;
mod limits;
pub mod logs;
pub mod message;
mod mounts;
pub mod payload;
pub mod plan;
pub mod region;
pub mod regularly;
mod replay;
pub mod storage;
pub mod supervisor;
mod surroundings;
pub mod targets;
pub mod unit;
pub mod verify;
pub mod worker;
pub mod zones;

pub use fathom_random as random;
pub use worker::EngineEntry;
