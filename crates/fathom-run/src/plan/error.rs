//! Why a run cannot be planned.

use fathom_errors::plain;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Each error says what is wrong with a job, where, and how to fix it, in one or more lines for the user.
#[derive(Debug, Error)]
pub enum PlanError {
    /// An unknown engine name.
    #[error("fio: engine {0} not loadable")]
    UnknownEngine(String),
    /// The engine exists, but this build does not include it.
    #[error(
        "fio: engine {0} not loadable\nfathom: this build has no ioengine={0}: install a package of fathom, or build it with \
         cargo install --locked --path crates/fathom --features {0}"
    )]
    EngineLeftOut(String),
    /// `--readonly` with buffers in a file, which is created and written to.
    #[error("fathom: job {job}: mem= would write to {path}, which --readonly forbids; leave one of them out", path = path.display())]
    ReadonlyMemory {
        /// The job.
        job: String,
        /// The file.
        path: PathBuf,
    },
    /// `--readonly` with an engine that changes data for any direction of I/O.
    #[error(
        "fathom: job {job}: ioengine={engine} changes data whatever rw= says, which --readonly forbids; leave one of them out"
    )]
    ReadonlyEngine {
        /// The job.
        job: String,
        /// The engine.
        engine: &'static str,
    },
    /// A job uses host= in a run without hosts.
    #[error(
        "fathom: job {job}: host={hosts} chooses among the hosts of a run, and this one has none; give --hosts=list, or leave out host="
    )]
    NoHosts {
        /// The job.
        job: String,
        /// The value.
        hosts: String,
    },
    /// `wait_for` names an unknown job.
    #[error("{job}: waitee job {waitee} unknown.")]
    UnknownWaitee {
        /// The job.
        job: String,
        /// The name.
        waitee: String,
    },
    /// An open loop with more arrivals than a clone can count.
    #[error(
        "fathom: job {job}: open_loop=1: {per_second:.0} I/Os per second are more than the {most} that a \
        clone can count; divide them among clones (numjobs=)"
    )]
    TooManyArrivals {
        /// The job.
        job: String,
        /// Arrivals per second.
        per_second: f64,
        /// The limit of a clone.
        most: f64,
    },
    /// `block_error_percentiles` without blocks that can be tracked.
    #[error("fathom: job {job}: block_error_percentiles=1 follows blocks of the size of a trim: {reason}")]
    NoBlocks {
        /// The job.
        job: String,
        /// The obstacle.
        reason: &'static str,
    },
    /// `dedupe_global` without a size.
    #[error("{job}: dedupe_global=1 needs size= in bytes: the other jobs must know how large the set is")]
    UnknownWorkingSet {
        /// The job.
        job: String,
    },
    /// The number of a clone is too large for the headers of verified blocks.
    #[error(
        "fathom: job {job}: clone {number} of the run exceeds the number that fits into the headers of \
        verified blocks ({most}); use fewer clones (numjobs=)",
        most = u16::MAX
    )]
    TooManyToVerify {
        /// The job.
        job: String,
        /// Number of the clone.
        number: u32,
    },
    /// `merge_blktrace_file` names an existing target that is not a regular file.
    #[error("fathom: merge_blktrace_file={target}: it exists already and is not a regular file", target = .0.display())]
    MergeIntoDevice(PathBuf),
    /// `merge_blktrace_file` names one of the traces to merge.
    #[error("fathom: merge_blktrace_file={target} would overwrite {trace}, which is merged", target = target.display())]
    MergeIntoTrace {
        /// The result.
        target: PathBuf,
        /// The trace.
        trace: String,
    },
    /// The merged trace cannot be written.
    #[error("fathom: merge_blktrace_file={target}: {error}", error = plain(.error))]
    MergeNotWritten {
        /// The result.
        target: String,
        /// Why.
        error: io::Error,
    },
    /// Traces cannot be merged.
    #[error("fathom: merge_blktrace_file={target}: {reason}")]
    NotMerged {
        /// The result.
        target: String,
        /// Why.
        reason: String,
    },
    /// An input of the merge cannot be read.
    #[error("fathom: {name}: the trace cannot be read: {error}", error = plain(.error))]
    TraceUnreadable {
        /// The trace.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// An input of the merge is not a trace.
    #[error("fio: file is not a blktrace: {name}\nfathom: {name}: {reason}")]
    NoTrace {
        /// The file.
        name: String,
        /// Why.
        reason: String,
    },
}
