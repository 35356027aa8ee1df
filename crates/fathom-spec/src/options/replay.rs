//! Recording and replaying I/O.

use crate::definition::{Bounds, options};

options! {
    /// Recording and replaying I/O.
    pub struct ReplayOptions at job.replay, in Replay, table TABLE;

    /// Append the issued I/O to this file (version 3 text)
    Later Text write_iolog: Option<String>;

    /// Replay this log (text v2, v3 or blktrace binary); colon list; "-" is stdin
    Later Text read_iolog: Option<String>;

    /// Read the log bit by bit during the run
    Later Bool read_iolog_chunked: bool = "0", { parent: Some("read_iolog") };

    /// Ignore log timing
    Later Bool replay_no_stall: bool = "0", { parent: Some("read_iolog") };

    /// Send all replayed I/O to this target
    Later Text replay_redirect: Option<String>, { parent: Some("read_iolog") };

    /// Divide replayed offsets by this
    Later Int replay_scale: u32 = "1", { parent: Some("read_iolog") };

    /// Round replayed offsets to this power of two
    Later Int replay_align: Option<u32>, { parent: Some("read_iolog") };

    /// Rate of replay in percent
    Later Int replay_time_scale: u32 = "100", { bounds: Bounds::at_least(1.0), parent: Some("read_iolog") };

    /// Comma list of kinds to drop: read write trim sync
    Later Text replay_skip: Option<String>, { parent: Some("read_iolog") };

    /// Merge the traces of read_iolog into this file and replay that
    Later Text merge_blktrace_file: Option<String>;

    /// Per trace time percentage for merging
    Later FloatList merge_blktrace_scalars: Vec<f64>;

    /// Per trace repetition count for merging
    Later FloatList merge_blktrace_iters: Vec<f64>;
}
