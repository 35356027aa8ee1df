//! Log files of single I/Os, of averages, and of latency histograms: from the record that a worker leaves to the
//! bytes of a file, and back again.
//!
//! A worker pushes one [`IoRecord`] per I/O into a bounded [`ring`]. A writer takes records out and feeds the job's
//! [`LogSet`], which turns them into the lines of all its logs. Nothing here opens a file or makes a system call.

#![forbid(unsafe_code)]

pub mod compressed;
pub mod entry;
pub mod histogram_line;
mod record;
pub mod ring;
mod rules;
mod set;
mod window;

pub use entry::{Columns, Entry};
pub use record::IoRecord;
pub use rules::{LogKind, LogRules, WindowValue};
pub use set::{LogOutput, LogSet, Spill};
