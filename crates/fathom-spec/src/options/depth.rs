//! How many I/Os are kept in flight and how they are batched.

use crate::definition::{Bounds, choices, options};

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
    /// How many I/Os are kept in flight and how they are batched.
    pub struct DepthOptions at job.depth, in Depth, table TABLE;

    /// I/Os in flight
    ///
    /// Engines that finish each I/O before the next are capped at 1.
    Built Int iodepth: u32 = "1", { bounds: Bounds::at_least(1.0) };

    /// I/Os to submit at once
    ///
    /// 0 means as many as iodepth.
    Built Int iodepth_batch: u32 = "1", { aliases: &["iodepth_batch_submit"], parent: Some("iodepth") };

    /// Completions to wait for at once
    ///
    /// 0 asks without waiting.
    Built Int iodepth_batch_complete_min: u32 = "1", {
        aliases: &["iodepth_batch_complete"],
        bounds: Bounds::at_least(0.0),
        parent: Some("iodepth"),
    };

    /// Completions to take at once, at most
    ///
    /// 0, or less than the minimum, means the minimum.
    Built Int iodepth_batch_complete_max: Option<u32>, {
        bounds: Bounds::at_least(0.0),
        parent: Some("iodepth"),
    };

    /// I/Os left in flight before new ones are submitted
    ///
    /// 0 means as many as iodepth.
    Built Int iodepth_low: Option<u32>, { parent: Some("iodepth") };

    /// Hold back an I/O that overlaps one in flight
    Built Bool serialize_overlap: bool = "0", { parent: Some("iodepth") };

    /// Submit from the job itself or from a helper thread pool
    Built Choice io_submit_mode: IoSubmitMode = "inline", { choices: IoSubmitMode::CHOICES };
}
