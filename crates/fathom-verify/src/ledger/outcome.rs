//! Input and results of checking files against ledgers.

use super::promises::PromisedBy;
use crate::verdict::Verdict;
use serde::Serialize;
use thiserror::Error;

/// A file to check, and its writers.
#[derive(Clone, Debug)]
pub struct FileToCheck {
    /// Its name in the outcome.
    pub name: String,
    /// The ledgers that name it, by index, and its number in each.
    pub members: Vec<(usize, u32)>,
}

/// Why a file returned no data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// It is unusable, so nothing can be checked.
    Unusable(Unusable),
    /// This part cannot be read.
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

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckError {
    /// Ledgers for one file are from different boots of the machine, so the order of their writes is unknown.
    Boots {
        /// The file.
        file: String,
        /// Indices of two such ledgers.
        ledgers: (usize, usize),
    },
    /// An unusable file.
    Unusable(Unusable),
}

/// Results over all files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// Number of promised writes per ledger.
    pub promised_writes: Vec<u64>,
    /// Bytes with a promise, which were checked.
    pub bytes_checked: u64,
    /// Bytes written without a promise.
    pub bytes_not_promised: u64,
    /// Checked places: byte ranges covered by the same writes.
    pub places_checked: u64,
    /// Of these, places with parts of several writes, as allowed.
    pub places_mixed: u64,
    /// Of these, places with data newer than the ledger, and right as far as can be determined.
    pub places_newer: u64,
    /// Number of broken promises.
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
    /// The first byte that breaks the promise.
    pub first_wrong: u64,
    /// The minimum content that should be there.
    pub promised: PromisedWrite,
    /// What was found: `short` beyond the end of the file, `unreadable`, or the class of the verdict.
    pub class: &'static str,
    /// The same as a sentence.
    pub sentence: String,
    /// The verdict, if there is data to judge.
    pub verdict: Option<Verdict>,
    /// The write found instead, if the ledger has it.
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
    /// The time at which it was issued, ns.
    pub issued_ns: u64,
    /// The time at which it was acknowledged, ns.
    pub acknowledged_ns: u64,
    /// Start of the promise, ns.
    pub since_ns: u64,
    /// Reason of the promise.
    #[serde(flatten)]
    pub by: PromisedBy,
}

/// An older write found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FoundWrite {
    /// Index of its ledger.
    pub ledger: usize,
    /// Its number in the job.
    pub number: u64,
    /// The time at which it was issued, ns.
    pub issued_ns: u64,
}
