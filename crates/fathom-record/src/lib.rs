//! Recording what is asked of block devices: a private instance of the kernel's tracefs, its binary pages, and the trace they
//! become.
//!
//! * [`devices`] finds the devices that a path stands for.
//! * [`Recorder`] drains the kernel's buffers and gives the events in order of time.
//! * [`Output`] writes the trace: blktrace's format, with the section of [`fathom_trace::side`].
//!
//! No data of any I/O is ever seen: the kernel's events hold places, lengths, times and names of programs.

#![forbid(unsafe_code)]

mod buffers;
pub mod devices;
mod events;
pub mod files;
mod format;
mod guard;
mod instance;
mod output;
mod page;
mod recorder;

pub use buffers::Losses;
pub use output::{Output, Parts};
pub use recorder::{Batch, Recorder, Sample, Wishes};

use fathom_errors::plain;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why nothing can be recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A file of tracefs cannot be used.
    #[error("{path}: {error}: {advice}", path = .path.display(), error = plain(.error))]
    Refused {
        /// The file.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
        /// What to do about it.
        advice: &'static str,
    },
    /// The kernel describes its events in an unknown manner.
    #[error(
        "{0}: this kernel describes its events in a way that fathom does not know; please report it with the content of that file"
    )]
    Layout(String),
    /// The kernel has no events of system calls.
    #[error(
        "this kernel has no events of system calls: CONFIG_FTRACE_SYSCALLS is needed to record files; without it, record the device below \
         them: fathom record PATH"
    )]
    NoCalls,
    /// The command, process or control group cannot be recorded.
    #[error("{0}")]
    Target(String),
    /// The trace cannot be written.
    #[error("{path}: {error}; what was written before is a readable trace", path = .path.display(), error = plain(.error))]
    Output {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A page of the kernel's buffer is not what the kernel describes.
    #[error(
        "the trace buffer of processor {cpu} has a page that does not match its description; the trace ends here, please report it"
    )]
    Damaged {
        /// The processor.
        cpu: u32,
    },
}
