//! Log files of a run: the shared memory that carries records, and the process that writes them. A worker
//! pushes one record per I/O into its ring, which is its only work for logs. One process, the log writer,
//! removes the records and writes all files during the run, so logs need a fixed amount of memory regardless of
//! the run's length. A worker that is faster than its logs waits for room, and the report says for how long.

pub(crate) mod aggregate;
mod file;
mod recording;
mod shared;
mod writer;

pub(crate) use file::{LogFile, OpenLogs};
pub(crate) use recording::FileEvent;
pub(crate) use shared::{LogRegion, Ring};
pub(crate) use writer::write_logs;
