//! `fathom quick`: measures how fast a disk is, in under a minute. It uses an unnamed file, which disappears
//! with the program regardless of how it ends; existing files are not touched.

mod doubts;
mod elsewhere;
mod grid;
mod grid_report;
mod progress;
mod record;
mod test_line;

use crate::keeper::Keeper;
use crate::runner::{Ended, Runner};
use crate::running::{self, ENGINES, as_option, result_of, whole_document};
use crate::table::{FORMATS, Format, print_as};
use crate::{Command, checks, columns, figures, judgement};
use fathom_command::{Failure, NewDirectory, NewFile, Streams, arguments};
use fathom_errors::plain;
use fathom_results::RunResult;
use fathom_results::model::QuickResult;
use fathom_spec::Requirement;
use fathom_stats::Direction;
use fathom_stats::verdict::VerdictReport;
use fathom_sys::file_system::{self, PassingFile};
use grid::Setting;
pub(crate) use grid_report::{Bar, GridReport};
use lexopt::Arg::{Long, Value};
use progress::Progress;
use std::ffi::OsString;
use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the file in a stand-alone job.
const FILE_NAME: &str = "fathom-quick.data";
/// Maximum time for filling; the tests then use the part that was filled.
const FILL_LIMIT: Duration = Duration::from_secs(8);
/// Minimum size of the file for meaningful figures.
const LEAST_SIZE: u64 = 16 << 20;
/// Maximum number of repeats; more would take days.
const MOST_REPEATS: u32 = 1000;
/// Base of the exit code after a signal, as for an ordinary run.
const ENDED_BY_SIGNAL: u8 = 128;
/// Exit code if a later run could not start.
const INCOMPLETE: u8 = 1;

pub(crate) const COMMAND: Command = Command {
    name: "quick",
    arguments: "[DIRECTORY]",
    summary: "How fast is this disk? Find out in under a minute",
    help: "\
Usage: fathom quick [options] [DIRECTORY]

Measures the storage under DIRECTORY (default: the current one): sequential 1 MiB reads and writes at depth 8 and 1, random
4 KiB reads and writes at depth 32 and 1. Prints rates, latencies, and doubts about them.

It works on its own unnamed file: it touches nothing that exists and leaves nothing behind, however it ends.
With --hosts=LIST the directory is one of each host: all of them are measured together, each on a separate new file, which
is removed at the end (docs/hosts.md).

  --size=SIZE       size of the file (1g); twice as much must be free
  --time=TIME       time of each of the eight tests (5s)
  --repeats=N       run all tests N times: medians, and intervals between the runs
  --format=FORMAT   text, markdown, csv or json
  --save=FILE       save the full result, for fathom compare, report, show and explain; with --repeats a
                    new directory, which gets a file for each run
  --force           let --save overwrite a file
  --history=STORE   add the results to a store of fathom history; without STORE to the default one
  --require=WHAT    exit with 125 unless nothing is wrong with the figures (sound), or doubtful (no-doubts)
  --show-job        print the tests as a job file, and run nothing
",
    run,
};

struct Wishes {
    directory: PathBuf,
    size: u64,
    time: Duration,
    repeats: u32,
    format: Format,
    save: Option<Save>,
    /// The store for the results; without a name, the default one.
    history: Option<Option<OsString>>,
    require: Option<Requirement>,
    show_job: bool,
}

/// Where results are saved.
enum Save {
    /// The result of one run.
    File(NewFile),
    /// The results of several runs.
    Directory(NewDirectory),
}

impl Save {
    /// The file with the only result.
    fn file(&self) -> Option<&Path> {
        match self {
            Save::File(file) => Some(file.path()),
            Save::Directory(_) => None,
        }
    }
}

