//! Verification: how data is stamped, remembered and checked.

use fathom_spec::value::LedgerPlace;
use fathom_verify::rule::Rule;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What one clone does about verification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifyPlan {
    /// How blocks are made and checked.
    pub rule: Rule,
    /// The job writes data of its own; otherwise it checks whatever it reads.
    pub writes: bool,
    /// Writes are passed over, and what an earlier run wrote is checked.
    pub only_checks: bool,
    /// Where a write went depends on the state of its zone at that time, which a later run does not know: each block that is there only has
    /// to be right in itself.
    pub checks_in_place: bool,
    /// The whole sequence is gone through first, to know which write was the last of each place.
    pub rehearses: bool,
    /// `io_size` goes beyond one pass, and all passes come before what was written is read back.
    pub reads_back_last: bool,
    /// What was written is read back: after each pass, or as a backlog allows.
    pub reads_back: bool,
    /// What is written or read is to be checked by this run (`do_verify`).
    pub wants_checks: bool,
    /// What counts against `io_size` for being read back by this run or another.
    pub counted_reads: CountedReads,
    /// A write may go where an earlier one went: the latest counts, and blocks are read back in order of their places.
    pub may_overlap: bool,
    /// A write may go where another one still is: it waits for it. Of two at a time nobody knows which is the latest, and on some
    /// devices neither is whole.
    pub serializes_writes: bool,
    /// Other workers may write the same blocks at the same time, so which write of a block was the last is not known.
    pub shares_blocks: bool,
    /// Writes are not remembered but worked out again.
    pub regenerates: bool,
    /// Writes after which a batch is read back; 0 for the end of the pass.
    pub backlog: u64,
    /// Blocks of such a batch.
    pub backlog_batch: u64,
    /// The device compares what was written with what it holds, and reads nothing back.
    pub device_compares: bool,
    /// The first mismatch ends the job.
    pub is_fatal: bool,
    /// Blocks that are wrong are kept as files.
    pub dumps: bool,
    /// Threads that check; 0 checks in the loop.
    pub threads: u32,
    /// Processors for these threads.
    pub thread_cpus: Vec<u32>,
    /// Trimming of written blocks.
    pub trims: Option<TrimPlan>,
    /// Where the state is saved.
    pub state_to_save: Option<PathBuf>,
    /// Where the state of an earlier run is read from.
    pub state_to_load: Option<PathBuf>,
    /// The saved state covers writes up to the last sync only.
    pub state_up_to_sync: bool,
    /// Where the ledger goes.
    pub ledger: Option<LedgerPlace>,
    /// Where miscompares are listed.
    pub miscompare_file: PathBuf,
}

/// What a job that verifies counts against `io_size` beside its own I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CountedReads {
    /// Nothing: all passes come before what was written is read back, or nothing is.
    None,
    /// Each write of a pass.
    Writes,
    /// Each place that a pass wrote to, however often.
    Places,
}

/// `trim_percentage` and its companions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrimPlan {
    /// Share of written blocks, percent.
    pub percent: u32,
    /// Blocks to be trimmed at which a batch is; 0 for the end of the pass.
    pub backlog: u64,
    /// Blocks of such a batch.
    pub batch: u64,
    /// They must read as zeros afterwards.
    pub reads_zero: bool,
}
