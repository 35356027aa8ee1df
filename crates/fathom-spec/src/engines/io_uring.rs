//! The `io_uring` and `io_uring_cmd` engines and their options.

use crate::definition::{Bounds, choices, options};
use crate::engines::{EngineDef, priorities};
use crate::value::{PriorityShares, WordList};
use fathom_stats::PerDirection;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "io_uring";

/// `ioengine=io_uring`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Linux io_uring: asynchronous I/O through shared rings")
        .built()
        .atomic_writes()
        .one_thread()
        .with_options(TABLE)
        .with_priorities(priorities!(io_uring));

/// `ioengine=io_uring_cmd`
pub const COMMANDS: EngineDef = EngineDef::new("io_uring_cmd", "NVMe and SCSI pass-through over io_uring")
    .many_ranges()
    .syncfs()
    .places_data()
    .one_thread()
    .with_options(TABLE);

choices! {
    /// Command for the verify phase.
    pub enum VerifyCommand {
        /// Read and compare in fathom
        Read = "read",
        /// The device compares
        Compare = "compare",
    }
}

choices! {
    /// Type of pass-through.
    pub enum CommandType {
        /// NVMe
        Nvme = "nvme",
        /// SCSI through bsg
        Bsg = "bsg",
    }
}

choices! {
    /// Length of SCSI commands.
    pub enum CdbLength {
        /// Automatic
        Auto = "0",
        /// 10 bytes
        Ten = "10",
        /// 16 bytes
        Sixteen = "16",
        /// 32 bytes
        ThirtyTwo = "32",
    }
}

choices! {
    /// BYTCHK field of VERIFY.
    pub enum VerifyBytchk {
        /// Medium check only
        Zero = "0",
        /// Compare with the data sent
        One = "1",
        /// Compare with one block sent
        Three = "3",
    }
}

choices! {
    /// Command for reads.
    pub enum ReadMode {
        /// Read
        Read = "read",
        /// Pre-fetch into the cache of the device
        Prefetch = "prefetch",
    }
}

choices! {
    /// A field of protection information to check.
    pub enum PiCheck {
        /// Guard
        Guard = "GUARD",
        /// Reference tag
        RefTag = "REFTAG",
        /// Application tag
        AppTag = "APPTAG",
    }
}

options! {
    /// Options of the `io_uring` and `io_uring_cmd` engines.
    pub struct IoUringOptions at job.private.io_uring, in Engine, table TABLE;

    /// Poll the device for completions
    Built Flag hipri: bool, { engine: ENGINE };

    /// FUA on reads (io_uring_cmd)
    Later Bool readfua: bool = "0", { engine: ENGINE };

    /// FUA on writes (io_uring_cmd)
    Later Bool writefua: bool = "0", { engine: ENGINE };

    /// Write command, or a mix mode/pct:mode/pct (io_uring_cmd): write uncor zeroes verify zone_append
    Later Choice write_mode: String = "write", { engine: ENGINE };

    /// Read or Compare in the verify phase (io_uring_cmd)
    Later Choice verify_mode: VerifyCommand = "read", { choices: VerifyCommand::CHOICES, engine: ENGINE };

    /// Register the buffers with the kernel
    Built Flag fixedbufs: bool, { engine: ENGINE };

    /// Register the files with the kernel
    Built Flag registerfiles: bool, { engine: ENGINE };

    /// Let a kernel thread submit the I/Os
    Built Flag sqthread_poll: bool, { engine: ENGINE };

    /// CPU for the submitting kernel thread
    Built Int sqthread_poll_cpu: Option<u32>, { engine: ENGINE };

    /// Use READ and WRITE instead of READV and WRITEV; -1 uses what the kernel supports
    Built Int nonvectored: i32 = "-1", { engine: ENGINE };

    /// Drop the pages of each buffered I/O from the page cache (RWF_DONTCACHE)
    Built Int uncached: Option<u32>, { engine: ENGINE };

    /// Fail an I/O instead of waiting for locks (RWF_NOWAIT)
    Built Bool nowait: bool, { engine: ENGINE };

    /// Hand every Nth request directly to a kernel worker (IOSQE_ASYNC)
    Built Int force_async: Option<u32>, { engine: ENGINE };

    /// Pass-through type (io_uring_cmd)
    Later Choice cmd_type: CommandType = "nvme", { choices: CommandType::CHOICES, engine: ENGINE };

    /// SCSI CDB length; 0 is automatic (io_uring_cmd bsg)
    Later Choice cdb_len: CdbLength = "0", { choices: CdbLength::CHOICES, engine: ENGINE };

    /// BYTCHK of VERIFY (io_uring_cmd bsg)
    Later Choice verify_bytchk: VerifyBytchk = "0", { choices: VerifyBytchk::CHOICES, engine: ENGINE };

    /// Read or Pre-Fetch (io_uring_cmd bsg)
    Later Choice read_mode: ReadMode = "read", { choices: ReadMode::CHOICES, engine: ENGINE };

    /// Metadata bytes per I/O
    Later Int md_per_io_size: u32 = "0", { engine: ENGINE };

    /// PRACT bit
    Later Bool pi_act: bool = "1", { engine: ENGINE };

    /// Fields to check, separated by commas: GUARD, REFTAG, APPTAG
    Later Choice pi_chk: Option<WordList<PiCheck>>, { choices: PiCheck::CHOICES, engine: ENGINE };

    /// Application tag
    Later Int apptag: u32 = "0x1234", { engine: ENGINE };

    /// Application tag mask
    Later Int apptag_mask: u32 = "0xffff", { engine: ENGINE };

    /// DEAC bit on write zeroes (io_uring_cmd)
    Later Bool deac: bool = "0", { engine: ENGINE };

    /// Share of I/Os that get cmdprio, in percent, for reads and writes
    Built Int cmdprio_percentage: PerDirection<u32> = "0", {
        bounds: Bounds::between(0.0, 100.0),
        engine: ENGINE,
    };

    /// Priority class of these I/Os
    Built Int cmdprio_class: PerDirection<u32> = "1", { bounds: Bounds::between(1.0, 3.0), engine: ENGINE };

    /// Priority hint of these I/Os
    Built Int cmdprio_hint: PerDirection<u32> = "0", { bounds: Bounds::between(0.0, 1023.0), engine: ENGINE };

    /// Priority level of these I/Os
    Built Int cmdprio: PerDirection<u32> = "0", { bounds: Bounds::between(0.0, 7.0), engine: ENGINE };

    /// Share of I/Os that get a priority, per block size: size/percent[/class/level[/hint]]
    Built Text cmdprio_bssplit: PriorityShares, { engine: ENGINE };
}