fn wishes(words: &[OsString]) -> Result<Wishes, Failure> {
    let mut wishes = Wishes {
        directory: PathBuf::from("."),
        size: 1 << 30,
        time: Duration::from_secs(5),
        repeats: 1,
        format: Format::Text,
        save: None,
        history: None,
        require: None,
        show_job: false,
    };
    let (mut directories, mut save, mut force) = (Vec::new(), None, false);
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("size") => wishes.size = arguments::size(&mut parser, "--size")?,
            Long("time") => {
                let time_ms = arguments::milliseconds(&mut parser, "--time")?;
                wishes.time = Duration::from_millis(time_ms.ceil() as u64);
            }
            Long("repeats") => {
                let repeats = arguments::number(&mut parser, "--repeats", 1)?;
                wishes.repeats =
                    u32::try_from(repeats).ok().filter(|repeats| *repeats <= MOST_REPEATS).ok_or_else(
                        || Failure::new(format!("--repeats={repeats}: {MOST_REPEATS} is the maximum")),
                    )?;
            }
            Long("format") => {
                wishes.format = arguments::choice(&mut parser, "--format", &FORMATS)?;
            }
            Long("require") => {
                wishes.require = Some(arguments::choice(&mut parser, "--require", &judgement::REQUIREMENTS)?);
            }
            Long("save") => save = Some(parser.value()?),
            Long("force") => force = true,
            Long("history") => wishes.history = Some(parser.optional_value()),
            Long("show-job") => wishes.show_job = true,
            Value(directory) => directories.push(PathBuf::from(directory)),
            other => return Err(other.unexpected().into()),
        }
    }
    if directories.len() > 1 {
        return Err(Failure::new(format!("{} directories given; name one", directories.len())));
    }
    wishes.directory = directories.pop().unwrap_or(wishes.directory);
    wishes.save = match (save, wishes.repeats) {
        (None, _) => None,
        (Some(path), 1) => Some(Save::File(NewFile::new(path, force))),
        (Some(_), _) if force => {
            return Err(Failure::new(
                "--force overwrites a file, and with --repeats --save names a new directory; leave out --force",
            ));
        }
        (Some(path), _) => Some(Save::Directory(NewDirectory::new(path))),
    };
    if wishes.show_job && wishes.repeats > 1 {
        return Err(Failure::new("--show-job prints one run of the tests; leave out --repeats"));
    }
    if wishes.size < LEAST_SIZE {
        let least = figures::size(LEAST_SIZE);
        let unit = match wishes.size {
            // A number this small most likely lacks a unit.
            1..=4095 => format!("{0} without a unit is {0} bytes, write --size={0}m or {0}g", wishes.size),
            _ => "use a larger size".to_owned(),
        };
        return Err(Failure::new(format!("--size: {least} is the minimum; {unit}")));
    }
    // The size is rounded down to whole blocks of the largest test.
    wishes.size -= wishes.size % (1 << 20);
    Ok(wishes)
}

