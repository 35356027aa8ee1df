//! I/O buffers: their memory and their content.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::value::{Memory, MemoryKind, Pattern};

choices! {
    /// Which buffers are duplicated.
    pub enum DedupeMode {
        /// The previous unique buffer
        Repeat = "repeat",
        /// A set of buffers generated at start
        WorkingSet = "working_set",
    }
}

options! {
    /// I/O buffers: their memory and their content.
    pub struct BufferOptions in Buffers, table TABLE;

    /// Type of memory for I/O buffers
    ///
    /// Mappings take a file after a colon.
    Built Choice mem: Memory = "malloc", {
        names: Names::File,
        aliases: &["iomem"],
        choices: MemoryKind::CHOICES,
        later_choices: &["cudamalloc"],
    };

    /// Alignment of the first I/O buffer, in bytes
    Built Int iomem_align: u64 = "0", {
        aliases: &["mem_align"],
        bounds: Bounds::at_least(0.0),
        parent: Some("mem"),
        unlisted: true,
    };

    /// Amount of memory to lock with mlock(2)
    Built Size lockmem: u64 = "0";

    /// GPU index for mem=cudamalloc
    Later Int gpu_dev_id: u32 = "0";

    /// Fill write buffers with zeros
    Built Flag zero_buffers: bool;

    /// Generate new random data for each write
    Built Flag refill_buffers: bool;

    /// Change a few bytes of the buffer before each write
    Built Bool scramble_buffers: bool = "1";

    /// Pattern to fill buffers with, repeated
    ///
    /// A sequence of numbers, 0x digits, "text", 'file' and %o (the offset).
    Built Text buffer_pattern: Option<Pattern>, { names: Names::Content };

    /// Target compressibility of the data, in percent
    Built Int buffer_compress_percentage: Option<u32>, { bounds: Bounds::between(0.0, 100.0) };

    /// Chunk size for compressible data, in bytes
    Built Int buffer_compress_chunk: u32 = "512", { parent: Some("buffer_compress_percentage") };

    /// Share of duplicate buffers, in percent
    Built Int dedupe_percentage: Option<u32>, { bounds: Bounds::between(0.0, 100.0) };

    /// Share the seeds of duplicates between jobs
    Built Bool dedupe_global: bool = "0";

    /// How duplicates are generated
    Built Choice dedupe_mode: DedupeMode = "repeat", {
        choices: DedupeMode::CHOICES,
        parent: Some("dedupe_percentage"),
    };

    /// Size of the working set for dedupe_mode=working_set, in percent of size
    Built Int dedupe_working_set_percentage: u32 = "5", {
        bounds: Bounds::between(0.0, 100.0),
        parent: Some("dedupe_percentage"),
    };

    /// Size of a huge page, in bytes
    Built Int hugepage_size as "hugepage-size": u32 = "2097152";
}

impl BufferOptions {
    /// Percentage of buffers that are duplicates; `dedupe_percentage=0` means none.
    pub fn repeated_percentage(&self) -> Option<u32> {
        self.dedupe_percentage.filter(|&percent| percent > 0)
    }
}
