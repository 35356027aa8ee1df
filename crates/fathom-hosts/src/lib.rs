//! Runs over several hosts: one run, started together, merged exactly. A **controller** runs outside of all
//! launchers and has a connection to each host ([`links`]). At the other end, an **agent** ([`agent`]) parses
//! the same command line, plans it for its machine and runs it under its own supervisor. [`protocol`] defines
//! their messages: prepare, ready, go at an instant, snapshot, stop, result. The controller adds up the
//! counters and histogram bins of the hosts, and if a host is lost, its counts up to its last snapshot survive.

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
