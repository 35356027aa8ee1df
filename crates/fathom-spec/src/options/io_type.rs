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
    ///
    /// Behind a colon: for sequential patterns the bytes to add after each block (may be negative), for
    /// random ones the number of I/Os for each random offset.
    Built Choice rw: RwMode = "read", { aliases: &["readwrite"], choices: Rw::CHOICES };

    /// Where I/Os go between two random offsets
    ///
    /// Matters for random patterns with a number behind the colon of rw.
    Built Choice rw_sequencer: RwSequencer = "sequential", { choices: RwSequencer::CHOICES };

    /// First byte of the region that is worked on
    ///
    /// A percentage counts from the size of the target.
    Built Size offset: SizeSpec = "0", { aliases: &["fileoffset"] };

    /// Multiple that a percentage offset is rounded up to
    ///
    /// 0 means the smallest block size.
    Built Int offset_align: u64 = "0";

    /// Distance between the regions of two clones
    ///
    /// Each clone adds its number times this to the offset.
    Built Size offset_increment: SizeSpec = "0", { parent: Some("offset") };

    /// End after this many I/Os
    ///
    /// 0 sets no limit; the size still does.
    Built Size number_ios: u64 = "0";

    /// Draw the same random sequence in every run
    ///
    /// With 0 and no randseed, seeds come from the system.
    Built Bool randrepeat: bool = "1", { aliases: &["allrandrepeat"], parent: Some("rw") };

    /// Seed of all random generators of the job
    Built Size randseed: u64 = "0x89", { parent: Some("rw") };

    /// Forget which blocks random I/O has been to
    ///
    /// Blocks may then repeat before all have had their turn.
    Built Flag norandommap: bool, { parent: Some("rw") };

    /// Go on without the map of blocks when memory is short
    Built Bool softrandommap: bool = "0", { parent: Some("norandommap"), unlisted: true };

    /// Precondition a solid state disk with one pass of random writes
    ///
    /// Needs random_generator=lfsr and norandommap=1.
    Built Bool sprandom: bool = "0", { parent: Some("rw") };

    /// Regions that a preconditioning pass is cut into
    Built Int spr_num_regions: u32 = "100", { parent: Some("sprandom"), unlisted: true };

    /// Over-provisioning of the disk that is preconditioned
    Built FloatList spr_op: f64 = "0.15", { parent: Some("sprandom"), unlisted: true };

    /// Size of the cache of the disk that is preconditioned
    Built Size spr_cs: u64 = "0", { parent: Some("sprandom"), unlisted: true };

    /// Generator behind random offsets
    ///
    /// Naming one asks for exactly the sequence that fio draws.
    Built Choice random_generator: RandomGenerator = "tausworthe", { choices: RandomGenerator::CHOICES };

    /// Which offsets random I/O prefers
    ///
    /// zipf:theta, pareto:h and normal:deviation take a centre behind another colon; zoned:share/range
    /// and zoned_abs:share/size list zones; sequence:n,n,... lists blocks. All but random turn the map
    /// of blocks off. The bell of normal deviates by 8.3 % of the range by itself, and a noise of the
    /// width given is added.
    Built Choice random_distribution: Distribution = "random", { choices: Distribution::CHOICES };

    /// Shift a listed sequence of blocks by its length at each repetition
    Built Bool random_sequence_stride: bool = "0";

    /// Share of random offsets in a random workload, in percent
    ///
    /// The rest continues behind the last I/O. One value each for reads, writes and trims.
    Built Int percentage_random: PerDir<u32> = "100,100,100", { bounds: Bounds::at_most(100.0) };

    /// What the kernel is told about the access pattern
    Built Choice fadvise_hint: FadviseHint = "1", { choices: FadviseHint::CHOICES };

    /// Sync the file after every so many writes
    ///
    /// 0 never does.
    Built Int fsync: u32 = "0";

    /// Sync the data of the file after every so many writes
    ///
    /// 0 never does.
    Built Int fdatasync: u32 = "0";

    /// Make every so-many-th write a barrier
    Built Int write_barrier: u32 = "0";

    /// Push written ranges out every so many writes
    ///
    /// Steps separated by commas, then a colon and the number of writes.
    Built Choice sync_file_range: Option<SyncFileRange>, { choices: SyncFileRange::CHOICES };

    /// Bypass the page cache (O_DIRECT)
    ///
    /// The opposite of buffered; the last one given counts.
    Built Bool direct: bool = "0";

    /// Go through the page cache
    ///
    /// The opposite of direct; the last one given counts.
    Built Bool buffered: bool = "1";

    /// Give the file its full size and content before writing to it
    Built Bool overwrite: bool = "0";

    /// Share of reads in a mixed workload, in percent
    ///
    /// The opposite of rwmixwrite; the last one given counts.
    Built Int rwmixread: u32 = "50", { bounds: Bounds::at_most(100.0) };

    /// Share of writes in a mixed workload, in percent
    ///
    /// The opposite of rwmixread; the last one given counts.
    Built Int rwmixwrite: u32 = "50", { bounds: Bounds::at_most(100.0) };

    /// Drop cached pages of the file before the job starts
    Built Bool invalidate: bool = "1";

    /// Durability of each write
    ///
    /// sync opens with O_SYNC, dsync with O_DSYNC.
    Built Choice sync: SyncMode = "none", { choices: SyncMode::CHOICES };

    /// Expected lifetime of the written data, told to the kernel
    Built Choice write_hint: Option<WriteHint>, { choices: WriteHint::CHOICES };

    /// Sync the file when the job has written everything
    Built Bool end_fsync: bool = "0";

    /// Sync a file each time it is closed
    Built Bool fsync_on_close: bool = "0";

    /// Sync the whole file system when the job has written everything
    ///
    /// Only some engines can.
    Built Bool end_syncfs: bool = "0";
}
