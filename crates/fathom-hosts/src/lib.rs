//! Runs over several hosts: one run, started together, merged exactly. A **controller** runs outside of all launchers. It has
//! a connection to each host ([`links`]), at the end of which an **agent** ([`agent`]) reads the same command line, plans it
//! for its machine and runs it under its own supervisor. Their messages are in [`protocol`]: prepare, ready, go at an
//! instant, snapshot, stop, result. The controller adds up the counters and histogram bins of the hosts, and what a host had
//! counted up to its last snapshot survives the loss of the host.

#![forbid(unsafe_code)]

pub mod agent;
mod callers;
pub mod controller;
mod framed;
pub mod frames;
pub mod joining;
pub mod keys;
pub mod links;
pub mod listening;
mod pipe;
pub mod protocol;
mod strangers;
mod texts;
