//! The results of a side.

use fathom_results::RunResult;
use fathom_tools::Failure;
use std::path::{Path, PathBuf};

/// Results that repeat the same jobs.
#[derive(Debug)]
pub(super) struct Side {
    /// At least one.
    pub(super) runs: Vec<Run>,
}

/// One result.
#[derive(Debug)]
pub(super) struct Run {
    /// The values that were varied, for results of a sweep; otherwise empty.
    pub(super) cell: String,
    /// What was read.
    pub(super) result: RunResult,
}

impl Side {
    /// Files, each once, in their order.
    pub(super) fn sources(&self) -> Vec<&str> {
        let mut sources: Vec<&str> = self.runs.iter().map(|run| run.result.source.as_str()).collect();
        sources.dedup();
        sources
    }
}

/// Reads the files, and the files of the directories, of a side.
pub(super) fn side(paths: &[PathBuf]) -> Result<Side, Failure> {
    let mut runs = Vec::new();
    for path in paths {
        if path.is_dir() {
            for file in results_of(path)? {
                runs.extend(runs_of(&file)?);
            }
        } else {
            runs.extend(runs_of(path)?);
        }
    }
    Ok(Side { runs })
}

fn runs_of(path: &Path) -> Result<Vec<Run>, Failure> {
    let result = fathom_results::read(path).map_err(|error| Failure::new(error.to_string()))?;
    Ok(vec![Run { cell: String::new(), result }])
}

/// The results in a directory, by name.
fn results_of(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |error: std::io::Error| Failure::file(directory, &error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let is_result = path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl");
        if is_result && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(Failure::new(format!(
            "{}: no result in it; results are files that end in .json or .jsonl",
            directory.display()
        ))),
        false => Ok(files),
    }
}
