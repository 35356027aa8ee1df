//! Converts a block trace to a job file that repeats each traced process, or to a summary; a recording of files to an I/O log.

mod files;
mod process;
mod text;

use crate::{FioProgram, Tool, input};
use arguments::Format;
use fathom_command::{Failure, NewFile, Streams, arguments};
use fathom_stats::counted;
use fathom_sys::block_device::device_path;
use fathom_trace::events::Events;
use fathom_trace::{Device, TraceError};
use lexopt::Arg::{Long, Short, Value};
use process::{Process, Tracker};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use text::Described;

pub(crate) const TOOL: Tool = Tool {
    name: "trace-to-job",
    summary: "Make a job file from a block trace",
    help: "\
Usage: fathom trace-to-job [OPTION...] FILE

Reads a block trace and prints a job file with one section for each process that
queued requests. - is standard input. Traces are those of fathom record and of
blktrace (blktrace -o - | blkparse -i - -O -d FILE), the text of blkparse and
biosnoop, and public collections: MSR Cambridge, Alibaba, Tencent, SPC and FIU.
Of a recording of files (fathom record --files --names) it prints an I/O log
that read_iolog=LOG replays, with the files' own paths.

  --summary              print a summary of each process instead
  --format=text|json     format of the summary; default text
  --output=FILE          write the job file there
  --force                let --output overwrite a file
  --directory=DIR        of a recording of files: put their paths below DIR
  --device=PATH          file or device for the jobs; default the traced ones, looked up by number
  --rate                 limit the jobs to the rates in the trace
  --option=LINE          a line to add to each section; may be repeated
  --depth-limit=N        largest queue depth; default 256
  --min-time=TIME        leave out processes that were active for less; default 1s
  --min-ios=N            leave out processes with fewer requests; default 10
  --min-rate=KIB         leave out processes with a lower rate in KiB/s
  --merge                one section with numjobs for similar processes
  --merge-depth=N        largest difference in depth for similar; default 1
  --merge-random=P       largest difference in randomness for similar, in percent; default 5
",
    run,
    fio_programs: &[FioProgram { name: "fio-btrace2fio", run: run_as_fio }],
};

/// Filters and output format.
#[derive(Debug)]
struct Options {
    min_time_us: u64,
    min_ios: u64,
    min_rate_kib: u64,
    depth_limit: u64,
    merge: bool,
    depth_difference: u64,
    random_difference: f64,
    device: Option<String>,
    with_rate: bool,
    extra: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            min_time_us: 1_000_000,
            min_ios: 10,
            min_rate_kib: 0,
            depth_limit: 256,
            merge: false,
            depth_difference: 1,
            random_difference: 5.0,
            device: None,
            with_rate: false,
            extra: Vec::new(),
        }
    }
}

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut options = Options::default();
    let (mut summary, mut format, mut output, mut force, mut files, mut directory) =
        (false, Format::Text, None, false, Vec::new(), None);
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("summary") => summary = true,
            Long("format") => format = arguments::format(&mut parser, &[Format::Text, Format::Json])?,
            Long("output") | Short('o') => output = Some(PathBuf::from(parser.value()?)),
            Long("force") => force = true,
            Long("directory") => directory = Some(PathBuf::from(parser.value()?)),
            Long("device") => options.device = Some(arguments::text(&mut parser, "--device")?),
            Long("rate") => options.with_rate = true,
            Long("option") => options.extra.push(arguments::text(&mut parser, "--option")?),
            Long("depth-limit") => options.depth_limit = arguments::number(&mut parser, "--depth-limit", 1)?,
            Long("min-time") => {
                options.min_time_us = (arguments::milliseconds(&mut parser, "--min-time")? * 1e3) as u64;
            }
            Long("min-ios") => options.min_ios = arguments::number(&mut parser, "--min-ios", 0)?,
            Long("min-rate") => options.min_rate_kib = arguments::number(&mut parser, "--min-rate", 0)?,
            Long("merge") => options.merge = true,
            Long("merge-depth") => {
                options.depth_difference = arguments::number(&mut parser, "--merge-depth", 0)?;
            }
            Long("merge-random") => {
                options.random_difference = arguments::fraction(&mut parser, "--merge-random")?;
            }
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    if format == Format::Json && !summary {
        return Err(Failure::new("--format=json is for the summary; add --summary"));
    }
    let path = arguments::one_file(files)?;
    let mut reader = open(&path)?;
    let begin = reader.fill_buf().map_err(|error| Failure::file(&path, &error))?;
    let output = output.map(|path| NewFile::new(path, force));
    if fathom_trace::files::begins_recording(begin) {
        if summary {
            return Err(Failure::new(format!(
                "{}: --summary is of block traces, and this is a recording of files: fathom characterize says what load it is",
                path.display()
            )));
        }
        return log_of_files(reader, &path, directory.as_deref(), output.as_ref(), streams);
    }
    if directory.is_some() {
        return Err(Failure::new(
            "--directory is for recordings of files; --device=PATH is the target of a block trace",
        ));
    }
    let found = read(reader, &path, &options, streams)?;
    let described = describe(found, &options, streams)?;
    match (summary, format) {
        (true, Format::Json) => text::json(&described, streams)?,
        (true, _) => text::summary(&described, streams)?,
        (false, _) if described.is_empty() => {
            let hint = "no process did enough I/O; lower --min-time or --min-ios, or look at --summary";
            return Err(Failure::new(hint));
        }
        (false, _) => {
            print_job_file(&described, &options, output.as_ref(), streams)?;
        }
    }
    Ok(0)
}

