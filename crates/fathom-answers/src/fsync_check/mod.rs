//! `fathom fsync-check`: tells whether syncs in a directory are fast enough for a database's log. A log appends
//! small records and waits after each until it is on stable storage. The command writes an unnamed file, which
//! disappears with the program regardless of how it ends; existing files are not touched.

mod answer;

use crate::quick::no_file_here;
use crate::running::{Messages, as_option, result_of, status_of_signal, whole_document};
use crate::{Command, Runner, columns, device, judgement};
use answer::SyncAnswer;
use fathom_command::{Failure, NewFile, Streams, arguments};
use fathom_spec::Requirement;
use fathom_stats::inference::percentile::fewest_for;
use fathom_sys::file_system::PassingFile;
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Name of the job, which also appears in messages.
const JOB: &str = "fsync-check";
/// Number of bytes that etcd's documentation recommends to write.
const USUAL_SIZE: u64 = 22 << 20;

pub(crate) const COMMAND: Command = Command {
    name: JOB,
    arguments: "[DIRECTORY]",
    summary: "Are syncs here fast enough for a database's log?",
    help: "\
Usage: fathom fsync-check [options] [DIRECTORY]

Appends small records to a file under DIRECTORY (default: the current one) and calls fdatasync after each, as etcd and other
databases do with their logs. Prints percentiles of fdatasync, and whether the 99th is below the threshold.

It works on its own unnamed file: it touches nothing that exists and leaves nothing behind, however it ends.

  --threshold=TIME  slowest fdatasync that is fast enough, for example 10ms, which is etcd's limit (10ms)
  --percentile=P    the percentile that must be below it (99); 100 is the slowest fdatasync of all
  --bs=SIZE         size of a record (2300)
  --size=SIZE       bytes to write in all (22m, or what the percentile needs if that is more)
  --require=WHAT    also exit with 125 if a figure is doubtful (no-doubts)
  --format=FORMAT   text or json
  --save=FILE       save the full result, for fathom compare, report, show and explain
  --force           let --save overwrite a file

Exit: 0 fast enough, 2 too slow, 1 without an answer: it could not be measured, the figures are wrong, or there were too few
syncs for the percentile; 125 if the answer is not what --require asks for.
",
    run,
};

#[derive(Clone, Copy)]
enum AnswerFormat {
    Text,
    Json,
}

struct Wishes {
    directory: PathBuf,
    threshold_ns: u64,
    percentile: f64,
    block_size: u64,
    size: u64,
    require: Option<Requirement>,
    format: AnswerFormat,
    save: Option<NewFile>,
}

/// A unit is required: latencies are usually given in milliseconds and other times in seconds, so a bare number
/// would be ambiguous.
fn threshold_ms(parser: &mut lexopt::Parser) -> Result<f64, Failure> {
    let text = arguments::text(parser, "--threshold")?;
    if text.trim().parse::<f64>().is_ok_and(|number| number > 0.0) {
        return Err(Failure::new(format!(
            "--threshold: `{text}` has no unit; write {0}ms or {0}s",
            text.trim()
        )));
    }
    arguments::parse_milliseconds(&text).filter(|time| *time > 0.0).ok_or_else(|| {
        Failure::new(format!(
            "--threshold: `{text}` is not a time above zero; write a number with us, ms or s, such as 10ms"
        ))
    })
}

fn wishes(words: &[OsString]) -> Result<Wishes, Failure> {
    let mut wishes = Wishes {
        directory: PathBuf::from("."),
        threshold_ns: 10_000_000,
        percentile: 99.0,
        block_size: 2300,
        size: USUAL_SIZE,
        require: None,
        format: AnswerFormat::Text,
        save: None,
    };
    let (mut directories, mut save, mut force) = (Vec::new(), None, false);
    let mut size = None;
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("threshold") => {
                wishes.threshold_ns = (threshold_ms(&mut parser)? * 1e6) as u64;
            }
            Long("percentile") => {
                let text = arguments::text(&mut parser, "--percentile")?;
                let percentile = text.parse().ok().filter(|percentile| (0.0..=100.0).contains(percentile));
                wishes.percentile = percentile.ok_or_else(|| {
                    Failure::new(format!("--percentile: `{text}` is not a number from 0 to 100"))
                })?;
            }
            Long("bs") => wishes.block_size = arguments::size(&mut parser, "--bs")?,
            Long("size") => size = Some(arguments::size(&mut parser, "--size")?),
            Long("require") => {
                wishes.require = Some(arguments::choice(&mut parser, "--require", &judgement::REQUIREMENTS)?);
            }
            Long("format") => {
                let formats = [("text", AnswerFormat::Text), ("json", AnswerFormat::Json)];
                wishes.format = arguments::choice(&mut parser, "--format", &formats)?;
            }
            Long("save") => save = Some(parser.value()?),
            Long("force") => force = true,
            Value(directory) => directories.push(PathBuf::from(directory)),
            other => return Err(other.unexpected().into()),
        }
    }
    if directories.len() > 1 {
        return Err(Failure::new(format!("{} directories given; name one", directories.len())));
    }
    wishes.directory = directories.pop().unwrap_or(wishes.directory);
    wishes.save = save.map(|path| NewFile::new(path, force));
    let usual = wishes.size.max(size_for(wishes.percentile, wishes.block_size).unwrap_or(0));
    wishes.size = size.unwrap_or(usual);
    if wishes.block_size == 0 || wishes.block_size > size.unwrap_or(USUAL_SIZE) {
        return Err(Failure::new("--bs: a record is between 1 byte and --size"));
    }
    if wishes.threshold_ns == 0 {
        return Err(Failure::new("--threshold: expected a time above 0, such as 10ms"));
    }
    Ok(wishes)
}

