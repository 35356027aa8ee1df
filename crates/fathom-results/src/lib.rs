//! Results of runs: written as JSON, and read back from JSON, JSON+ and JSON Lines, of fathom and of fio,
//! including `fio --client`. [`read()`] makes a [`RunResult`] from a file, [`at_hand()`] from a run of this
//! program; [`model`] documents the content. Figures that a program did not print are absent; they are never
//! guessed. For example, fio records no timeline, and prints no histogram in plain JSON.

#![forbid(unsafe_code)]

mod clean;
mod clients;
mod hosts;
mod lenient;
pub mod model;
mod read;
mod stacks;
mod written;

pub use clean::{single_line, single_lines};
pub use hosts::{
    FilesResult, HostFigures, HostResult, HostsResult, OverlapResult, SkewResult, StragglingResult,
};
pub use model::{DirectionResult, JobResult, LatencyResult, RunResult, TimelineResult};
pub use read::{ReadError, at_hand, parse, read};
pub use written::figure;
