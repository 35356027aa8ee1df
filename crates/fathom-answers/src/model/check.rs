//! A run of a model under the recorder, compared with the trace.

use crate::characterize::trace::{Characterized, characterize_with};
use crate::device::{self, refused};
use crate::{Runner, figures};
use fathom_command::{Failure, Streams};
use fathom_errors::plain;
use fathom_trace::events::{Keep, LeftOut};
use fathom_trace::files::Operation;
use fathom_workload::Characterizer;
use fathom_workload::fidelity::Fidelity;
use fathom_workload::model::Model;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
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

/// A model to be checked.
pub(super) struct Order<'t> {
    /// Where it runs, as named by the user.
    pub(super) named: &'t Path,
    /// Comments of the job file.
    pub(super) about: &'t [String],
    pub(super) trace: &'t Characterized,
    pub(super) model: &'t Model,
    pub(super) rate: f64,
}

impl<'t> Order<'t> {
    fn checked(&self, played: Characterized, job_file: &str) -> Checked<'t> {
        let fidelity = Fidelity::of(&self.trace.profile, &played.profile, self.rate);
        Checked {
            trace: self.trace,
            played,
            model: self.model,
            fidelity,
            job_bytes: job_file.len(),
            rate: self.rate,
        }
    }

    fn announce(&self, place: &Path, streams: &mut Streams<'_>) -> Result<(), Failure> {
        let time = figures::duration(self.model.seconds * 1e9);
        Ok(writeln!(streams.err, "running the model on {} for {time}, under fathom record", place.display())?)
    }
}

/// Runs the model on a device and compares its load with the trace's.
pub(super) fn on_device<'t>(
    order: &Order<'t>,
    destroy: Option<&Path>,
    streams: &mut Streams<'_>,
    runner: &dyn Runner,
) -> Result<Checked<'t>, Failure> {
    let (model, named) = (order.model, order.named);
    let scratch = device::scratch(named, destroy, model.writes(), runner)?;
    if scratch.bytes < model.size {
        return Err(refused(
            named,
            &format!(
                "it has {}, and the model uses {}; --size={} makes it fit",
                figures::size(scratch.bytes),
                figures::size(model.size),
                scratch.bytes / 2
            ),
        ));
    }
    let job_file = model.job_file(order.about, &scratch.path.to_string_lossy());
    let run = Run::new(&job_file)?;
    order.announce(&scratch.path, streams)?;
    succeeded(run.record(&[scratch.path.as_os_str()])?, streams)?;
    // Others may read the device before and after the run, as udev does.
    let (start, end) = span(&run.result(), model.seconds)?;
    let characterizer = Characterizer::default().between(start, end);
    let played = characterize_with(&run.recording(), characterizer, None)?;
    Ok(order.checked(played, &job_file))
}

/// Runs a model of files in a new directory below the named one, and compares its calls with the trace's.
pub(super) fn in_directory<'t>(order: &Order<'t>, streams: &mut Streams<'_>) -> Result<Checked<'t>, Failure> {
    let (model, named) = (order.model, order.named);
    let metadata = std::fs::metadata(named).map_err(|error| Failure::file(named, &error))?;
    if !metadata.is_dir() {
        return Err(refused(
            named,
            "the model of a recording of files runs in a directory: --check=DIRECTORY",
        ));
    }
    let named = std::fs::canonicalize(named).map_err(|error| Failure::file(named, &error))?;
    let scratch = tempfile::Builder::new().prefix("fathom-model.").tempdir_in(&named);
    let scratch = scratch.map_err(|error| Failure::file(&named, &error))?;
    device::check_room(&scratch.path().join("model"), model.size)?;
    let job_file = model.job_file(order.about, &format!("{}/", scratch.path().display()));
    let run = Run::new(&job_file)?;
    // A missing right, or a kernel without the events, is found before files are written.
    can_record(&run.probe()?)?;
    // The recording starts after the files that the model reads are written.
    let layout = Run::new(&job_file.replacen("[global]\n", "[global]\ncreate_only=1\n", 1))?;
    succeeded(layout.run()?, streams)?;
    order.announce(&named, streams)?;
    succeeded(run.record(&["--files".as_ref(), "--names".as_ref()])?, streams)?;
    let below = scratch.path().as_os_str().as_encoded_bytes().to_vec();
    // The rest is what fathom itself reads, and its result.
    let is_of_model: Keep = Box::new(move |file| file.name.starts_with(&below));
    let mut played = characterize_with(&run.recording(), Characterizer::default(), Some(is_of_model))?;
    if let Some(files) = &mut played.files {
        files.end = None;
        files.pseudo = LeftOut::default();
        files.calls.remove(&Operation::Map);
    }
    Ok(order.checked(played, &job_file))
}

/// Job file, result and recording of a run, in a temporary directory.
struct Run {
    directory: tempfile::TempDir,
}

impl Run {
    fn new(job_file: &str) -> Result<Run, Failure> {
        let directory = tempfile::Builder::new().prefix("fathom-model.").tempdir().map_err(failed)?;
        let run = Run { directory };
        std::fs::write(run.job_file(), job_file).map_err(|error| Failure::file(&run.job_file(), &error))?;
        Ok(run)
    }

    fn job_file(&self) -> PathBuf {
        self.directory.path().join("model.fio")
    }

    fn result(&self) -> PathBuf {
        self.directory.path().join("model.json")
    }

    fn recording(&self) -> PathBuf {
        self.directory.path().join("model.trace.zst")
    }

    /// Records a command that does nothing.
    fn probe(&self) -> Result<Output, Failure> {
        let mut command = self.recorder(&["--files".as_ref()])?;
        command.arg("--version");
        quiet_output(command)
    }

    /// Records a run of the job file: the recorder starts before the jobs do, and ends after them.
    fn record(&self, target: &[&OsStr]) -> Result<Output, Failure> {
        self.output_of(self.recorder(target)?)
    }

    /// The program, recorded.
    fn recorder(&self, target: &[&OsStr]) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(&program);
        command
            .arg("record")
            .args(target)
            .args(["--force", "-o"])
            .arg(self.recording())
            .arg("--")
            .arg(&program);
        Ok(command)
    }

    /// Runs the job file.
    fn run(&self) -> Result<Output, Failure> {
        self.output_of(Command::new(std::env::current_exe().map_err(failed)?))
    }

    fn output_of(&self, mut command: Command) -> Result<Output, Failure> {
        let mut output = OsString::from("--output=");
        output.push(self.result());
        command.arg(self.job_file()).args(["--eta=never", "--output-format=json"]).arg(output);
        quiet_output(command)
    }
}

fn quiet_output(mut command: Command) -> Result<Output, Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).output().map_err(failed)
}

fn failed(error: io::Error) -> Failure {
    Failure::new(format!("temporary files: {}", plain(&error)))
}

fn can_record(probed: &Output) -> Result<(), Failure> {
    if probed.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&probed.stderr);
    let why = said.lines().next().unwrap_or_default().trim_start_matches("fathom: ").to_owned();
    Err(Failure::new(format!("--check records the model, which is not possible here: {why}")))
}

fn succeeded(ended: Output, streams: &mut Streams<'_>) -> Result<(), Failure> {
    if !ended.status.success() {
        streams.err.write_all(&ended.stderr)?;
        return Err(Failure::new(format!("the run of the model failed ({})", ended.status)));
    }
    Ok(())
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
