//! Verification: how data is stamped, recorded and checked.

use fathom_spec::value::LedgerPlace;
use fathom_verify::rule::Rule;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The verification of one clone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifyPlan {
    /// How blocks are generated and checked.
    pub rule: Rule,
    /// True if the job writes the data itself; otherwise it checks all data that it reads.
    pub writes: bool,
    /// True if writes are skipped and the data of an earlier run is checked.
    pub only_checks: bool,
    /// True if blocks need only be consistent in themselves: the position of a write depended on the state of
    /// its zone at the time, which a later run does not know.
    pub checks_in_place: bool,
    /// True if the whole sequence is generated beforehand, to find the last write of each block.
    pub rehearses: bool,
    /// True if `io_size` exceeds one pass and all passes are done before anything is read back.
    pub reads_back_last: bool,
    /// True if written data is read back, either after each pass or in batches from a backlog.
    pub reads_back: bool,
    /// True if this run checks what it writes or reads (`do_verify`).
    pub wants_checks: bool,
    /// How reads that verify count against `io_size`, in this run or a later one.
    pub counted_reads: CountedReads,
    /// True if a write may overlap an earlier one. The latest write counts, and blocks are read back in the
    /// order of their offsets.
    pub may_overlap: bool,
    /// True if a write waits for overlapping writes in flight. Without this, the order of two concurrent writes
    /// is unknown, and some devices leave neither intact.
    pub serializes_writes: bool,
    /// True if other workers may write the same blocks concurrently, so that the last write of a block is
    /// unknown.
    pub shares_blocks: bool,
    /// True if writes are regenerated instead of remembered.
    pub regenerates: bool,
    /// Number of writes after which a batch is read back; 0 to wait for the end of the pass.
    pub backlog: u64,
    /// Number of blocks in a batch that is read back.
    pub backlog_batch: u64,
    /// True if the device compares the data itself, so that nothing is read back.
    pub device_compares: bool,
    /// True if the first mismatch ends the job.
    pub is_fatal: bool,
    /// True if wrong blocks are saved to files.
    pub dumps: bool,
    /// Number of verification threads; 0 to verify in the run loop.
    pub threads: u32,
    /// Processors of the verification threads.
    pub thread_cpus: Vec<u32>,
    /// Trimming of written blocks.
    pub trims: Option<TrimPlan>,
    /// The file to save the verification state in.
    pub state_to_save: Option<PathBuf>,
    /// The file with the verification state of an earlier run.
    pub state_to_load: Option<PathBuf>,
    /// True if the saved state covers only the writes up to the last sync.
    pub state_up_to_sync: bool,
    /// Location of the ledger.
    pub ledger: Option<LedgerPlace>,
    /// File that lists miscompares.
    pub miscompare_file: PathBuf,
}

/// What a verifying job counts against `io_size`, in addition to its own I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CountedReads {
    /// No verification counts: all passes are done before written data is read back, or nothing is read back.
    None,
    /// Each write of a pass counts once more, for its read.
    Writes,
    /// Each offset written in a pass counts once more, even if it was written repeatedly.
    Places,
}

/// `trim_percentage` and related options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrimPlan {
    /// Share of written blocks to trim, percent.
    pub percent: u32,
    /// Number of pending blocks at which a batch is trimmed; 0 for the end of the pass.
    pub backlog: u64,
    /// Number of blocks in a batch of trims.
    pub batch: u64,
    /// True if trimmed blocks must read as zeros.
    pub reads_zero: bool,
}
