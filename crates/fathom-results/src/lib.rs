//! Results of runs, as JSON writes them, and read back from what was printed: JSON, JSON+ and lines of JSON, of fathom and of fio,
//! those of `fio --client` among them.
//!
//! [`read()`] makes one [`RunResult`] of a file, [`at_hand()`] one of what a run of this very program has made; [`model`]
//! says what is in it. What a program did not print is absent, never made up: fio keeps no timeline of a run and no histogram
//! in plain JSON.

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
