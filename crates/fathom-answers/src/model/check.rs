//! A run of a model under the recorder, compared with the trace.

use crate::characterize::trace::{Characterized, characterize_with};
use crate::figures;
use fathom_command::{Failure, Streams};
use fathom_errors::plain;
use fathom_workload::Characterizer;
use fathom_workload::fidelity::Fidelity;
use fathom_workload::model::Model;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Time for the I/Os that are in flight at the end of a run, ms.
const DRAIN_MS: u64 = 20;

/// A model that was run.
pub(super) struct Checked<'t> {
    pub(super) trace: &'t Characterized,
    /// The recording of the run.
    pub(super) played: Characterized,
    pub(super) model: &'t Model,
    pub(super) fidelity: Fidelity,
    /// Bytes of the job file.
    pub(super) job_bytes: usize,
    /// Factor of the rate.
    pub(super) rate: f64,
}

/// Runs the model on a device and compares its load with the trace's.
pub(super) fn check<'t>(
    device: &Path,
    job_file: &str,
    trace: &'t Characterized,
    model: &'t Model,
    rate: f64,
    streams: &mut Streams<'_>,
) -> Result<Checked<'t>, Failure> {
    let failed = |error: io::Error| Failure::new(format!("temporary files: {}", plain(&error)));
    let directory = tempfile::Builder::new().prefix("fathom-model.").tempdir().map_err(failed)?;
    let (job_path, recording) =
        (directory.path().join("model.fio"), directory.path().join("model.trace.zst"));
    std::fs::write(&job_path, job_file).map_err(|error| Failure::file(&job_path, &error))?;
    writeln!(
        streams.err,
        "running the model on {} for {}, under fathom record",
        device.display(),
        figures::duration(model.seconds * 1e9)
    )?;
    let ended = record(device, &job_path, &recording).map_err(failed)?;
    if !ended.status.success() {
        streams.err.write_all(&ended.stderr)?;
        return Err(Failure::new(format!("the run of the model failed ({})", ended.status)));
    }
    // Others may read the device before and after the run, as udev does.
    let (start, end) = span(&job_path.with_extension("json"), model.seconds)?;
    let played = characterize_with(&recording, Characterizer::default().between(start, end))?;
    let fidelity = Fidelity::of(&trace.profile, &played.profile, rate);
    Ok(Checked { trace, played, model, fidelity, job_bytes: job_file.len(), rate })
}

/// When the jobs of a result ran, in ns since 1970, until their last I/O was complete.
fn span(result: &Path, seconds: f64) -> Result<(u64, u64), Failure> {
    let result = fathom_results::read(result).map_err(Failure::because)?;
    let start = result.jobs.iter().filter_map(|job| job.start_ms).min();
    let start =
        start.ok_or_else(|| Failure::new("the result of the model does not say when its jobs ran"))?;
    // The milliseconds of a result are rounded.
    let end = start + (seconds * 1e3).ceil() as u64 + DRAIN_MS;
    Ok((start.saturating_sub(1).saturating_mul(1_000_000), end.saturating_mul(1_000_000)))
}

/// Records a run of a job file: the recorder starts before the jobs do, and ends after them.
fn record(device: &Path, job_file: &Path, recording: &Path) -> io::Result<Output> {
    let program = std::env::current_exe()?;
    let mut output = OsString::from("--output=");
    output.push(job_file.with_extension("json"));
    Command::new(&program)
        .arg("record")
        .arg(device)
        .arg("-o")
        .arg(recording)
        .arg("--")
        .arg(&program)
        .arg(job_file)
        .args(["--eta=never", "--output-format=json"])
        .arg(output)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
}
