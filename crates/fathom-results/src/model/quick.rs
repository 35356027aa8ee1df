//! What `fathom quick` makes of a run.

use crate::lenient;
use serde::{Deserialize, Serialize};

/// What `fathom quick` measured, and what it doubts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuickResult {
    /// The directory.
    pub place: String,
    /// Size of the file.
    pub file_bytes: u64,
    /// The engine of all tests.
    pub engine: String,
    /// The page cache was bypassed.
    pub direct: bool,
    /// Time of each test.
    pub time_ms: u64,
    /// What to doubt about all figures.
    pub doubts: Vec<String>,
    /// The tests in the order in which they are shown.
    pub tests: Vec<QuickTest>,
}

/// A test of `fathom quick`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuickTest {
    /// Name of its job.
    // Readers of fio's document count its jobs by the lines with "jobname".
    #[serde(rename = "job", alias = "jobname")]
    pub jobname: String,
    /// `read` or `write`.
    pub direction: String,
    /// Random, not sequential.
    pub random: bool,
    /// Bytes of each I/O, as in a job file: `4k`.
    pub block_size: String,
    /// I/Os in flight.
    pub depth: u32,
    /// What to doubt about its figures.
    pub doubts: Vec<QuickDoubt>,
}

/// Why a figure may not be what it seems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuickDoubt {
    /// A word for doubts of this kind, which other tests may share.
    pub kind: String,
    /// How strong it is; only doubts of one kind can be compared.
    #[serde(deserialize_with = "lenient::number")]
    pub weight: f64,
    /// The sentence.
    pub text: String,
}
