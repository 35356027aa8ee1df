//! Direction, pattern, caching and syncing of the I/O.

use crate::definition::{Bounds, choices, options};
use crate::value::{Distribution, PerDir, Rw, RwMode, SizeSpec, SyncFileRange};

choices! {
    /// Where I/Os go between two random offsets.
    pub enum RwSequencer {
        /// To the following blocks
        Sequential = "sequential",
        /// To the same block again
        Identical = "identical",
    }
}

choices! {
    /// Generator behind random offsets.
    pub enum RandomGenerator {
        /// Combined Tausworthe generator of 32 bits
        Tausworthe = "tausworthe",
        /// Shift register that visits each block once
        Lfsr = "lfsr",
        /// Combined Tausworthe generator of 64 bits
        Tausworthe64 = "tausworthe64",
    }
}

choices! {
    /// What the kernel is told about the access pattern.
    pub enum FadviseHint {
        /// Nothing
        None = "0",
        /// What fits the job: random or sequential
        Auto = "1",
        /// Random access
        Random = "random",
        /// Sequential access
        Sequential = "sequential",
        /// Data is used once
        NoReuse = "noreuse",
    }
}

choices! {
    /// Durability of each write.
    pub enum SyncMode {
        /// Writes may stay in caches
        None = "none" | "0",
        /// Data and metadata are durable (O_SYNC)
        Sync = "sync" | "1",
        /// Data is durable (O_DSYNC)
        Dsync = "dsync",
    }
}

choices! {
    /// Expected lifetime of written data.
    pub enum WriteHint {
        /// No hint
        None = "none",
        /// Short
        Short = "short",
        /// Medium
        Medium = "medium",
        /// Long
        Long = "long",
        /// Very long
        Extreme = "extreme",
    }
}

options! {
    /// Direction, pattern, caching and syncing of the I/O.
    pub struct IoTypeOptions at job.io_type, in IoType, table TABLE;

    /// Direction and pattern of the I/O
    Built Choice rw: RwMode = "read", { aliases: &["readwrite"], choices: Rw::CHOICES };

    /// How the offset behaves when rw has a numeric postfix
    Built Choice rw_sequencer: RwSequencer = "sequential", { choices: RwSequencer::CHOICES };

    /// First byte of the region used; percent allowed
    Built Size offset: SizeSpec = "0", { aliases: &["fileoffset"] };

    /// Round a percentage offset down to this multiple
    Built Int offset_align: u64 = "0";

    /// Add clone-number times this to the offset
    Built Size offset_increment: SizeSpec = "0", { parent: Some("offset") };

    /// Stop after this many I/Os
    Built Size number_ios: u64 = "0";

    /// Same random sequence every run
    Built Bool randrepeat: bool = "1", { aliases: &["allrandrepeat"], parent: Some("rw") };

    /// Seed of the generators
    Built Size randseed: u64 = "0x89", { parent: Some("rw") };

    /// Do not track which blocks random I/O already covered
    Built Flag norandommap: bool, { parent: Some("rw") };

    /// If the map cannot be allocated continue without it
    Built Bool softrandommap: bool = "0", { parent: Some("norandommap"), unlisted: true };

    /// SSD preconditioning random write pattern
    Later Bool sprandom: bool = "0", { parent: Some("rw") };

    /// Number of regions for sprandom
    Later Int spr_num_regions: u32 = "100", { parent: Some("sprandom"), unlisted: true };

    /// Over-provisioning ratio for sprandom
    Later FloatList spr_op: f64 = "0.15", { parent: Some("sprandom"), unlisted: true };

    /// Device cache size for sprandom
    Later Size spr_cs: u64 = "0", { parent: Some("sprandom"), unlisted: true };

    /// Generator behind random offsets
    Built Choice random_generator: RandomGenerator = "tausworthe", { choices: RandomGenerator::CHOICES };

    /// Distribution of random offsets with optional arguments
    Built Choice random_distribution: Distribution = "random", { choices: Distribution::CHOICES };

    /// For random_distribution=sequence move forward by the list length each repetition
    Built Bool random_sequence_stride: bool = "0";

    /// Share of random blocks in a random workload, per direction
    Built Int percentage_random: PerDir<u32> = "100", { bounds: Bounds::at_most(100.0) };

    /// posix_fadvise advice issued on the file
    Built Choice fadvise_hint: FadviseHint = "1", { choices: FadviseHint::CHOICES };

    /// fsync after every N writes
    Built Int fsync: u32 = "0";

    /// fdatasync after every N writes
    Built Int fdatasync: u32 = "0";

    /// Mark every Nth write as barrier
    Later Int write_barrier: u32 = "0";

    /// mode list and count: mode[,mode]:N calls sync_file_range every N writes
    Built Choice sync_file_range: Option<SyncFileRange>, { choices: SyncFileRange::CHOICES };

    /// O_DIRECT or platform equivalent
    Built Bool direct: bool = "0";

    /// Page cache I/O
    Built Bool buffered: bool = "1";

    /// Lay the file out before writing
    Built Bool overwrite: bool = "0";

    /// Share of reads
    Built Int rwmixread: u32 = "50", { bounds: Bounds::at_most(100.0) };

    /// Share of writes
    Built Int rwmixwrite: u32 = "50", { bounds: Bounds::at_most(100.0) };

    /// Drop the page cache of the file before start
    Built Bool invalidate: bool = "1";

    /// O_SYNC or O_DSYNC on open
    Built Choice sync: SyncMode = "none", { choices: SyncMode::CHOICES };

    /// Write life time hint via fcntl
    Later Choice write_hint: Option<WriteHint>, { choices: WriteHint::CHOICES };

    /// fsync when the writes of the job are done
    Built Bool end_fsync: bool = "0";

    /// fsync each time a file is closed
    Built Bool fsync_on_close: bool = "0";

    /// syncfs when the writes of the job are done
    Built Bool end_syncfs: bool = "0";
}
