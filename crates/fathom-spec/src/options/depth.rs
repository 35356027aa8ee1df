//! Queue depth and batching.

use crate::declare::{choices, options};
use crate::definition::Bounds;

choices! {
    /// Who submits I/O.
    pub enum IoSubmitMode {
        /// The job itself
        Inline = "inline",
        /// A pool of threads
        Offload = "offload",
    }
}

options! {
    /// Queue depth and batching.
    pub struct DepthOptions in Depth, table TABLE;

    /// Queue depth: I/Os to keep in flight
    ///
    /// Synchronous engines are capped at 1.
    Built Int iodepth: u32 = "1", { bounds: Bounds::at_least(1.0) };

    /// Number of I/Os to submit together
    ///
    /// 0 means iodepth.
    Built Int iodepth_batch: u32 = "1", { aliases: &["iodepth_batch_submit"], parent: Some("iodepth") };

    /// Minimum number of completions to wait for
    ///
    /// 0 polls without waiting.
    Built Int iodepth_batch_complete_min: u32 = "1", {
        aliases: &["iodepth_batch_complete"],
        bounds: Bounds::at_least(0.0),
        parent: Some("iodepth"),
    };

    /// Maximum number of completions to reap together
    ///
    /// 0, or less than the minimum, means the minimum.
    Built Int iodepth_batch_complete_max: Option<u32>, {
        bounds: Bounds::at_least(0.0),
        parent: Some("iodepth"),
    };

    /// Submit new I/Os only when the number in flight falls to this
    ///
    /// 0 means iodepth.
    Built Int iodepth_low: Option<u32>, { parent: Some("iodepth") };

    /// Delay an I/O that overlaps another one in flight
    Built Bool serialize_overlap: bool = "0", { parent: Some("iodepth") };

    /// Submit I/O from the job itself or from a pool of threads
    Built Choice io_submit_mode: IoSubmitMode = "inline", { choices: IoSubmitMode::CHOICES };
}
