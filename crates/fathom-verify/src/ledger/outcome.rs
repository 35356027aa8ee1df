//! Input and results of checking files against ledgers.

use super::promises::PromisedBy;
use crate::verdict::Verdict;
use serde::Serialize;
use thiserror::Error;

/// A file to check, and its writers.
#[derive(Clone, Debug)]
pub struct FileToCheck {
    /// Name of the file in the outcome.
    pub name: String,
    /// Indices of the ledgers that name the file, with the number of the file in each.
    pub members: Vec<(usize, u32)>,
}

/// The reason for which a file returned no data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The file is unusable, so it cannot be checked.
    Unusable(Unusable),
    /// This part of the file cannot be read.
    Unreadable(Unreadable),
}

/// An unusable file, as described by the reader.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unusable(pub String);

/// An unreadable part of a file, as described by the reader.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

/// The reason for which there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckError {
    /// Ledgers for one file are from different boots of the machine, so the order of their writes is unknown.
    Boots {
        /// The file.
        file: String,
        /// Indices of two such ledgers.
        ledgers: (usize, usize),
    },
    /// A file is unusable.
    Unusable(Unusable),
}

/// The results of all files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// Number of promised writes of each ledger.
    pub promised_writes: Vec<u64>,
    /// Number of bytes with a promise, which were checked.
    pub bytes_checked: u64,
    /// Number of bytes written without a promise.
    pub bytes_not_promised: u64,
    /// Number of places checked. A place is a byte range covered by the same writes.
    pub places_checked: u64,
    /// Number of these places that hold parts of several writes, as allowed.
    pub places_mixed: u64,
    /// Number of these places that hold data newer than the ledger, which is right as far as can be determined.
    pub places_newer: u64,
    /// Number of broken promises.
    pub broken_count: u64,
    /// The first broken promises, in the order of files and places.
    pub broken: Vec<BrokenPromise>,
}

/// A promise that the storage broke.
#[derive(Clone, Debug, Serialize)]
pub struct BrokenPromise {
    /// Name of the file.
    pub file: String,
    /// Offset of the block in the file.
    pub offset: u64,
    /// Length of the block in bytes.
    pub length: u64,
    /// Offset of the first byte that breaks the promise.
    pub first_wrong: u64,
    /// The promised write; it or a later write should be there.
    pub promised: PromisedWrite,
    /// The content that was found: `short` beyond the end of the file, `unreadable`, or the class of the
    /// verdict.
    pub class: &'static str,
    /// A sentence about the content that was found.
    pub sentence: String,
    /// The verdict, if there is data to judge.
    pub verdict: Option<Verdict>,
    /// The write that was found instead, if the ledger contains it.
    pub found: Option<FoundWrite>,
}

/// A promised write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PromisedWrite {
    /// Index of the ledger of the write.
    pub ledger: usize,
    /// Number of the write in the job.
    pub number: u64,
    /// Its seed.
    pub seed: u64,
    /// Time at which the write was issued, in ns.
    pub issued_ns: u64,
    /// Time at which the write was acknowledged, in ns.
    pub acknowledged_ns: u64,
    /// Start of the promise in ns.
    pub since_ns: u64,
    /// Reason for the promise.
    #[serde(flatten)]
    pub by: PromisedBy,
}

/// An older write that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FoundWrite {
    /// Index of the ledger of the write.
    pub ledger: usize,
    /// Number of the write in the job.
    pub number: u64,
    /// Time at which the write was issued, in ns.
    pub issued_ns: u64,
}
