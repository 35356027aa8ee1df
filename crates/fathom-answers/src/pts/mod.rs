//! `fathom pts`: the tests of SNIA's Solid State Storage Performance Test Specification, step by step, with a
//! crash-safe results file.

pub(crate) mod definition;
mod endurance;
mod estimate;
mod execute;
pub(crate) mod findings;
mod iops;
mod jobs;
mod kept;
mod latency;
pub(crate) mod output;
pub(crate) mod plan;
mod purge;
pub(crate) mod record;
mod safety;
mod saturation;
mod sequence;
mod signatures;
mod start;
pub(crate) mod steady_state;
pub(crate) mod step;
mod throughput;
mod words;

use crate::keeper::{self, Keeper, Tags};
use crate::runner::Runner;
use crate::table::{Format, print_as};
use crate::{Command, columns};
use fathom_command::{Failure, Streams};
use fathom_history::Record;
use findings::Findings;
use record::RecordedTest;
use std::ffi::OsString;
use std::path::Path;
use words::What;

pub(crate) const COMMAND: Command = Command {
    name: "pts",
    arguments: "TEST DEVICE",
    summary: "How fast is an SSD in the long run? SNIA's tests",
    help: "\
Usage: fathom pts TEST DEVICE --destroy=DEVICE [OPTION...]
       fathom pts TEST --file=PATH --size=SIZE [OPTION...]
       fathom pts [--format=FORMAT] RESULTS.pts.jsonl

Runs a test of SNIA's Solid State Storage Performance Test Specification 2.0.2: purge, preconditioning, then rounds of the
test's workloads until five of them are steady. Says before it starts how long that takes and how much it writes. Each step is
kept in one results file. The last form prints the report of such a file again; fathom report makes a page of it.

Tests
  iops                random I/O: 8 block sizes, 7 mixes of reads and writes
  throughput          sequential reads and writes of 128 KiB and 1 MiB
  latency             one I/O at a time: 3 block sizes, 3 mixes
  saturation          random 4 KiB writes, until the capacity is written 4 times or 6 hours are over

Target
  --destroy=DEVICE    the device again: all its content will be lost
  --file=PATH         test a file instead, which makes no PTS result; one that exists is named again with --destroy
  --size=SIZE         make the file of this size, for the time of the test

Test
  --threads=N         threads; default 4 (throughput: 1)
  --depth=N           outstanding I/Os of each thread; default 32
  --rounds=N          rounds after which the test ends without a steady state; default 25
  --no-purge          do not discard the device: it was purged before, by other means
  --scale=SHARE       shorten all times and amounts for a try, as in 0.01; the result is not a PTS result

Output
  --output=FILE       results file; default TEST-NAME.pts.jsonl in the current directory
  --history[=STORE]   add the finished test to this store of fathom history
  --resume            go on with the test of the results file, or begin it
  --dry-run           say what would be done, and do nothing
  --format=text|markdown|csv|json  form of the report; default text
",
    run,
};

fn run(words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> Result<u8, Failure> {
    let options = words::read(words)?;
    let wishes = match options.what {
        What::Show(path) => {
            print(&crate::results_file::read(&path)?, options.format, streams)?;
            return Ok(0);
        }
        What::Run(wishes) => wishes,
    };
    if runner.runs_elsewhere() {
        return Err(Failure::new("these tests are about a device of this machine; leave out --hosts"));
    }
    let keeper = Keeper::asked(wishes.history.as_ref().filter(|_| !wishes.is_dry_run))?;
    let path = start::output(&wishes);
    let Some((recorded, stopped)) = start::run(&wishes, &path, streams, runner)? else { return Ok(0) };
    // The report is printed even if this failed. A test that was interrupted is added when it is finished.
    let kept = match keeper {
        Some(keeper) if recorded.next().is_none() => {
            record_of(&recorded, &path, Tags::new()).and_then(|record| keeper.add_records(&[record]))
        }
        _ => Ok(()),
    };
    print(&recorded, options.format, streams)?;
    kept?;
    Ok(stopped.unwrap_or(0))
}

/// What a history keeps of the finished test in a results file.
pub(crate) fn record_in(path: &Path, tags: Tags) -> Result<Record, Failure> {
    record_of(&crate::results_file::read(path)?, path, tags)
}

fn record_of(recorded: &RecordedTest, path: &Path, tags: Tags) -> Result<Record, Failure> {
    let (result, verdict) = kept::result(recorded, path)?;
    Ok(keeper::judged_record(result, Some(path), tags, |_| verdict.clone()))
}

fn print(recorded: &RecordedTest, format: Format, streams: &mut Streams<'_>) -> Result<(), Failure> {
    let findings = Findings::of(recorded);
    let text = match format {
        Format::Text => output::text(&findings, columns::of_terminal()),
        Format::Markdown => output::markdown(&findings),
        Format::Csv => output::csv(&findings),
        Format::Json => output::json(&findings),
    };
    print_as(format, streams, &text)
}
