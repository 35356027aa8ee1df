//! `fathom model`: a short job file that loads a device as a trace does, and how close it comes.

mod check;
mod output;
mod rest;
mod words;

use crate::characterize::trace::Characterized;
use crate::characterize::{self, sentence};
use crate::device::refused;
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
the trace whatever the device does. Of a recording of files, it makes jobs on
files, which run in fio as well. TRACE is as in fathom characterize.

  -o, --output=FILE    the job file; default: standard output
      --force          overwrite FILE
      --target=PATH    file or device of the jobs (NAME.data); of files, a
                       directory, or the beginning of their names
      --rate=2x        twice the arrival rate
      --size=SIZE      bytes that the jobs use; default: as many as the trace
      --numjobs=N      divide each job among N clones
      --open-loop      jobs on files follow the rate over time (only fathom can)
      --check=TARGET   run the model on a scratch device, or in a directory,
                       record that, and compare it with the trace (as root)
      --destroy=DEVICE the device again if the model writes: its content is lost
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
    let keep = rest::most_of(&options.trace)?;
    let trace = characterize::trace::characterize_with(&options.trace, Characterizer::with_parts(), keep)?;
    let model = match &trace.files {
        Some(sums) => Model::of_files(&trace.profile, sums, &options.scaling, options.is_open),
        None if options.is_open => {
            return Err(Failure::new(
                "--open-loop is for recordings of files; the model of a trace of devices is always an open loop",
            ));
        }
        None => Model::of(&trace.profile, &options.scaling),
    };
    if model.jobs.is_empty() {
        return Err(refused(&options.trace, "it has no requests with data, so there is nothing to model"));
    }
    let mut about = vec![format!("Made by fathom model from {}:", trace.name), sentence::sentence(&trace)];
    about.extend(characterize::output::caveats(&trace));
    about.extend(trace.files.as_ref().and_then(rest::sentence));
    about.push(scale_of(&model, &options));
    let target = target_of(&options, &trace);
    let text = model.job_file(&about, &target);
    match &options.output {
        Some(path) => NewFile::new(path, options.force).write(text.as_bytes())?,
        None if options.check.is_none() => streams.out.write_all(text.as_bytes())?,
        None => {}
    }
    let Some(named) = &options.check else { return Ok(0) };
    let order =
        check::Order { named, about: &about, trace: &trace, model: &model, rate: options.scaling.rate };
    let checked = match &trace.files {
        Some(_) if options.destroy.is_some() => {
            return Err(Failure::new(
                "--destroy is for devices; the model of a recording of files makes its files anew, and removes them",
            ));
        }
        Some(_) => check::in_directory(&order, streams)?,
        None => check::on_device(&order, options.destroy.as_deref(), streams, runner)?,
    };
    match options.format {
        Format::Json => print_as(Format::Json, streams, &output::json(&checked)?)?,
        _ => print_as(Format::Text, streams, &output::text(&checked, columns::of_terminal()))?,
    }
    Ok(0)
}

/// The target of the jobs; a directory ends with a slash.
fn target_of(options: &ModelOptions, trace: &Characterized) -> String {
    let target = options.target.clone().unwrap_or_else(|| default_target(&options.trace));
    let is_directory = trace.files.is_some() && Path::new(&target).is_dir() && !target.ends_with('/');
    if is_directory { target + "/" } else { target }
}

/// `Its 3 jobs use 1.2 GiB and last 60 s, at 1.2k I/Os per second.`
fn scale_of(model: &Model, options: &ModelOptions) -> String {
    let jobs = fathom_stats::counted(model.jobs.len(), "job");
    let rate = match options.scaling.rate {
        1.0 => String::new(),
        factor => format!(", {factor} times the rate of the trace"),
    };
    format!(
        "{jobs}, {} of {}, {}, {} I/Os per second{rate}.",
        figures::size(model.size),
        if model.on_files.is_some() { "files" } else { "the target" },
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
