//! Each rank's results so far, in a directory: if a rank dies, MPI ends all others, and only the snapshots
//! remain.
//!
//! `run` lists the participants. `rank-N` is rank N's report: once a second while its jobs run, and the final
//! one when they are over. A file is first written under another name, so that readers always find a complete
//! one.

use crate::orders::{Orders, Places, written};
use crate::results::RankResult;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Interval of snapshots.
pub(crate) const EVERY_NS: u64 = 1_000_000_000;

/// Name of the file that lists the participants.
pub(crate) const RUN: &str = "run";

/// The participants of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFile {
    /// Distinguishes it from other runs in the directory.
    pub(crate) run: u64,
    pub(crate) places: Places,
}

/// A rank's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankFile {
    pub(crate) run: u64,
    pub(crate) result: RankResult,
    /// True if the result is final.
    pub(crate) is_whole: bool,
    /// Time of writing, ms after the agreed instant.
    pub(crate) taken_ms: Option<u64>,
}

/// The file of a rank.
pub(crate) fn rank_file(directory: &Path, rank: usize) -> PathBuf {
    directory.join(format!("rank-{rank}"))
}

/// Creates the directory and removes files of other runs. The error is a line for the user.
pub(crate) fn begin(orders: &Orders) -> Result<(), String> {
    let Some(directory) = &orders.snapshots else { return Ok(()) };
    let begin = || {
        fs::create_dir_all(directory)?;
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("rank-") {
                fs::remove_file(entry.path())?;
            }
        }
        let file = RunFile { run: orders.run, places: orders.places.clone() };
        write(&directory.join(RUN), &written(&file))
    };
    begin().map_err(|error: io::Error| {
        format!("fathom-mpi: --snapshots={}: it cannot be used: {error}", directory.display())
    })
}

/// Writes a rank's snapshots.
pub(crate) struct Snapshots {
    path: PathBuf,
    run: u64,
    is_told: bool,
}

impl Snapshots {
    /// With `--snapshots`.
    pub(crate) fn of(orders: &Orders, rank: usize) -> Option<Snapshots> {
        let directory = orders.snapshots.as_ref()?;
        Some(Snapshots { path: rank_file(directory, rank), run: orders.run, is_told: false })
    }

    /// Replaces the previous snapshot. The error is a line for the user, printed once.
    pub(crate) fn write(
        &mut self,
        result: RankResult,
        is_whole: bool,
        taken_ms: Option<u64>,
    ) -> Option<String> {
        let file = RankFile { run: self.run, result, is_whole, taken_ms };
        let error = write(&self.path, &written(&file)).err()?;
        let is_new = !std::mem::replace(&mut self.is_told, true);
        is_new.then(|| format!("fathom-mpi: --snapshots: {} cannot be written: {error}", self.path.display()))
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes)?;
    fs::rename(&new, path)
}
