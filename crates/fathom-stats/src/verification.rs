//! Results of verification: how much was checked, what was wrong, and how much of it applies to the storage.

use crate::counted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Verification results of a job, all its clones together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationReport {
    /// Name of the job.
    pub job: String,
    /// Reads that were checked.
    pub checked_reads: u64,
    /// Their bytes.
    pub checked_bytes: u64,
    /// Blocks that were wrong, by class.
    pub miscompares: BTreeMap<String, u64>,
    /// Files that list them, one JSON object per line.
    pub listed_in: Vec<String>,
    /// Blocks that should have been checked and were not; `None` if a clone ended before it could count them.
    #[serde(default)]
    pub unchecked_blocks: Option<u64>,
    /// Upper bound of the checked bytes that this machine had in memory when they were read.
    #[serde(default)]
    pub from_memory_bytes: u64,
    /// Checked bytes for which the system does not report whether they came from memory.
    #[serde(default)]
    pub unknown_source_bytes: u64,
    /// The job prevents the cache from being dropped (`invalidate=0`).
    #[serde(default)]
    pub keeps_cache: bool,
    /// Other workers may have written the same blocks, so a block only had to be intact, whichever worker wrote it.
    #[serde(default)]
    pub shares_blocks: bool,
    /// The job does not know which run wrote the data: two runs with the same data cannot be told apart.
    #[serde(default)]
    pub takes_any_run: bool,
}

impl VerificationReport {
    /// Blocks that were wrong.
    pub fn wrong_blocks(&self) -> u64 {
        self.miscompares.values().sum()
    }

    /// A note about blocks that were not checked; `None` if all were.
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

    /// A note about data that was checked in memory; `None` if there was none.
    pub fn note_of_memory(&self) -> Option<String> {
        let (job, all) = (&self.job, self.checked_bytes);
        let memory = self.from_memory_bytes.min(all);
        let why = if self.keeps_cache { " (invalidate=0)" } else { "" };
        (memory > 0).then(|| {
            format!("job {job}: up to {memory} of the {all} bytes checked were in memory{why}, and not read from the storage")
        })
    }
}
