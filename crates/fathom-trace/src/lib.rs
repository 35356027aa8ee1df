//! Recorded I/O: reads fio's I/O logs and the kernel's block traces as one stream of entries.
//!
//! * [`reader`] returns the [`Entry`]s of a log or trace one after the other, with the [`Rules`] of a replay
//!   applied.
//! * [`scan`] reads all entries once and computes their totals.
//! * [`events`] returns the events of a block trace, binary or text, in the order of time.
//! * [`requests`] follows the requests of a block trace from their arrival to their completion.
//! * [`dependencies`] says which I/Os of its process had completed before an I/O was queued.
//! * [`files`] reads and writes recordings of files; `file_load` turns them into events of a block trace.
//! * [`side`] defines the information that `fathom record` adds to a block trace.
//! * [`iolog`] parses the lines of text logs and [`blktrace`] the records of binary traces. `text` has a file
//!   for each format of public collections and tracing tools. [`merge`] combines several traces in one.
//!
//! All functions work on streams, with the same amount of memory for every length. None of them opens a file.

#![forbid(unsafe_code)]

pub mod blktrace;
mod complaints;
mod compressed;
pub mod dependencies;
mod entry;
pub mod error;
pub mod events;
mod file_load;
pub mod files;
pub mod iolog;
mod mapping;
pub mod merge;
mod names;
pub mod reader;
mod refused;
pub mod requests;
mod rules;
pub mod scan;
pub mod side;
mod text;

pub use complaints::Complaints;
pub use compressed::plain;
pub use entry::{Action, Entry};
pub use error::{CutOff, Damage, TraceError};
pub use mapping::{Fit, Mapping};
pub use names::{Device, FileName};
pub use rules::{Rules, Skip};
