//! Recording and replaying I/O.

use crate::declare::options;
use crate::definition::{Bounds, Names};
use crate::value::{PowerOfTwo, ReplayMap, ReplaySkip};

options! {
    /// Recording and replaying I/O.
    pub struct ReplayOptions in Replay, table TABLE;

    /// Record issued I/O by appending to this file (text, version 3)
    Built Text write_iolog: Option<String>, { names: Names::File };

    /// Replay this log (text version 2 or 3) or block trace (binary blktrace, or text of a known format); several separated by colons; "-" is standard input
    Built Text read_iolog: Option<String>, { names: Names::File };

    /// Read the log in chunks during the run; always on in fathom
    Built Bool read_iolog_chunked: bool = "0", { parent: Some("read_iolog") };

    /// Ignore the recorded times and replay as fast as possible
    Built Bool replay_no_stall: bool = "0", { parent: Some("read_iolog") };

    /// Keep the dependencies of a block trace: issue an I/O once all I/Os of its process that had completed before it was queued have completed, after the recorded think time
    Built Bool replay_dependencies: bool = "0", { parent: Some("read_iolog") };

    /// Send all replayed I/O to this target
    Built Text replay_redirect: Option<String>, { names: Names::File, parent: Some("read_iolog") };

    /// Divide replayed offsets by this
    Built Int replay_scale: u32 = "1", { bounds: Bounds::at_least(1.0), parent: Some("read_iolog") };

    /// Round replayed offsets down to a multiple of this power of two
    Built Int replay_align: Option<PowerOfTwo>, { parent: Some("read_iolog") };

        /// Fit the files of the log, one after another, into this much of the target of replay_redirect: scale:SIZE in proportion, wrap:SIZE from the start again at its end
    Built Text replay_map: Option<ReplayMap>, { names: Names::Nothing, parent: Some("read_iolog") };

    /// Replay speed, in percent

    Built Int replay_time_scale: u32 = "100", { bounds: Bounds::at_least(1.0), parent: Some("read_iolog") };

    /// Kinds of I/O to skip, separated by commas: read, write, trim, sync
    Built Text replay_skip: Option<ReplaySkip>, { names: Names::Nothing, parent: Some("read_iolog") };

    /// Merge the read_iolog traces into this file and replay it
    Built Text merge_blktrace_file: Option<String>, { names: Names::File };

    /// Time scale of each trace for merging, in percent
    Built FloatList merge_blktrace_scalars: Vec<f64>;

    /// Number of repetitions of each trace for merging
    Built FloatList merge_blktrace_iters: Vec<f64>;
}
