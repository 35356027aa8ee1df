//! Evaluation of a run by `fathom quick`.

use crate::lenient;
use serde::{Deserialize, Serialize};

/// Settings of `fathom quick`, and its doubts about the figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuickResult {
    /// The directory.
    pub place: String,
    /// Size of the file.
    pub file_bytes: u64,
    /// The engine of all tests.
    pub engine: String,
    /// True if the page cache was bypassed.
    pub direct: bool,
    /// Time of each test.
    pub time_ms: u64,
    /// Doubts about all figures.
    pub doubts: Vec<String>,
    /// The tests in display order.
    pub tests: Vec<QuickTest>,
}

/// A test of `fathom quick`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuickTest {
    /// Name of its job.
    // The key differs from "jobname", because readers of fio's document count its jobs by the lines with that
    // key.
    #[serde(rename = "job", alias = "jobname")]
    pub jobname: String,
    /// `read` or `write`.
    pub direction: String,
    /// True for random rather than sequential I/O.
    pub random: bool,
    /// Size of each I/O, as in a job file: `4k`.
    pub block_size: String,
    /// I/Os in flight.
    pub depth: u32,
    /// Doubts about its figures.
    pub doubts: Vec<QuickDoubt>,
}

/// A reason for which a figure may be misleading.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuickDoubt {
    /// Keyword of this kind of doubt, shared between tests.
    pub kind: String,
    /// Its severity; comparable only between doubts of the same kind.
    #[serde(deserialize_with = "lenient::number")]
    pub weight: f64,
    /// The doubt as a sentence.
    pub text: String,
}