const FIO_USAGE: &str = "\
fio-btrace2fio: [options] <blktrace bin file>
\t-t\tIgnore tasks shorter than this (usec)
\t-n\tIgnore tasks with fewer I/Os
\t-f\tPrint a job file
\t-d\tFile or device of the jobs
\t-r\tIgnore tasks below this rate (KiB/sec)
\t-R\tPut the rate into the jobs (def=0)
\t-D\tLargest queue depth (def=256)
\t-c\tJoin jobs that are alike (def=0)
\t-u\tDifference in depth of jobs alike (def=1)
\t-x\tDifference in randomness of jobs alike (def=5)
\t-a\tLine to add to each job";

fn run_as_fio(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut options = Options { ..Options::default() };
    let (mut job_file, mut files) = (false, Vec::new());
    if let Err(failure) = read_fio_options(words, &mut options, &mut job_file, &mut files) {
        writeln!(streams.err, "fio-btrace2fio: {failure}\n{FIO_USAGE}")?;
        return Ok(1);
    }
    // `-f` takes no value; a name between it and the trace is the path of the job file.
    let output = if job_file && files.len() == 2 { Some(files.remove(0)) } else { None };
    let Some(trace) = files.first() else {
        writeln!(streams.err, "{FIO_USAGE}")?;
        return Ok(1);
    };
    let found = read(open(trace)?, trace, &options, streams)?;
    let events = found.events;
    let described = describe(found, &options, streams)?;
    if job_file {
        let output = output.map(|path| NewFile::new(path, true));
        print_job_file(&described, &options, output.as_ref(), streams)?;
    } else {
        writeln!(streams.out, "Traces loaded: {events}")?;
        text::summary(&described, streams)?;
    }
    Ok(0)
}

fn read_fio_options(
    words: &[OsString],
    options: &mut Options,
    job_file: &mut bool,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Short('t') => options.min_time_us = arguments::number(&mut parser, "-t", 0)?,
            Short('n') => options.min_ios = arguments::number(&mut parser, "-n", 0)?,
            Short('f') => *job_file = true,
            Short('d') => options.device = Some(arguments::text(&mut parser, "-d")?),
            Short('r') => options.min_rate_kib = arguments::number(&mut parser, "-r", 0)?,
            Short('R') => options.with_rate = true,
            Short('D') => options.depth_limit = arguments::number(&mut parser, "-D", 1)?,
            Short('c') => options.merge = arguments::number(&mut parser, "-c", 0)? != 0,
            Short('u') => options.depth_difference = arguments::number(&mut parser, "-u", 0)?,
            Short('x') => options.random_difference = arguments::fraction(&mut parser, "-x")?,
            Short('a') => options.extra.push(arguments::text(&mut parser, "-a")?),
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(())
}

fn print_job_file(
    described: &[Described],
    options: &Options,
    output: Option<&NewFile>,
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
    let text = text::job_file(described, options);
    match output {
        Some(file) => file.write(text.as_bytes()),
        None => Ok(streams.out.write_all(text.as_bytes())?),
    }
}

/// Contents of a trace.
struct Found {
    /// Number of records or lines.
    events: u64,
    /// The processes that queued requests.
    processes: Vec<Process>,
    /// Names of the devices that are volumes of other systems.
    volumes: BTreeMap<Device, String>,
}

/// Opens a trace, compressed or not.
fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    fathom_trace::plain(input::open(path)?).map_err(|error| Failure::file(path, &error))
}

/// Writes the I/O log of a recording of files.
fn log_of_files(
    reader: Box<dyn BufRead + Send>,
    path: &Path,
    directory: Option<&Path>,
    output: Option<&NewFile>,
    streams: &mut Streams<'_>,
) -> Result<u8, Failure> {
    let place = path.display().to_string();
    match output {
        Some(file) => {
            let mut log = file.create()?;
            files::write_log(reader, &place, directory, &mut log, &mut files::teller(streams))?;
        }
        None => {
            let mut told = Vec::new();
            let mut tell = |line| {
                told.push(line);
                Ok(())
            };
            files::write_log(reader, &place, directory, &mut streams.out, &mut tell)?;
            told.into_iter().try_for_each(|line| writeln!(streams.err, "{line}"))?;
        }
    }
    Ok(0)
}

