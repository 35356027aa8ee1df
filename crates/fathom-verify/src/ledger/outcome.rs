//! What is checked against ledgers, and what was found.

use super::promises::PromisedBy;
use crate::verdict::Verdict;
use serde::Serialize;
use thiserror::Error;

/// A file to check, and who wrote it.
#[derive(Clone, Debug)]
pub struct FileToCheck {
    /// Its name in the outcome.
    pub name: String,
    /// The ledgers that name it, by index, and its number in each.
    pub members: Vec<(usize, u32)>,
}

/// Why a file gave no data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// It cannot be used at all, so nothing can be checked.
    Unusable(Unusable),
    /// This part of it cannot be read.
    Unreadable(Unreadable),
}

/// A file that cannot be used, in the words of whoever reads it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unusable(pub String);

/// A part of a file that cannot be read, in the words of whoever reads it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

/// Why the check has no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckError {
    /// Ledgers for one file are from different boots of the machine, so the order of their writes is unknown.
    Boots {
        /// The file.
        file: String,
        /// Indices of two such ledgers.
        ledgers: (usize, usize),
    },
    /// A file cannot be used.
    Unusable(Unusable),
}

/// What was found, over all files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// How many writes of each ledger are promised.
    pub promised_writes: Vec<u64>,
    /// Bytes for which something was promised, and which were checked.
    pub bytes_checked: u64,
    /// Bytes that were written and not promised.
    pub bytes_not_promised: u64,
    /// Runs of bytes of the same writes that were checked.
    pub places_checked: u64,
    /// Of these, places that hold parts of several writes, as they may.
    pub places_mixed: u64,
    /// Of these, places that hold data that is newer than the ledger and right as far as it can be known.
    pub places_newer: u64,
    /// How many promises are broken.
    pub broken_count: u64,
    /// The first of them, in order of files and places.
    pub broken: Vec<BrokenPromise>,
}

/// A promise that the storage broke.
#[derive(Clone, Debug, Serialize)]
pub struct BrokenPromise {
    /// Name of the file.
    pub file: String,
    /// First byte of the block in the file.
    pub offset: u64,
    /// Bytes of the block.
    pub length: u64,
    /// The first byte that is not as promised.
    pub first_wrong: u64,
    /// What should be there at least.
    pub promised: PromisedWrite,
    /// What is there: `short` beyond the end of the file, `unreadable`, or the class of the verdict.
    pub class: &'static str,
    /// The same in a sentence.
    pub sentence: String,
    /// The verdict, if there is data to judge.
    pub verdict: Option<Verdict>,
    /// The write that is there instead, if the ledger has it.
    pub found: Option<FoundWrite>,
}

/// A promised write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PromisedWrite {
    /// Index of its ledger.
    pub ledger: usize,
    /// Its number in the job.
    pub number: u64,
    /// Its seed.
    pub seed: u64,
    /// When it was issued, ns.
    pub issued_ns: u64,
    /// When it was acknowledged, ns.
    pub acknowledged_ns: u64,
    /// Since when it is promised, ns.
    pub since_ns: u64,
    /// Why it is promised.
    #[serde(flatten)]
    pub by: PromisedBy,
}

/// An older write that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FoundWrite {
    /// Index of its ledger.
    pub ledger: usize,
    /// Its number in the job.
    pub number: u64,
    /// When it was issued, ns.
    pub issued_ns: u64,
}
