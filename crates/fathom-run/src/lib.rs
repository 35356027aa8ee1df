//! Plan and run: the plan of a job, the preparation of its files, the loop of a worker, the crew of all
//! workers, and the supervisor.
//!
//! This crate neither parses option text nor prints. Its input is a plan; its output is samples and events.

mod cause;
mod cgroup;
pub mod crew;
pub mod engine;
pub mod exhausted;
pub mod files;
pub mod idleness;
pub mod invariant;
mod io;
mod layers;
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
