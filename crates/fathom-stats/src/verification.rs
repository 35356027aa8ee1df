//! Results of verification: the amount of data checked, the errors found, and the part of the data that was
//! read from the storage.

use crate::counted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Verification results of a job, all its clones together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationReport {
    /// Name of the job.
    pub job: String,
    /// Number of reads that were checked.
    pub checked_reads: u64,
    /// Their bytes.
    pub checked_bytes: u64,
    /// Number of wrong blocks by class.
    pub miscompares: BTreeMap<String, u64>,
    /// Files that list the wrong blocks, one JSON object per line.
    pub listed_in: Vec<String>,
    /// Number of blocks that should have been checked but were not; `None` if a clone ended before it could
    /// count them.
    #[serde(default)]
    pub unchecked_blocks: Option<u64>,
    /// Upper bound of the checked bytes that this machine had in memory when they were read.
    #[serde(default)]
    pub from_memory_bytes: u64,
    /// Number of checked bytes for which the system does not report whether they came from memory.
    #[serde(default)]
    pub unknown_source_bytes: u64,
    /// True if the job keeps the cache (`invalidate=0`).
    #[serde(default)]
    pub keeps_cache: bool,
    /// True if other workers may have written the same blocks, so that a block from any of them is valid if it
    /// is intact.
    #[serde(default)]
    pub shares_blocks: bool,
    /// True if the job does not know which run wrote the data, so that two runs with the same data cannot be
    /// distinguished.
    #[serde(default)]
    pub takes_any_run: bool,
}

impl VerificationReport {
    /// Returns the number of wrong blocks.
    pub fn wrong_blocks(&self) -> u64 {
        self.miscompares.values().sum()
    }

    /// Returns a note about blocks that were not checked; `None` if all were.
    pub fn note_of_unchecked(&self) -> Option<String> {
        let (job, checked) = (&self.job, self.checked_reads);
        match self.unchecked_blocks {
            Some(0) => None,
            Some(left) => {
                let all = checked.saturating_add(left);
                Some(format!("job {job}: {checked} of {} were checked", counted(all, "block")))
            }
            None => Some(format!(
                "job {job}: it ended before its data was verified; {} checked, and how many were not is not known",
                counted(checked, "block")
            )),
        }
    }

    /// Returns a note about data that was checked in memory; `None` if there was none.
    pub fn note_of_memory(&self) -> Option<String> {
        let (job, all) = (&self.job, self.checked_bytes);
        let memory = self.from_memory_bytes.min(all);
        let why = if self.keeps_cache { " (invalidate=0)" } else { "" };
        (memory > 0).then(|| {
            format!("job {job}: up to {memory} of the {all} bytes checked were in memory{why}, and not read from the storage")
        })
    }
}
