//! The latency distribution of JSON+ reports as CSV: every bin with its count, the cumulative count, and its share.

mod document;
mod wide;

use crate::figures::python_float;
use crate::{FioProgram, Tool};
use document::{Job, LATENCIES};
use fathom_command::{Failure, Streams, arguments};
use lexopt::Arg::{Long, Short, Value};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const TOOL: Tool = Tool {
    name: "latency-csv",
    summary: "Latency distribution of a JSON+ report as CSV",
    help: "\
Usage: fathom latency-csv [--output=FILE.csv [--validate]] FILE...

Reads reports written with --output-format=json+. A file may have messages before a document, and several documents;
- is standard input. Without --output, prints one line per bin:

  job,jobname,direction,latency,nsec,count,cumulative,percentile

with the job's number across all documents, and the share of I/Os up to and including the bin (0 to 1).

  --output=FILE.csv  write FILE_job0.csv, FILE_job1.csv, ... instead, one line per latency and three columns for
                     each direction and kind of latency, as fio_jsonplus_clat2csv does
  --force            let --output overwrite files
  --validate         write nothing; check that these files match the report
",
    run,
    fio_programs: &[FioProgram { name: "fio_jsonplus_clat2csv", run: run_as_fio }],
};

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut stub, mut validate, mut force, mut files) = (None, false, false, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("output") | Short('o') => stub = Some(PathBuf::from(parser.value()?)),
            Long("force") => force = true,
            Long("validate") => validate = true,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let jobs = document::read_all(&arguments::some_files(files)?)?;
    document::note_missing_bins(&jobs, streams.err)?;
    match stub {
        Some(stub) if validate => wide::validate_all(&jobs, &stub, streams),
        Some(stub) => wide::write_all(&jobs, &stub, force, streams),
        None if validate => {
            Err(Failure::new("--validate needs --output=FILE.csv, the name of the files to check"))
        }
        None => print_long(&jobs, streams),
    }
}

const FIO_USAGE: &str = "usage: fio_jsonplus_clat2csv [-h] [--debug] [--validate] source dest";

fn run_as_fio(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut debug, mut validate, mut files) = (false, false, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("help") | Short('h') => {
                writeln!(
                    streams.out,
                    "{FIO_USAGE}\n\n  source       JSON+ report\n  dest         name of the CSV files; the job's \
                     number is added\n  --debug, -d  tell what is found\n  --validate   compare the files with \
                     the report instead of writing them"
                )?;
                return Ok(0);
            }
            Long("debug") | Short('d') => debug = true,
            Long("validate") => validate = true,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let Ok([source, stub]) = <[PathBuf; 2]>::try_from(files) else {
        writeln!(streams.err, "{FIO_USAGE}")?;
        writeln!(
            streams.err,
            "fio_jsonplus_clat2csv: error: the following arguments are required: source, dest"
        )?;
        return Ok(2);
    };
    let jobs = document::read_all(&[source])?;
    document::note_missing_bins(&jobs, streams.err)?;
    if debug {
        for (number, job) in jobs.iter().enumerate() {
            for (latency, bins) in LATENCIES.iter().zip(&job.bins) {
                let found = if bins.is_empty() { "not found" } else { "processing" };
                writeln!(streams.out, "job {number} {latency} {found}")?;
            }
        }
    }
    match validate {
        true => wide::validate_all(&jobs, &stub, streams),
        false => wide::write_all(&jobs, &stub, true, streams),
    }
}

/// One line per bin.
fn print_long(jobs: &[Job], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    writeln!(streams.out, "job,jobname,direction,latency,nsec,count,cumulative,percentile")?;
    for (number, job) in jobs.iter().enumerate() {
        for (latency, bins) in LATENCIES.iter().zip(&job.bins) {
            let (direction, kind) = latency.split_once('_').unwrap_or((latency, ""));
            for row in document::cumulated(bins) {
                writeln!(
                    streams.out,
                    "{number},{},{direction},{kind},{},{},{},{}",
                    quoted(&job.name),
                    row.ns,
                    row.count,
                    row.cumulative,
                    python_float(row.share)
                )?;
            }
        }
    }
    Ok(0)
}

/// A CSV field, quoted if necessary.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests;
