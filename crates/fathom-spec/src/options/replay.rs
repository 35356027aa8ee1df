//! Recording and replaying I/O.

use crate::definition::{Bounds, options};
use crate::value::{PowerOfTwo, ReplaySkip};

options! {
    /// Recording and replaying I/O.
    pub struct ReplayOptions at job.replay, in Replay, table TABLE;

    /// Append the issued I/O to this file (version 3 text)
    Built Text write_iolog: Option<String>;

    /// Replay this log (text v2, v3 or blktrace binary); colon list; "-" is stdin
    Built Text read_iolog: Option<String>;

    /// Read the log bit by bit during the run
    /// fathom always does, so this has no further effect.
    Built Bool read_iolog_chunked: bool = "0", { parent: Some("read_iolog") };

    /// Ignore log timing
    Built Bool replay_no_stall: bool = "0", { parent: Some("read_iolog") };

    /// Send all replayed I/O to this target
    Built Text replay_redirect: Option<String>, { parent: Some("read_iolog") };

    /// Divide replayed offsets by this
    Built Int replay_scale: u32 = "1", { bounds: Bounds::at_least(1.0), parent: Some("read_iolog") };

    /// Round replayed offsets to this power of two
    Built Int replay_align: Option<PowerOfTwo>, { parent: Some("read_iolog") };

    /// Rate of replay in percent
    Built Int replay_time_scale: u32 = "100", { bounds: Bounds::at_least(1.0), parent: Some("read_iolog") };

    /// Comma list of kinds to drop: read write trim sync
    Built Text replay_skip: Option<ReplaySkip>, { parent: Some("read_iolog") };

    /// Merge the traces of read_iolog into this file and replay that
    Built Text merge_blktrace_file: Option<String>;

    /// Per trace time percentage for merging
    Built FloatList merge_blktrace_scalars: Vec<f64>;

    /// Per trace repetition count for merging
    Built FloatList merge_blktrace_iters: Vec<f64>;
}
