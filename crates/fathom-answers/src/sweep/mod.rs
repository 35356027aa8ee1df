//! `fathom sweep`: runs the same job with every combination of some options, repeated in random order, with one
//! crash-safe results file.

mod execute;
pub(crate) mod file_systems;
mod grid;
mod labels;
mod output;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod rows;
pub(crate) mod variation;
mod words;

use crate::bars::Ink;
use crate::base_job::{BaseJob, JobSource};
use crate::columns;
use crate::keeper::Keeper;
use crate::results_file;
use crate::table::{Format, print_as};
use crate::{Command, Runner};
use fathom_command::{Failure, Streams};
use labels::Label;
use record::RecordedSweep;
use std::ffi::OsString;
use std::path::Path;
use words::{Job, SweepOptions};

pub(crate) const COMMAND: Command = Command {
    name: "sweep",
    arguments: "JOB --vary=NAME=A,B",
    summary: "Which setting is best? Repeats in random order",
    help: "\
Usage: fathom sweep JOBFILE --vary=NAME=A,B,C [--vary=...] [OPTION...]
       fathom sweep --vary=NAME=A,B,C [OPTION...] -- --name=JOB --rw=randread ...
       fathom sweep [OPTION...] RESULTS.sweep.jsonl

Runs a job with each combination of the values, --repeats times each, in rounds of random order. Each finished run is appended
to one results file and synced. After Ctrl-C or a crash, the same command resumes where it stopped; with a larger --repeats it
adds runs. The last form prints the table of such a file again, finished or not.

Runs
  --vary=NAME=A,B,C        vary a job option; several make a grid; values separated by ; may contain commas
  --repeats=N              runs of each combination; default 3, better 5
  --seed=N                 seed of the run order; default random, and recorded
  --pause=TIME             wait between runs
  --precondition=JOBFILE   run these jobs before the first run
  --precondition-each      run them before every run
  --output=FILE            results file; default NAME.sweep.jsonl in the current directory
  --history=STORE          add the runs to a store of fathom history; without STORE to the default one
  --dry-run                print the plan and the job file of every combination, and run nothing

File systems (as root)
  --fs=LIST                vary the file system: ext4, xfs, btrfs, none (the device itself); made anew for each run
  --device=DEVICE          where they are made; a file works through a loop device
  --destroy=DEVICE         the same again: all its content will be lost
  --device-size=SIZE       size of a file that does not exist; it is gone after the sweep
  --mkfs-options=FS:OPTIONS  more arguments for mkfs.FS, as in ext4:-O^has_journal
  --mount-options=FS:OPTIONS  options of the mount, as in xfs:noatime

Output
  --figures=LIST           for example read-bw,write-bw,iops,lat,p99,cpu; the default depends on the job
  --label='NAME=HEADING:A,B,C'  heading of an option or figure, and names for the values of an option, in order
  --no-intervals           medians only
  --format=text|markdown|csv|json  default text
",
    run,
};

fn run(words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> Result<u8, Failure> {
    let options = words::read(words)?;
    let source = match &options.job {
        Job::Results(path) => return table_of(path, &options, streams),
        Job::Given(JobSource::File(path)) if results_file::is_results::<RecordedSweep>(path) => {
            return table_of(path, &options, streams);
        }
        Job::Given(source) => source,
    };
    let base = BaseJob::from(source, "sweep", runner)?;
    let mut plan = grid::plan(&options, &base, runner)?;
    plan.labels = options.labels.clone();
    labels::check(&plan.vary, &options.labels)?;
    let path = options.output.clone().unwrap_or_else(|| source.default_output(&plan.first_job, "sweep"));
    let given = record::GivenArguments { seed: options.seed.is_some(), repeats: options.repeats.is_some() };
    if options.is_dry_run {
        let begun = if results_file::is_results::<RecordedSweep>(&path) {
            record::begun(&path, &plan, given)?
        } else {
            None
        };
        let done = begun.as_ref().map(RecordedSweep::done);
        let plan = begun.map_or(plan, |recorded| recorded.plan);
        streams.out.write_all(grid::show(&plan, &path, done).as_bytes())?;
        return Ok(0);
    }
    if plan.volume.is_some() {
        if runner.runs_elsewhere() {
            return Err(Failure::new("--fs makes file systems on this machine; leave out --hosts or --fs"));
        }
        file_systems::make::check_user()?;
    }
    let keeper = Keeper::asked(options.history.as_ref())?;
    let mut recorder = record::Recorder::open(&path, &plan, given)?;
    let stopped = execute::execute(&mut recorder, streams, runner)?;
    let recorded = recorder.into_recorded();
    // The table is printed even if this failed.
    let kept = keeper.map_or(Ok(()), |keeper| keep(&keeper, &recorded, &path));
    let code = print(&options, &recorded, streams)?;
    kept?;
    Ok(stopped.unwrap_or(code))
}

/// Adds the finished runs of a results file to a history, as `fathom history add` does.
fn keep(keeper: &Keeper, recorded: &RecordedSweep, path: &Path) -> Result<(), Failure> {
    let of_cell = |cell| {
        let runs = recorded.runs_of(cell).into_iter();
        runs.map(move |run| (recorded.plan.name_of(cell), run.report.clone()))
    };
    keeper.add_runs((0..recorded.plan.cells()).flat_map(of_cell), path)
}

fn table_of(path: &Path, options: &SweepOptions, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    if let Some(option) = options.concerns_runs {
        return Err(Failure::new(format!(
            "{}: this is a results file, so only its table is printed; --{option} has no effect",
            path.display()
        )));
    }
    print(options, &results_file::read(path)?, streams)
}

/// Prints the table; returns 1 if a run failed.
fn print(options: &SweepOptions, recorded: &RecordedSweep, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let plan = &recorded.plan;
    labels::check(&plan.vary, &options.labels)?;
    let given: &[Label] = if options.labels.is_empty() { &plan.labels } else { &options.labels };
    let table = rows::Results::new(recorded, &options.figures, given)?;
    let text = match options.format {
        Format::Text => output::text(&table, Ink::of_environment(), columns::of_terminal()),
        Format::Markdown => output::markdown(&table, !options.has_no_intervals),
        Format::Csv => output::csv(&table),
        Format::Json => output::json(&table),
    };
    print_as(options.format, streams, &text)?;
    let failed = recorded.failed_runs();
    if failed > 0 {
        let what = if failed == 1 {
            "1 run failed and does".to_owned()
        } else {
            format!("{failed} runs failed and do")
        };
        // The exit status shows the failure as well, so errors of this output are ignored.
        let _ = writeln!(streams.err, "{what} not count; the same command tries again");
    }
    Ok(u8::from(failed > 0))
}

/// The content of a results file, for a page.
pub(crate) fn results_in(path: &Path) -> Result<rows::Results, Failure> {
    let recorded: RecordedSweep = results_file::read(path)?;
    let labels = recorded.plan.labels.clone();
    rows::Results::new(&recorded, &[], &labels)
}

/// Median of a figure and both ends of its interval, as in the table.
pub(crate) fn texts_of(results: &rows::Results, row: &rows::Row, figure: usize) -> [String; 2] {
    output::texts_of(results, row, figure)
}

/// Median, interval and verdict of a figure in one cell of a table.
pub(crate) fn whole_text_of(results: &rows::Results, row: &rows::Row, figure: usize) -> String {
    output::whole(results, row, figure)
}
