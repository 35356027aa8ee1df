//! Results of runs, read back from what was printed: JSON, JSON+ and lines of JSON, of fathom and of fio, those
//! of `fio --client` among them.
//!
//! [`read()`] makes one [`RunResult`] of a file, [`model`] says what is in it. What a program did not print is absent, never
//! made up: fio keeps no course of a run and no histogram in plain JSON.

#![forbid(unsafe_code)]

mod clean;
mod clients;
mod lenient;
pub mod model;
mod read;
mod stacks;

pub use clean::single_lines;
pub use model::{Course, DirectionResult, JobResult, LatencyResult, RunResult};
pub use read::{ReadError, parse, read};
