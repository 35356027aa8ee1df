//! The run loop on a simulated device.

mod drawn;
mod pacing;
mod run_loop;
mod verification;
