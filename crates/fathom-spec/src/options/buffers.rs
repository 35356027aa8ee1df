//! Memory for the data and what is in it.

use crate::definition::{Bounds, choices, options};
use crate::value::{Memory, MemoryKind, Pattern};

choices! {
    /// What duplicates are copies of.
    pub enum DedupeMode {
        /// The previous unique buffer
        Repeat = "repeat",
        /// A set of buffers prepared at start
        WorkingSet = "working_set",
    }
}

options! {
    /// Memory for the data and what is in it.
    pub struct BufferOptions at job.buffers, in Buffers, table TABLE;

    /// Memory that buffers are made of
    ///
    /// Mappings take a file behind a colon.
    Built Choice mem: Memory = "malloc", {
        aliases: &["iomem"],
        choices: MemoryKind::CHOICES,
        later_choices: &["cudamalloc"],
    };

    /// Alignment of the first buffer in bytes
    Built Int iomem_align: u64 = "0", {
        aliases: &["mem_align"],
        bounds: Bounds::at_least(0.0),
        parent: Some("mem"),
        unlisted: true,
    };

    /// mlock this much memory
    Built Size lockmem: u64 = "0";

    /// GPU index for mem=cudamalloc
    Later Int gpu_dev_id: u32 = "0";

    /// Write zeros
    Built Flag zero_buffers: bool;

    /// New random content for each write
    Built Flag refill_buffers: bool;

    /// Change a few bytes of the content for each write
    Built Bool scramble_buffers: bool = "1";

    /// Content of the buffers, repeated
    ///
    /// Numbers, 0x digits, "text", 'file' and %o (the offset) one after the other.
    Built Text buffer_pattern: Option<Pattern>;

    /// How compressible the data shall be
    Built Int buffer_compress_percentage: Option<u32>, { bounds: Bounds::between(0.0, 100.0) };

    /// Chunk for compressibility
    Built Int buffer_compress_chunk: u32 = "512", { parent: Some("buffer_compress_percentage") };

    /// Share of duplicate buffers
    Built Int dedupe_percentage: Option<u32>, { bounds: Bounds::between(0.0, 100.0) };

    /// Share duplicate seeds between jobs
    Built Bool dedupe_global: bool = "0";

    /// How duplicates are produced
    Built Choice dedupe_mode: DedupeMode = "repeat", {
        choices: DedupeMode::CHOICES,
        parent: Some("dedupe_percentage"),
    };

    /// Working set for dedupe_mode=working_set
    Built Int dedupe_working_set_percentage: u32 = "5", {
        bounds: Bounds::between(0.0, 100.0),
        parent: Some("dedupe_percentage"),
    };

    /// Size of a huge page
    Built Int hugepage_size as "hugepage-size": u32 = "2097152";
}

impl BufferOptions {
    /// Percent of the buffers that are duplicates; `dedupe_percentage=0` is as good as none.
    pub fn repeated_percentage(&self) -> Option<u32> {
        self.dedupe_percentage.filter(|&percent| percent > 0)
    }
}
