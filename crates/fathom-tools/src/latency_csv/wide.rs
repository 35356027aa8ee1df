//! A CSV file per job: a line per latency and three columns for each direction and kind of latency, the layout of
//! `fio_jsonplus_clat2csv`.

use super::document::{Job, LATENCIES, cumulated};
use crate::figures::python_float;
use fathom_command::{Failure, NewFile, Streams};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a file per job and reports it. `may_replace` overwrites the files of an earlier call.
pub(super) fn write_all(
    jobs: &[Job],
    stub: &Path,
    may_replace: bool,
    streams: &mut Streams<'_>,
) -> Result<u8, Failure> {
    for (number, job) in jobs.iter().enumerate() {
        let file = NewFile::new(numbered(stub, number), may_replace);
        file.write(table(job).as_bytes())?;
        writeln!(streams.out, "{} generated", file.path().display())?;
    }
    Ok(0)
}

/// Compares each job with its file.
pub(super) fn validate_all(jobs: &[Job], stub: &Path, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    for (number, job) in jobs.iter().enumerate() {
        let path = numbered(stub, number);
        let text = fs::read_to_string(&path).map_err(|error| Failure::file(&path, &error))?;
        if let Some(wrong) = mismatch(&text, &table(job)) {
            writeln!(streams.out, "mismatch: {} {wrong}", path.display())?;
            return Ok(1);
        }
        writeln!(streams.out, "{} validated", path.display())?;
    }
    Ok(0)
}

/// `x.csv` becomes `x_job0.csv`.
fn numbered(stub: &Path, number: usize) -> PathBuf {
    let mut name = stub.file_stem().unwrap_or_default().to_owned();
    name.push(format!("_job{number}"));
    if let Some(extension) = stub.extension() {
        name.push(".");
        name.push(extension);
    }
    stub.with_file_name(name)
}

/// The whole text of a job's file.
pub(super) fn table(job: &Job) -> String {
    let mut text = String::from("nsec, ");
    for latency in LATENCIES {
        text.push_str(&format!("{latency}_count, {latency}_cumulative, {latency}_percentile, "));
    }
    text.push('\n');
    let mut lines: BTreeMap<u64, [Option<String>; 9]> = BTreeMap::new();
    for (column, bins) in job.bins.iter().enumerate() {
        for row in cumulated(bins) {
            let cells = format!("{}, {}, {}, ", row.count, row.cumulative, python_float(row.share));
            lines.entry(row.ns).or_default()[column] = Some(cells);
        }
    }
    for (ns, cells) in lines {
        text.push_str(&format!("{ns}, "));
        cells.iter().for_each(|cell| text.push_str(cell.as_deref().unwrap_or(", , , ")));
        text.push('\n');
    }
    text
}

/// The first difference between a file and its expected content, by position; figures are compared as text.
fn mismatch(found: &str, wanted: &str) -> Option<String> {
    let (mut found, mut wanted) = (found.lines(), wanted.lines());
    loop {
        let (found, wanted) = match (found.next(), wanted.next()) {
            (None, None) => return None,
            (None, Some(wanted)) => return Some(format!("line missing: {} ns", first_field(wanted))),
            (Some(found), None) => return Some(format!("extra line: {} ns", first_field(found))),
            (Some(found), Some(wanted)) => (found, wanted),
        };
        if found == wanted {
            continue;
        }
        let differing = found.split(", ").zip(wanted.split(", ")).position(|(found, wanted)| found != wanted);
        let latency = differing.and_then(|field| LATENCIES.get(field.checked_sub(1)? / 3));
        return Some(match latency.and_then(|latency| latency.split_once('_')) {
            Some((direction, kind)) => format!("{direction} {kind} {} ns", first_field(wanted)),
            None => format!("{} instead of {} in the first column", first_field(found), first_field(wanted)),
        });
    }
}

fn first_field(line: &str) -> &str {
    line.split(',').next().unwrap_or(line)
}