/// Number of bytes to write to get enough syncs for a percentile; `None` for the 100th, which any number
/// supports.
fn size_for(percentile: f64, block_size: u64) -> Option<u64> {
    // The last record ends the run without a sync.
    let records = fewest_for(percentile)?.saturating_add(1);
    Some(records.saturating_mul(block_size).checked_next_multiple_of(1 << 20).unwrap_or(u64::MAX))
}

fn run(words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> Result<u8, Failure> {
    let wishes = wishes(words)?;
    if runner.runs_elsewhere() {
        return Err(Failure::new("--hosts is not supported; run it on each host"));
    }
    let directory =
        wishes.directory.canonicalize().map_err(|error| Failure::file(&wishes.directory, &error))?;
    if !directory.is_dir() {
        return Err(Failure::new(format!("{}: not a directory; name one", directory.display())));
    }
    if let Some(file) = &wishes.save {
        file.check()?;
    }
    let file = PassingFile::new(&directory).map_err(|error| no_file_here(&directory, &error))?;
    device::check_room(&directory.join(JOB), wishes.size)?;
    file.reserve(wishes.size).map_err(|errno| {
        Failure::new(format!("{}: cannot allocate the file: {errno}", directory.display()))
    })?;
    let mut messages = Messages::default();
    let spec = runner.parse(&["-".to_owned()], &job(&file.path(), &wishes))?;
    let ended = runner.run(&spec, &mut messages)?;
    messages.0.iter().try_for_each(|line| writeln!(streams.err, "{line}"))?;
    if let Some(signal) = ended.signal {
        writeln!(streams.err, "fathom fsync-check: stopped; nothing is left behind")?;
        return Ok(status_of_signal(signal));
    }
    if ended.failed_jobs > 0 {
        return Err(Failure::new(format!("{}: the syncs failed; see above", directory.display())));
    }
    let answer = SyncAnswer::of(&result_of(&ended.report)?, &ended.report, &directory, &wishes)?;
    // The answer is printed even if saving the result fails.
    let saved = wishes.save.as_ref().map_or(Ok(()), |file| file.write(&whole_document(&ended.report)?));
    let text = match wishes.format {
        AnswerFormat::Text => answer.text(columns::of_terminal()),
        AnswerFormat::Json => answer.json()?,
    };
    streams.out.write_all(text.as_bytes())?;
    saved?;
    if let Some(line) = answer.unmet(wishes.require) {
        writeln!(streams.err, "fathom fsync-check: {line}")?;
        return Ok(Requirement::UNMET);
    }
    Ok(answer.exit())
}

/// The job file. The file grows with each record, as a log does, so it is not laid out before the run. `psync`
/// does one write at a time, which is how a log is written.
fn job(path: &Path, wishes: &Wishes) -> String {
    format!(
        "[{JOB}]\nfilename={}\nioengine=psync\nrw=write\nbs={}\nsize={}\nfdatasync=1\ncreate_on_open=1\n",
        as_option(path),
        wishes.block_size,
        wishes.size
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused_before_the_run() {
        let read = |words: &[&str]| wishes(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let good = read(&["--threshold=5ms", "--percentile=99.9", "--bs=4k", "/tmp"]).expect("reads");
        assert_eq!((good.threshold_ns, good.percentile, good.block_size), (5_000_000, 99.9, 4096));
        assert_eq!(read(&["--threshold=500us"]).expect("reads").threshold_ns, 500_000);
        // The size is what the percentile requires, unless it is given.
        let size = |words: &[&str]| read(words).expect("reads").size >> 20;
        assert_eq!((size(&[]), size(&["--percentile=99.99"]), size(&["--percentile=100"])), (22, 220, 22));
        assert_eq!(size(&["--percentile=99.99", "--size=1m"]), 1);
        for wrong in [
            &["--threshold=0"][..],
            &["--threshold=10"],
            &["--threshold=fast"],
            &["--percentile=101"],
            &["--percentile=x"],
            &["--bs=23m"],
            &["--bs=0"],
            &["a", "b"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
