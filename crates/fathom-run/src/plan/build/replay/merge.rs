//! `merge_blktrace_file`: merges a job's traces into one, which is then replayed.

use crate::plan::PlanError;
use crate::replay as source;
use fathom_spec::JobSpec;
use fathom_trace::TraceError;
use fathom_trace::merge::{MergeError, Merged, Part, merge};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The result of merging.
pub(crate) struct MergedTrace {
    /// Its path.
    pub(crate) path: PathBuf,
    /// Warnings about truncated traces.
    pub(crate) warnings: Vec<String>,
}

/// Merges the traces of a job, if requested.
pub(crate) fn merge_traces(job: &JobSpec, names: &[String]) -> Result<Option<MergedTrace>, PlanError> {
    let options = &job.replay;
    let Some(target) = options.merge_blktrace_file.as_deref() else { return Ok(None) };
    let path = PathBuf::from(target);
    let parts: Vec<Part> = (0..names.len())
        .map(|number| Part {
            time_percent: options.merge_blktrace_scalars.get(number).copied().unwrap_or(100.0),
            repetitions: options.merge_blktrace_iters.get(number).map_or(1, |count| *count as u64),
        })
        .collect();
    check_target(&path, names)?;
    let told = |error: io::Error| PlanError::MergeNotWritten { target: target.to_owned(), error };
    let mut out = BufWriter::new(File::create(&path).map_err(told)?);
    let merged: Merged = merge(&parts, |number| source::open_file(Path::new(&names[number])), &mut out)
        .map_err(|error| failure(error, names, target))?;
    out.flush().map_err(told)?;
    let broken = merged.broken.into_iter();
    let warnings = broken
        .map(|(number, reason)| format!("fathom: {}: {reason}; the rest is ignored", names[number]))
        .collect();
    Ok(Some(MergedTrace { path, warnings }))
}

fn failure(error: MergeError, names: &[String], target: &str) -> PlanError {
    let Some(name) = error.part.and_then(|number| names.get(number)).cloned() else {
        return PlanError::NotMerged { target: target.to_owned(), reason: error.error.to_string() };
    };
    match error.error {
        TraceError::Io(error) => PlanError::TraceUnreadable { name, error },
        other => PlanError::NoTrace { name, reason: other.to_string() },
    }
}

/// The result must not overwrite a trace, a device, or anything else that is not a regular file.
fn check_target(path: &Path, names: &[String]) -> Result<(), PlanError> {
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    if !found.is_file() {
        return Err(PlanError::MergeIntoDevice(path.to_path_buf()));
    }
    let real = std::fs::canonicalize(path).ok();
    match names.iter().find(|name| real.is_some() && std::fs::canonicalize(name).ok() == real) {
        Some(name) => Err(PlanError::MergeIntoTrace { target: path.to_path_buf(), trace: name.clone() }),
        None => Ok(()),
    }
}
