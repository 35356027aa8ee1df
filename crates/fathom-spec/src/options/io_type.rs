//! I/O direction, pattern, caching and syncing.

use crate::declare::{choices, options};
use crate::definition::Bounds;
use crate::value::{Distribution, Rw, RwMode, SizeSpec, SyncFileRange};
use fathom_stats::PerDirection;

choices! {
    /// Offsets of the I/Os between two random offsets.
    pub enum RwSequencer {
        /// The following blocks
        Sequential = "sequential",
        /// The same block again
        Identical = "identical",
    }
}

choices! {
    /// Random number generator for offsets.
    pub enum RandomGenerator {
        /// 32-bit combined Tausworthe generator
        Tausworthe = "tausworthe",
        /// Linear feedback shift register; visits each block once
        Lfsr = "lfsr",
        /// 64-bit combined Tausworthe generator
        Tausworthe64 = "tausworthe64",
    }
}

choices! {
    /// Access pattern hint for the kernel (fadvise).
    pub enum FadviseHint {
        /// Nothing
        None = "0",
        /// Same as the job: random or sequential
        Auto = "1",
        /// Random access
        Random = "random",
        /// Sequential access
        Sequential = "sequential",
        /// Data will be used once
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

choices! {
    /// What a data set is divided among.
    pub enum Split {
        /// Not at all
        None = "none",
        /// Among the hosts that run the job
        Hosts = "hosts",
        /// Among all clones on all of these hosts
        Clones = "clones",
    }
}

options! {
    /// I/O direction, pattern, caching and syncing.
    pub struct IoTypeOptions in IoType, table TABLE;

    /// I/O direction and pattern
    ///
    /// After a colon: for sequential patterns, the bytes to skip after each block (may be negative); for random patterns, the
    /// number of I/Os per random offset.
    Built Choice rw: RwMode = "read", { aliases: &["readwrite"], choices: Rw::CHOICES };

    /// Offsets of the I/Os between two random offsets
    ///
    /// For random patterns with a number after the colon of rw.
    Built Choice rw_sequencer: RwSequencer = "sequential", { choices: RwSequencer::CHOICES };

    /// Start of the I/O region
    ///
    /// A percentage is relative to the size of the target.
    Built Size offset: SizeSpec = "0", { aliases: &["fileoffset"] };

    /// Round a percentage offset up to a multiple of this
    ///
    /// 0 means the smallest block size.
    Built Int offset_align: u64 = "0";

    /// Offset between the regions of successive clones
    ///
    /// Each clone adds this times its number to offset.
    Built Size offset_increment: SizeSpec = "0", { parent: Some("offset") };

    /// Number clones across all hosts for offset_increment, instead of starting over on each host
    ///
    /// For a file or device that several hosts share: each clone of each host gets its own region.
    Built Bool offset_increment_over_hosts: bool = "0", { parent: Some("offset_increment") };

    /// Divide the data set among the hosts that run the job
    ///
    /// The shares consist of whole blocks, cover everything, and do not overlap. hosts: the clones of a host
    /// share its part; clones: each clone of each host has a part. All hosts then share generated files.
    Built Choice split: Split = "none", { choices: Split::CHOICES };

    /// Work on the files, or the share, of the host this many places further down the list
    ///
    /// After a job that wrote, a host then never reads data from its own page cache. Only hosts that run the
    /// job count, and the first one follows the last.
    Built Int host_rotation: u32 = "0";

    /// Number of I/Os after which the job ends
    ///
    /// 0 means no limit; size still applies.
    Built Size number_ios: u64 = "0";

    /// Use the same random sequence in every run
    ///
    /// With 0 and no randseed, the system provides the seeds.
    Built Bool randrepeat: bool = "1", { aliases: &["allrandrepeat"], parent: Some("rw") };

    /// Seed for the job's random generators
    Built Size randseed: u64 = "0x89", { parent: Some("rw") };

    /// Do not track which blocks random I/O has covered
    ///
    /// Blocks may then repeat before all have been covered.
    Built Flag norandommap: bool, { parent: Some("rw") };

    /// Continue without the random map if memory is short
    Built Bool softrandommap: bool = "0", { parent: Some("norandommap"), unlisted: true };

    /// Precondition a solid state disk with one pass of random writes
    ///
    /// Needs random_generator=lfsr and norandommap=1.
    Built Bool sprandom: bool = "0", { parent: Some("rw") };

    /// Number of regions in a preconditioning pass
    Built Int spr_num_regions: u32 = "100", { parent: Some("sprandom"), unlisted: true };

    /// Over-provisioning of the disk to precondition, as a share of its logical size
    Built FloatList spr_op: f64 = "0.15", { parent: Some("sprandom"), unlisted: true };

    /// Cache size of the disk to precondition
    Built Size spr_cs: u64 = "0", { parent: Some("sprandom"), unlisted: true };

    /// Random number generator for offsets
    ///
    /// If you name one, the job uses exactly fio's sequence.
    Built Choice random_generator: RandomGenerator = "tausworthe", { choices: RandomGenerator::CHOICES };

    /// Distribution of random offsets
    ///
    /// zipf:theta, pareto:h and normal:deviation take a centre after another colon; zoned:share/range
    /// and zoned_abs:share/size list zones; sequence:n,n,... lists blocks. All but random turn the random
    /// map off. normal is a bell curve with a deviation of 8.3 % of the range, plus noise of the given
    /// width.
    Built Choice random_distribution: Distribution = "random", { choices: Distribution::CHOICES };

    /// Shift a sequence of blocks by its length at each repetition
    Built Bool random_sequence_stride: bool = "0";

    /// Share of random offsets in a random workload, in percent
    ///
    /// All other I/Os continue after the previous one. One value each for reads, writes and trims.
    Built Int percentage_random: PerDirection<u32> = "100,100,100", { bounds: Bounds::at_most(100.0) };

    /// Access pattern hint for the kernel (fadvise)
    Built Choice fadvise_hint: FadviseHint = "1", { choices: FadviseHint::CHOICES };

    /// Sync the file (fsync) after every N writes
    ///
    /// 0 means never.
    Built Int fsync: u32 = "0";

    /// Sync the file's data (fdatasync) after every N writes
    ///
    /// 0 means never.
    Built Int fdatasync: u32 = "0";

    /// Make every Nth write a barrier
    Built Int write_barrier: u32 = "0";

    /// Write back written ranges (sync_file_range) after every N writes
    ///
    /// Steps separated by commas, then a colon and N.
    Built Choice sync_file_range: Option<SyncFileRange>, { choices: SyncFileRange::CHOICES };

    /// Bypass the page cache (O_DIRECT)
    ///
    /// The opposite of buffered; the last one wins.
    Built Bool direct: bool = "0";

    /// Use the page cache
    ///
    /// The opposite of direct; the last one wins.
    Built Bool buffered: bool = "1";

    /// Lay the file out in full before the job overwrites it
    Built Bool overwrite: bool = "0";

    /// Share of reads in a mixed workload, in percent
    ///
    /// The opposite of rwmixwrite; the last one wins.
    Built Int rwmixread: u32 = "50", { bounds: Bounds::at_most(100.0) };

    /// Share of writes in a mixed workload, in percent
    ///
    /// The opposite of rwmixread; the last one wins.
    Built Int rwmixwrite: u32 = "50", { bounds: Bounds::at_most(100.0) };

    /// Drop the file's cached pages before the job starts
    Built Bool invalidate: bool = "1";

    /// Durability of each write
    ///
    /// sync opens with O_SYNC, dsync with O_DSYNC.
    Built Choice sync: SyncMode = "none", { choices: SyncMode::CHOICES };

    /// Hint to the kernel about the lifetime of written data
    Built Choice write_hint: Option<WriteHint>, { choices: WriteHint::CHOICES };

    /// Sync the file (fsync) after the last write of the job
    Built Bool end_fsync: bool = "0";

    /// Sync a file (fsync) whenever it is closed
    Built Bool fsync_on_close: bool = "0";

    /// Sync the whole file system after the last write of the job
    ///
    /// Only some engines support this.
    Built Bool end_syncfs: bool = "0";
}
