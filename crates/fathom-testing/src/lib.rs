//! For tests only: a simulated device on which the real run loop runs in virtual time, thousands of I/Os in milliseconds and
//! reproducible by seed; and conformance tests for every engine.

pub mod behaviour;
pub mod conformance;
pub mod device;
pub mod objects;
pub mod run;
mod store;
mod words;