fn run(words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> Result<u8, Failure> {
    let wishes = wishes(words)?;
    let elsewhere = runner.runs_elsewhere();
    if !elsewhere {
        check_place(&wishes)?;
    }
    let mut setting = Setting {
        file: as_option(&wishes.directory.join(FILE_NAME)),
        size: wishes.size,
        engine: ENGINES[0],
        direct: true,
        time: wishes.time,
        repeats: wishes.repeats,
    };
    if wishes.show_job {
        streams.out.write_all(grid::whole_job(&setting).as_bytes())?;
        return Ok(0);
    }
    let keeper = check_outputs(&wishes)?;
    let file = match elsewhere {
        true => None,
        false => Some(file_of(&wishes.directory)?),
    };
    match &file {
        Some(file) => {
            setting.file = as_option(&file.path());
            setting.direct = file.allows_direct();
        }
        None => setting.file = elsewhere::file_in(&wishes.directory),
    }
    let expected = FILL_LIMIT / 4 + setting.time * grid::TESTS.len() as u32 * setting.repeats;
    let on_terminal = std::io::stderr().is_terminal();
    if on_terminal {
        let tests = grid::TESTS.len();
        let whole = figures::roughly::duration(expected.as_nanos() as f64);
        let each = figures::duration(setting.time.as_nanos() as f64);
        let times = if setting.repeats > 1 { format!(", {} times", setting.repeats) } else { String::new() };
        writeln!(
            streams.err,
            "fathom quick: this takes about {whole}: filling a file, then {tests} tests of {each} each{times}"
        )?;
    }
    let mut progress = Progress::new(streams.err, on_terminal, expected);
    // Signals are held, so that the figures of a minute are printed even if a signal ends the command.
    let signals = crate::runner::signals()?;
    let measured = match &file {
        Some(file) => measure_here(&mut setting, &file.file, runner, &mut progress),
        None => elsewhere::measure(&mut setting, runner, &mut progress),
    };
    progress.end();
    let messages = std::mem::take(&mut progress.messages);
    messages.iter().try_for_each(|message| writeln!(streams.err, "{message}"))?;
    let runs = measured?;
    if runs.is_empty() {
        writeln!(streams.err, "fathom quick: stopped while filling the file; nothing is left behind")?;
        return Ok(ENDED_BY_SIGNAL);
    }
    if runs.len() < setting.repeats as usize {
        let (done, asked) = (runs.len(), setting.repeats);
        writeln!(streams.err, "fathom quick: stopped early: {done} of {asked} runs have figures")?;
    }
    let place = match elsewhere {
        true => wishes.directory.clone(),
        false => wishes.directory.canonicalize().unwrap_or(wishes.directory.clone()),
    };
    let results: Vec<RunResult> =
        runs.iter().map(|ended| result_of(&ended.report)).collect::<Result<_, _>>()?;
    // Doubts are stored in the result, where every command that reads it finds them.
    let quicks: Vec<QuickResult> =
        results.iter().map(|result| record::of(result, &setting, place.display().to_string())).collect();
    let mut quick = record::of_all(&quicks);
    record::add_scatter(&mut quick, &results);
    quick.place = fathom_results::single_line(&quick.place);
    let report = GridReport::of_runs(&results, &quick)
        .ok_or_else(|| Failure::new("the result does not describe its tests"))?;
    let shown = match wishes.format {
        Format::Text => report.text(columns::of_terminal().or_else(columns::told)),
        Format::Markdown => report.markdown(),
        Format::Csv => report.csv(),
        Format::Json => report.json(),
    };
    // The result is saved before the table is printed, because the reader of the table may have gone away. A
    // failure is reported afterwards, because the figures are valid anyway.
    let documents = documents(&runs, &quicks)?;
    let saved = wishes.save.as_ref().map_or(Ok(()), |place| save(place, &documents));
    let file = wishes.save.as_ref().and_then(Save::file);
    let kept = keeper.map_or(Ok(()), |keeper| keeper.add_documents(&documents, file));
    print_as(wishes.format, streams, &shown)?;
    saved?;
    kept?;
    if runs.iter().any(|ended| ended.signal.is_some()) || signals.asked_to_end().is_some() {
        return Ok(ENDED_BY_SIGNAL);
    }
    if let Some(status) = failure_of(&runs, setting.repeats) {
        return Ok(status);
    }
    match wishes.require.and_then(|required| unmet(required, &results, &quick)) {
        Some(line) => {
            writeln!(streams.err, "fathom quick: {line}")?;
            Ok(Requirement::UNMET)
        }
        None => Ok(0),
    }
}

/// Rejects places that cannot be written, before time is spent; returns the store of `--history`.
fn check_outputs(wishes: &Wishes) -> Result<Option<Keeper>, Failure> {
    match &wishes.save {
        Some(Save::File(file)) => file.check()?,
        Some(Save::Directory(directory)) => directory.check()?,
        None => {}
    }
    Keeper::asked(wishes.history.as_ref())
}

/// The exit code of runs that failed, or that were too few.
fn failure_of(runs: &[Ended], repeats: u32) -> Option<u8> {
    match runs.iter().map(|ended| ended.failed_jobs).max().unwrap_or(0) {
        0 => (runs.len() < repeats as usize).then_some(INCOMPLETE),
        failed => Some(failed.min(126) as u8),
    }
}

/// Why the figures do not meet the requirement; `None` if they do.
fn unmet(required: Requirement, results: &[RunResult], quick: &QuickResult) -> Option<String> {
    let verdicts: Vec<VerdictReport> = results.iter().map(checks::judge).collect();
    let is_sound = verdicts.iter().all(VerdictReport::is_sound);
    let runs_agree =
        !quick.tests.iter().flat_map(|test| &test.doubts).any(|doubt| doubt.kind == record::SCATTER);
    let has_no_doubts = quick.direct && runs_agree && verdicts.iter().all(VerdictReport::has_no_doubts);
    let is_met = match required {
        Requirement::Sound => is_sound,
        Requirement::NoDoubts => has_no_doubts,
    };
    let worst = verdicts.iter().max_by_key(|verdict| verdict.worst());
    let summary = worst.filter(|verdict| !verdict.has_no_doubts()).map(checks::summary);
    let summary = summary.unwrap_or_else(|| "there are doubts, see above".to_owned());
    (!is_met).then(|| judgement::unmet(required, &summary))
}

/// Checks that the path is a directory with enough space.
fn check_place(wishes: &Wishes) -> Result<(), Failure> {
    let directory = &wishes.directory;
    let metadata = std::fs::metadata(directory).map_err(|error| Failure::file(directory, &error))?;
    if !metadata.is_dir() {
        return Err(Failure::new(format!(
            "{}: not a directory, and quick never touches what exists; name a directory on the storage to measure, or \
             write a job for the device itself (fathom quick --show-job prints one to start from)",
            directory.display()
        )));
    }
    let free = file_system::free_bytes(directory)
        .map_err(|errno| Failure::new(format!("{}: {errno}", directory.display())))?;
    if free < wishes.size.saturating_mul(2) {
        let half = free / 2 / (1 << 20);
        let advice = match half << 20 >= LEAST_SIZE {
            true => format!("try --size={half}m"),
            false if free == 0 => {
                "it has no room at all; name a directory on the storage to measure".to_owned()
            }
            false => "free some space first".to_owned(),
        };
        return Err(Failure::new(format!(
            "{}: {} free, but quick needs twice the file's {} so that it never fills a disk up; {advice}",
            directory.display(),
            figures::size(free),
            figures::size(wishes.size)
        )));
    }
    Ok(())
}

/// Explains why a file cannot be created in a directory, and how to solve that.
pub(crate) fn no_file_here(directory: &Path, error: &std::io::Error) -> Failure {
    let place = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let advice = match error.kind() {
        std::io::ErrorKind::PermissionDenied => "; name a directory that you may write to",
        std::io::ErrorKind::ReadOnlyFilesystem => {
            "; name a directory on a file system that is not mounted read-only"
        }
        _ => "; name another directory on the storage to measure",
    };
    Failure::new(format!("{}: cannot create a file here: {}{advice}", place.display(), plain(error)))
}

fn file_of(directory: &Path) -> Result<PassingFile, Failure> {
    PassingFile::new(directory).map_err(|error| no_file_here(directory, &error))
}

/// Fills an unnamed file on this machine, then runs all tests; see [`measure`].
fn measure_here(
    setting: &mut Setting,
    file: &File,
    runner: &mut dyn Runner,
    progress: &mut Progress<'_>,
) -> Result<Vec<Ended>, Failure> {
    file.set_len(setting.size)
        .map_err(|error| Failure::new(format!("cannot create the file: {}", plain(&error))))?;
    setting.engine = usable_engine(setting, runner)?.unwrap_or(ENGINES[ENGINES.len() - 1]);
    measure(setting, 1, runner, progress)
}

/// Fills the file (`files` of them over all hosts), then runs all tests as often as requested. The part that
/// could not be filled in time is removed from `setting`. Returns no run if a signal arrived before the first
/// figures existed.
fn measure(
    setting: &mut Setting,
    files: u64,
    runner: &mut dyn Runner,
    progress: &mut Progress<'_>,
) -> Result<Vec<Ended>, Failure> {
    progress.begin("filling the file");
    let filled = run_text(&grid::fill_job(setting, FILL_LIMIT), runner, progress)?;
    let written: u64 = filled.report.jobs.iter().map(|job| job.directions[Direction::Write].io_bytes).sum();
    if filled.signal.is_some() {
        return Ok(Vec::new());
    }
    if filled.failed_jobs > 0 {
        return Err(Failure::new("cannot fill the file; nothing is left behind"));
    }
    let written = written / files.max(1);
    setting.size = setting.size.min(written - written % (1 << 20));
    if setting.size < LEAST_SIZE {
        return Err(Failure::new(format!(
            "wrote only {} in {} s: too little to measure; is the storage healthy?",
            figures::size(written),
            FILL_LIMIT.as_secs()
        )));
    }
    let jobs = grid::test_jobs(setting);
    let mut runs: Vec<Ended> = Vec::new();
    for number in 1..=setting.repeats {
        progress.begin_run(number, setting.repeats);
        let ended = match run_text(&jobs, runner, progress) {
            // The runs that have finished are still worth printing.
            Err(failure) if !runs.is_empty() => {
                progress.messages.push(format!("fathom quick: {failure}"));
                break;
            }
            other => other?,
        };
        let is_stopped = ended.signal.is_some();
        // Without any complete run, part of one is useful; otherwise it would distort the medians of the
        // complete runs.
        if is_stopped && !runs.is_empty() {
            break;
        }
        let is_last = is_stopped || ended.failed_jobs > 0;
        runs.push(ended);
        if is_last {
            break;
        }
    }
    Ok(runs)
}

/// The best engine that works in this directory; `None` if none does.
fn usable_engine(setting: &Setting, runner: &mut dyn Runner) -> Result<Option<&'static str>, Failure> {
    running::usable_engine(runner, |engine| {
        let probe = Setting { engine, size: 4096, ..setting.clone() };
        let text = format!(
            "{}[probe]\nrw=read\nbs=4k\n",
            grid::test_jobs(&probe).split("\n[").next().unwrap_or_default()
        );
        text.replace("time_based=1\n", "")
    })
}

