//! `fathom model`: a short job file that loads a device as a trace does, and how close it comes.

mod check;
mod output;
mod words;

use crate::characterize::{self, sentence};
use crate::device::{self, refused};
use crate::figures;
use crate::table::{Format, print_as};
use crate::{Command, Runner, columns};
use fathom_command::{Failure, NewFile, Streams};
use fathom_workload::Characterizer;
use fathom_workload::model::Model;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use words::ModelOptions;

pub(crate) const COMMAND: Command = Command {
    name: "model",
    arguments: "TRACE -o db.fio",
    summary: "A job file with the load of this trace",
    help: "\
Usage: fathom model [options] TRACE

Makes a short job file that loads a device as the trace does: a job for the
sequential streams of each direction and one for the rest, with their sizes,
skew, arrivals over time and syncs. It is an open loop, so it keeps the rate of
the trace whatever the device does. TRACE is as in fathom characterize.

  -o, --output=FILE    the job file; default: standard output
      --force          overwrite FILE
      --target=PATH    file or device of the jobs (default NAME.data)
      --rate=2x        twice the arrival rate
      --size=SIZE      bytes that the jobs use; default: as many as the trace
      --numjobs=N      divide each job among N clones
      --check=DEVICE   run the model on a scratch device, record that, and
                       compare each property with the trace (as root)
      --destroy=DEVICE the device again, if the model writes: its content is lost
      --format=text|json  of the comparison

Exit: 0, or 1 if the trace is unreadable or the check failed.
",
    run,
};

fn run(words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> Result<u8, Failure> {
    let options = words::read(words)?;
    if options.check.is_some() && runner.runs_elsewhere() {
        return Err(Failure::new("--check records a device of this machine; leave out --hosts"));
    }
    let trace = characterize::trace::characterize_with(&options.trace, Characterizer::with_parts())?;
    if trace.files.is_some() {
        return Err(refused(
            &options.trace,
            "models of recordings of files are not built yet; fathom trace-to-job makes a log of it that read_iolog replays",
        ));
    }
    let model = Model::of(&trace.profile, &options.scaling);
    if model.jobs.is_empty() {
        return Err(refused(&options.trace, "it has no requests with data, so there is nothing to model"));
    }
    let mut about = vec![format!("Made by fathom model from {}:", trace.name), sentence::sentence(&trace)];
    about.extend(characterize::output::caveats(&trace));
    about.push(scale_of(&model, &options));
    let target = options.target.clone().unwrap_or_else(|| default_target(&options.trace));
    let text = model.job_file(&about, &target);
    match &options.output {
        Some(path) => NewFile::new(path, options.force).write(text.as_bytes())?,
        None if options.check.is_none() => streams.out.write_all(text.as_bytes())?,
        None => {}
    }
    let Some(named) = &options.check else { return Ok(0) };
    let scratch = device::scratch(named, options.destroy.as_deref(), model.writes(), runner)?;
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
    let path = scratch.path.to_string_lossy().into_owned();
    let job_file = model.job_file(&about, &path);
    let checked = check::check(&scratch.path, &job_file, &trace, &model, options.scaling.rate, streams)?;
    match options.format {
        Format::Json => print_as(Format::Json, streams, &output::json(&checked)?)?,
        _ => print_as(Format::Text, streams, &output::text(&checked, columns::of_terminal()))?,
    }
    Ok(0)
}

/// `Its 3 jobs use 1.2 GiB and last 60 s, at 1.2k I/Os per second.`
fn scale_of(model: &Model, options: &ModelOptions) -> String {
    let jobs = fathom_stats::counted(model.jobs.len(), "job");
    let rate = match options.scaling.rate {
        1.0 => String::new(),
        factor => format!(", {factor} times the rate of the trace"),
    };
    format!(
        "{jobs}, {} of the target, {}, {} I/Os per second{rate}.",
        figures::size(model.size),
        figures::duration(model.seconds * 1e9),
        figures::count(model.rate())
    )
}

/// Name of the model of a trace.
pub(crate) fn title(trace: &Path) -> String {
    format!("the model of {}", trace.display())
}

/// `db.data` for `traces/db.trace.zst`.
fn default_target(trace: &Path) -> String {
    let name = trace.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default();
    match name.trim_start_matches('-') {
        "" => "model.data".to_owned(),
        name => format!("{name}.data"),
    }
}

/// The trace and the options, by name.
fn named(path: PathBuf) -> Result<String, Failure> {
    path.into_os_string().into_string().map_err(|path| Failure::new(format!("{path:?} is not valid UTF-8")))
}
