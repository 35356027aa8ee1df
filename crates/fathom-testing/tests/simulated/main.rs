//! The run loop on a simulated device.

mod block_errors;
mod drawn;
mod in_bulk;
mod open_loop;
mod orders;
mod pacing;
mod replay;
mod replay_dependencies;
mod run_loop;
mod storage;
mod verification;
