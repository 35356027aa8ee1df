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
    /// The job writes the data itself; otherwise it checks whatever it reads.
    pub writes: bool,
    /// Writes are skipped, and the data of an earlier run is checked.
    pub only_checks: bool,
    /// The position of a write depends on the state of its zone at the time, which a later run does not know:
    /// each block found only has to be consistent in itself.
    pub checks_in_place: bool,
    /// The whole sequence is generated first, to find out which write of each block was the last.
    pub rehearses: bool,
    /// `io_size` exceeds one pass, and all passes are done before anything is read back.
    pub reads_back_last: bool,
    /// Written data is read back: after each pass, or in batches from a backlog.
    pub reads_back: bool,
    /// This run checks what it writes or reads (`do_verify`).
    pub wants_checks: bool,
    /// How reads that verify count against `io_size`, in this run or a later one.
    pub counted_reads: CountedReads,
    /// A write may overlap an earlier one: the latest counts, and blocks are read back in the order of their
    /// offsets.
    pub may_overlap: bool,
    /// A write waits for overlapping writes in flight. Otherwise it would be unknown which of two concurrent
    /// writes is the latest, and some devices leave neither intact.
    pub serializes_writes: bool,
    /// Other workers may write the same blocks concurrently, so the last write of a block is unknown.
    pub shares_blocks: bool,
    /// Writes are regenerated instead of remembered.
    pub regenerates: bool,
    /// Writes after which a batch is read back; 0 for the end of the pass.
    pub backlog: u64,
    /// Number of blocks in such a batch.
    pub backlog_batch: u64,
    /// The device compares the data itself, and nothing is read back.
    pub device_compares: bool,
    /// The first mismatch ends the job.
    pub is_fatal: bool,
    /// Wrong blocks are saved to files.
    pub dumps: bool,
    /// Number of verification threads; 0 to verify in the loop.
    pub threads: u32,
    /// Processors for these threads.
    pub thread_cpus: Vec<u32>,
    /// Trimming of written blocks.
    pub trims: Option<TrimPlan>,
    /// File for saving the state.
    pub state_to_save: Option<PathBuf>,
    /// File with the state of an earlier run.
    pub state_to_load: Option<PathBuf>,
    /// The saved state only covers writes up to the last sync.
    pub state_up_to_sync: bool,
    /// Location of the ledger.
    pub ledger: Option<LedgerPlace>,
    /// File that lists miscompares.
    pub miscompare_file: PathBuf,
}

/// What a verifying job counts against `io_size`, in addition to its own I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CountedReads {
    /// Nothing: all passes are done before written data is read back, or nothing is read back.
    None,
    /// Each write of a pass counts.
    Writes,
    /// Each offset written in a pass counts once.
    Places,
}

/// `trim_percentage` and related options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrimPlan {
    /// Share of written blocks, percent.
    pub percent: u32,
    /// Number of pending blocks at which a batch is trimmed; 0 for the end of the pass.
    pub backlog: u64,
    /// Blocks of such a batch.
    pub batch: u64,
    /// Trimmed blocks must read as zeros.
    pub reads_zero: bool,
}
