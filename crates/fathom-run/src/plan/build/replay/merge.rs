//! `merge_blktrace_file`: the traces of a job become one, which is replayed.

use crate::replay as source;
use fathom_spec::JobSpec;
use fathom_trace::TraceError;
use fathom_trace::merge::{MergeError, Merged, Part, merge};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The result of merging.
pub(crate) struct MergedTrace {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Traces that broke off.
    pub(crate) warnings: Vec<String>,
}

/// Merges the traces of a job, if it asks for that.
pub(crate) fn merge_traces(job: &JobSpec, names: &[String]) -> Result<Option<MergedTrace>, String> {
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
    let told = |error: io::Error| format!("fathom: merge_blktrace_file={target}: {error}");
    let mut out = BufWriter::new(File::create(&path).map_err(told)?);
    let merged: Merged = merge(&parts, |number| source::open_file(Path::new(&names[number])), &mut out)
        .map_err(|error| failure(&error, names, target))?;
    out.flush().map_err(told)?;
    let broken = merged.broken.into_iter();
    let warnings = broken
        .map(|(number, reason)| format!("fathom: {}: {reason}; the rest is left out", names[number]))
        .collect();
    Ok(Some(MergedTrace { path, warnings }))
}

fn failure(error: &MergeError, names: &[String], target: &str) -> String {
    let Some(number) = error.part else {
        return format!("fathom: merge_blktrace_file={target}: {}", error.error);
    };
    let name = &names[number];
    match &error.error {
        TraceError::Io(reason) => format!("fathom: {name}: the trace cannot be read: {reason}"),
        other => format!("fio: file is not a blktrace: {name}\nfathom: {name}: {other}"),
    }
}

/// The result must not go over a trace, a device, or anything else that is no plain file.
fn check_target(path: &Path, names: &[String]) -> Result<(), String> {
    let shown = path.display();
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    if !found.is_file() {
        return Err(format!("fathom: merge_blktrace_file={shown}: it is there already and no plain file"));
    }
    let real = std::fs::canonicalize(path).ok();
    match names.iter().find(|name| real.is_some() && std::fs::canonicalize(name).ok() == real) {
        Some(name) => {
            Err(format!("fathom: merge_blktrace_file={shown} would overwrite {name}, which is merged"))
        }
        None => Ok(()),
    }
}