/// Reads a trace. A truncated trace is read up to its last whole record.
fn read(
    reader: Box<dyn BufRead + Send>,
    path: &Path,
    options: &Options,
    streams: &mut Streams<'_>,
) -> Result<Found, Failure> {
    let unreadable = |error: TraceError| match error {
        TraceError::Io(error) => Failure::file(path, &error),
        TraceError::OldVersion => Failure::new(format!(
            "{}: not a block trace: neither a binary trace of version 7 (made with blktrace, or with blkparse -d) nor text of a known \
             format",
            path.display()
        )),
        other => Failure::new(format!("{}: {other}", path.display())),
    };
    let mut trace = Events::open(reader).map_err(unreadable)?;
    let mut tracker = Tracker::default();
    loop {
        match trace.next() {
            Ok(Some(event)) => tracker.add(&event),
            Ok(None) => break,
            Err(broken) => {
                let (place, events) = (path.display(), counted(trace.records(), "record"));
                writeln!(streams.err, "{place}: after {events}: {broken}; the rest is ignored")?;
                break;
            }
        }
    }
    let complaints = trace.take_complaints();
    for line in &complaints.first {
        writeln!(streams.err, "{line}")?;
    }
    let more = complaints.count - complaints.first.len() as u64;
    if more > 0 {
        writeln!(streams.err, "{}: {more} more lines or records are left out", path.display())?;
    }
    let mut processes = tracker.into_processes();
    let mut capped = false;
    for process in &mut processes {
        capped |= process.depth > options.depth_limit;
        process.depth = process.depth.min(options.depth_limit);
    }
    if capped {
        let limit = options.depth_limit;
        writeln!(
            streams.err,
            "completions are missing from the trace, or the depth is high: capped at {limit}"
        )?;
    }
    let volumes = processes.iter().flat_map(|process| &process.devices);
    let volumes = volumes.filter_map(|device| Some((*device, trace.volume(*device)?.to_owned()))).collect();
    Ok(Found { events: trace.records(), processes, volumes })
}

/// The processes with enough I/O, merged if requested, with the files for their jobs.
fn describe(found: Found, options: &Options, streams: &mut Streams<'_>) -> Result<Vec<Described>, Failure> {
    let Found { processes, volumes, .. } = found;
    let first_ns = processes.iter().map(|process| process.start_ns).min().unwrap_or_default();
    let mut kept: Vec<Process> =
        processes.into_iter().filter(|process| did_enough(process, options)).collect();
    if options.merge {
        kept = process::collapse(kept, options.depth_difference, options.random_difference);
    }
    // The busiest process comes first; the sort is stable, so equal ones stay in trace order.
    kept.sort_by_key(|process| std::cmp::Reverse(process.ios()));
    let names = device_names(&kept, &volumes, options, streams)?;
    let described = kept.into_iter().map(|process| {
        let files = match &options.device {
            Some(device) => vec![device.clone()],
            None => process.devices.iter().filter_map(|device| names.get(device).cloned()).collect(),
        };
        let delay_us = (process.start_ns - first_ns) / 1000;
        Described { process, files, delay_us }
    });
    Ok(described.collect())
}

fn did_enough(process: &Process, options: &Options) -> bool {
    let fastest = process.directions().map(|direction| process.rate_kib(direction)).max().unwrap_or_default();
    process.run_time_us() >= options.min_time_us
        && process.ios() >= options.min_ios
        && fastest >= options.min_rate_kib
}

/// The paths of all devices with these numbers on this machine; others are reported as missing.
fn device_names(
    processes: &[Process],
    volumes: &BTreeMap<Device, String>,
    options: &Options,
    streams: &mut Streams<'_>,
) -> Result<BTreeMap<Device, String>, Failure> {
    let mut names = BTreeMap::new();
    if options.device.is_some() {
        return Ok(names);
    }
    let devices: BTreeSet<Device> = processes.iter().flat_map(|process| &process.devices).copied().collect();
    for device in devices {
        let Device { major, minor } = device;
        if let Some(volume) = volumes.get(&device) {
            writeln!(streams.err, "{volume} is a volume of another system; name a device for the jobs")?;
            continue;
        }
        match device_path(major, minor) {
            Some(path) => {
                names.insert(device, path.display().to_string());
            }
            None => {
                writeln!(streams.err, "failed to find device {major}/{minor}; name a device for the jobs")?
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
