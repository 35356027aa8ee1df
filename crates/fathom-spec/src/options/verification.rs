//! Checking that the data read is the data written.

use crate::definition::{Bounds, choices, options};
use crate::value::{CpuList, LedgerPlace, Pattern};

choices! {
    /// How data is checked.
    pub enum VerifyMethod {
        /// Not at all
        None = "0",
        /// MD5
        Md5 = "md5",
        /// CRC of 64 bits
        Crc64 = "crc64",
        /// CRC of 32 bits
        Crc32 = "crc32",
        /// CRC32C, kept for old job files
        Crc32cIntel = "crc32c-intel",
        /// CRC32C
        Crc32c = "crc32c",
        /// CRC of 16 bits
        Crc16 = "crc16",
        /// CRC of 7 bits
        Crc7 = "crc7",
        /// SHA-1
        Sha1 = "sha1",
        /// SHA-256
        Sha256 = "sha256",
        /// SHA-512
        Sha512 = "sha512",
        /// SHA3-224
        Sha3_224 = "sha3-224",
        /// SHA3-256
        Sha3_256 = "sha3-256",
        /// SHA3-384
        Sha3_384 = "sha3-384",
        /// SHA3-512
        Sha3_512 = "sha3-512",
        /// xxHash
        Xxhash = "xxhash",
        /// Header fields only
        Meta = "meta",
        /// A pattern without header
        Pattern = "pattern",
        /// A pattern with header
        PatternHdr = "pattern_hdr",
        /// Header written, nothing checked
        Null = "null",
    }
}

choices! {
    /// Layout of the block headers that are written.
    pub enum VerifyHeaderFormat {
        /// 48 bytes with a version number, as fio 3.42
        Current = "current",
        /// 40 bytes, as fio 3.33 and before
        First = "first",
    }
}

choices! {
    /// Which saved writes a later verification covers.
    pub enum VerifyPolicy {
        /// Every completed write
        Completed = "completed",
        /// Writes before the last sync
        Fsynced = "fsynced",
    }
}

options! {
    /// Checking that the data read is the data written.
    pub struct VerificationOptions at job.verification, in Verification, table TABLE;

    /// Skip the writes and only verify data of an earlier identical run
    Built Flag verify_only: bool;

    /// Data check method
    Built Choice verify: VerifyMethod = "0", { choices: VerifyMethod::CHOICES };

    /// Run the read back phase
    Built Bool do_verify: bool = "1", { parent: Some("verify") };

    /// Which saved writes an offline verify covers
    Built Choice verify_policy: VerifyPolicy = "completed", {
        choices: VerifyPolicy::CHOICES,
        parent: Some("verify"),
    };

    /// Bytes between verify headers inside a block
    Built Int verify_interval: Option<u32>, { bounds: Bounds::at_least(96.0), parent: Some("verify") };

    /// Place the header at this byte inside the interval
    Built Int verify_offset: Option<u32>, { bounds: Bounds::at_least(48.0), parent: Some("verify") };

    /// Fill pattern: number, 0x bytes, "string", 'file', %o
    Built Text verify_pattern: Option<Pattern>, { parent: Some("verify") };

    /// Restart the pattern (and recompute %o) every this many bytes
    Built Int verify_pattern_interval: u32 = "0", { parent: Some("verify") };

    /// Stop at the first mismatch
    Built Bool verify_fatal: bool = "0", { parent: Some("verify") };

    /// Write received and expected data to files on mismatch
    Built Bool verify_dump: bool = "0", { parent: Some("verify") };

    /// Number of verify threads
    Built Int verify_async: u32 = "0", { parent: Some("verify") };

    /// Verify after this many writes instead of at the end
    Built Size verify_backlog: Option<u64>, { parent: Some("verify") };

    /// How many blocks to verify each time
    Built Int verify_backlog_batch: Option<u32>, { parent: Some("verify") };

    /// CPU list for verify threads
    Built Text verify_async_cpus: Option<CpuList>, { parent: Some("verify_async"), unlisted: true };

    /// Replay the generator instead of remembering writes
    Built Bool experimental_verify: bool, { parent: Some("verify") };

    /// Use the saved write state to limit verification
    Built Bool verify_state_load: bool, { parent: Some("verify") };

    /// Save write state when the job ends
    Built Bool verify_state_save: bool = "1", { parent: Some("verify") };

    /// Check the sequence number in the header
    Built Bool verify_write_sequence: bool = "1", { parent: Some("verify") };

    /// Check the seed in the header
    Built Bool verify_header_seed: bool = "1", { parent: Some("verify") };

    /// Layout of the block headers that are written; reading knows both
    ///
    /// Distributions still ship programs with headers of 40 bytes: write `first` for them.
    Built Choice verify_header_format: VerifyHeaderFormat = "current", {
        choices: VerifyHeaderFormat::CHOICES,
        parent: Some("verify"),
        unlisted: true,
    };

    /// Keep a ledger of what is issued, acknowledged and synced: a file, or tcp:HOST:PORT
    ///
    /// After a crash, `fathom ledger check` says which writes the storage had promised and did not keep. The file must not lie
    /// on the storage under test.
    Built Text verify_ledger: Option<LedgerPlace>, { parent: Some("verify"), unlisted: true };

    /// Share of verify blocks to trim
    Built Int trim_percentage: u32 = "0", { bounds: Bounds::between(0.0, 100.0), parent: Some("verify") };

    /// Trimmed blocks must read back as zero
    Built Bool trim_verify_zero: bool = "1", { parent: Some("trim_percentage") };

    /// Trim after this many written blocks
    Built Size trim_backlog: Option<u64>, { parent: Some("trim_percentage") };

    /// Blocks trimmed each time
    Built Int trim_backlog_batch: Option<u32>, { parent: Some("trim_percentage") };
}
