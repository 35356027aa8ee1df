//! Verification: compares the data read with the data written.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::value::{CpuList, LedgerPlace, Pattern};
use fathom_verify::header::HeaderFormat;

pub use crate::value::VerifyMethod;

choices! {
    /// Layout of the block headers to write.
    pub enum VerifyHeaderFormat {
        /// 48 bytes with a version number, as in fio 3.42
        Current = "current",
        /// 40 bytes, as in fio 3.33 and earlier
        First = "first",
    }
}

impl VerifyHeaderFormat {
    /// The layout itself.
    pub fn format(self) -> HeaderFormat {
        match self {
            VerifyHeaderFormat::Current => HeaderFormat::Current,
            VerifyHeaderFormat::First => HeaderFormat::First,
        }
    }
}

choices! {
    /// Which writes a later verification covers.
    pub enum VerifyPolicy {
        /// Every completed write
        Completed = "completed",
        /// Writes before the last sync
        Fsynced = "fsynced",
    }
}

options! {
    /// Verification: does the data read match the data written?
    pub struct VerificationOptions in Verification, table TABLE;

    /// Skip the writes and only verify data from an earlier identical run
    Built Flag verify_only: bool;

    /// Verification method
    Built Choice verify: VerifyMethod = "0", { choices: VerifyMethod::CHOICES };

    /// Read back and verify after writing
    Built Bool do_verify: bool = "1", { parent: Some("verify") };

    /// Which writes a later verification covers
    Built Choice verify_policy: VerifyPolicy = "completed", {
        choices: VerifyPolicy::CHOICES,
        parent: Some("verify"),
    };

    /// Distance between verify headers within a block, in bytes
    Built Int verify_interval: Option<u32>, { bounds: Bounds::at_least(96.0), parent: Some("verify") };

    /// Offset of the header within the interval, in bytes
    Built Int verify_offset: Option<u32>, { bounds: Bounds::at_least(48.0), parent: Some("verify") };

    /// Fill pattern: number, 0x bytes, "string", 'file', %o
    Built Text verify_pattern: Option<Pattern>, { names: Names::Content, parent: Some("verify") };

    /// Restart the pattern (and recompute %o) after this many bytes
    Built Int verify_pattern_interval: u32 = "0", { parent: Some("verify") };

    /// Stop at the first mismatch
    Built Bool verify_fatal: bool = "0", { parent: Some("verify") };

    /// On a mismatch, write received and expected data to files
    Built Bool verify_dump: bool = "0", { parent: Some("verify") };

    /// Number of verify threads
    Built Int verify_async: u32 = "0", { parent: Some("verify") };

    /// Verify after every N writes instead of at the end
    Built Size verify_backlog: Option<u64>, { parent: Some("verify") };

    /// Number of blocks to verify at a time
    Built Int verify_backlog_batch: Option<u32>, { parent: Some("verify") };

    /// CPUs for the verify threads
    Built Text verify_async_cpus: Option<CpuList>, { names: Names::Nothing, parent: Some("verify_async"), unlisted: true };

    /// Regenerate the sequence of writes instead of remembering it
    Built Bool experimental_verify: bool, { parent: Some("verify") };

    /// Verify only as far as the saved verify state says
    Built Bool verify_state_load: bool, { names: Names::File, parent: Some("verify") };

    /// Save the verify state when the job ends
    Built Bool verify_state_save: bool = "1", { parent: Some("verify") };

    /// Check the sequence number in the header
    Built Bool verify_write_sequence: bool = "1", { parent: Some("verify") };

    /// Check the seed in the header
    ///
    /// Off by default for jobs that only read and for `verify_only`, since the data may come from a run with
    /// another `randseed`. 1 reports such data as corrupt.
    Built Bool verify_header_seed: bool = "1", { parent: Some("verify") };

    /// Layout of the block headers to write; both are readable
    ///
    /// Distributions still ship fio versions with 40-byte headers: use `first` for them.
    Built Choice verify_header_format: VerifyHeaderFormat = "current", {
        choices: VerifyHeaderFormat::CHOICES,
        parent: Some("verify"),
        unlisted: true,
    };

    /// Record issued, acknowledged and synced writes in a ledger: a file, or tcp:HOST:PORT
    ///
    /// After a crash, `fathom ledger check` reports the writes that the storage promised but lost. Do not put the file on the
    /// storage under test.
    Built Text verify_ledger: Option<LedgerPlace>, { names: Names::File, parent: Some("verify"), unlisted: true };

    /// Share of written blocks to trim, in percent
    Built Int trim_percentage: u32 = "0", { bounds: Bounds::between(0.0, 100.0), parent: Some("verify") };

    /// Check that trimmed blocks read back as zeros
    Built Bool trim_verify_zero: bool = "1", { parent: Some("trim_percentage") };

    /// Trim after every N written blocks
    Built Size trim_backlog: Option<u64>, { parent: Some("trim_percentage") };

    /// Number of blocks to trim at a time
    Built Int trim_backlog_batch: Option<u32>, { parent: Some("trim_percentage") };
}
