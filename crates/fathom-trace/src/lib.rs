//! Recorded I/O: what fio's I/O logs and the kernel's block traces say, as one stream of entries.
//!
//! * [`reader`] gives the [`Entry`]s of a log or trace one after the other, with the [`Rules`] of a replay applied.
//! * [`scan`] goes through all of them once and says what they add up to.
//! * [`events`] gives the events of a block trace, binary or text, in the order of time.
//! * [`side`] is what `fathom record` adds to a block trace.
//! * [`iolog`] has the lines of text logs, [`blktrace`] the records of binary traces, `text` has a file for each format of
//!   public collections and tracing tools, [`merge`] makes one trace of several.
//!
//! Everything works on streams and takes the same memory however long they are. Nothing here opens a file.

#![forbid(unsafe_code)]

pub mod blktrace;
mod complaints;
mod compressed;
mod entry;
pub mod error;
pub mod events;
pub mod iolog;
pub mod merge;
mod names;
pub mod reader;
mod rules;
pub mod scan;
pub mod side;
mod text;

pub use complaints::Complaints;
pub use compressed::plain;
pub use entry::{Action, Entry};
pub use error::{CutOff, Damage, TraceError};
pub use names::{Device, FileName};
pub use rules::{Rules, Skip};