fn run_text(text: &str, runner: &mut dyn Runner, progress: &mut Progress<'_>) -> Result<Ended, Failure> {
    let spec = runner.parse(&["-".to_owned()], text)?;
    runner.run(&spec, progress)
}

/// The results as JSON, with histograms.
fn documents(runs: &[Ended], quicks: &[QuickResult]) -> Result<Vec<String>, Failure> {
    let document = |(ended, quick): (&Ended, &QuickResult)| {
        record::with_quick(&String::from_utf8_lossy(&whole_document(&ended.report)?), quick)
    };
    runs.iter().zip(quicks).map(document).collect()
}

fn save(place: &Save, documents: &[String]) -> Result<(), Failure> {
    match place {
        Save::File(file) => file.write(documents.concat().as_bytes()),
        Save::Directory(directory) => {
            let named = documents.iter().enumerate();
            let files = named.map(|(index, text)| (format!("{}.json", index + 1), text.clone().into_bytes()));
            directory.write(&files.collect::<Vec<_>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_can_be_saved_is_told_before_the_run() {
        struct NoRunner;
        impl Runner for NoRunner {
            fn parse(&self, _: &[String], _: &str) -> Result<fathom_spec::RunSpec, Failure> {
                Err(Failure::new("it went on to run"))
            }
            fn run(&mut self, _: &fathom_spec::RunSpec, _: &mut dyn crate::Watch) -> Result<Ended, Failure> {
                Err(Failure::new("it went on to run"))
            }
            fn targets(&self, _: &fathom_spec::RunSpec) -> Result<Vec<crate::Target>, Failure> {
                Err(Failure::new("it went on to run"))
            }
            fn use_of(&self, _: &Path) -> Option<String> {
                None
            }
        }
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams { out: &mut out, err: &mut err };
        for (place, why) in [
            ("--save=/nonexistent/result.json", "cannot write a file there"),
            ("--save=/", "this is a directory"),
            ("--save=Cargo.toml", "this file exists"),
        ] {
            let words = ["--size=16m", place].map(OsString::from);
            let failure = run(&words, &mut streams, &mut NoRunner).expect_err("refused").to_string();
            assert!(failure.contains(why), "{failure}");
        }
    }
}
