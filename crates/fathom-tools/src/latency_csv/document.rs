//! Bins of the jobs of JSON+ reports.

use crate::input;
use fathom_command::Failure;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Direction and kind of each latency, in the order of columns.
pub(super) const LATENCIES: [&str; 9] = [
    "read_slat_ns",
    "read_clat_ns",
    "read_lat_ns",
    "write_slat_ns",
    "write_clat_ns",
    "write_lat_ns",
    "trim_slat_ns",
    "trim_clat_ns",
    "trim_lat_ns",
];

/// A job or group of jobs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Job {
    /// Its name.
    pub(super) name: String,
    /// For each of [`LATENCIES`], the non-empty bins: nanoseconds and I/Os.
    pub(super) bins: [BTreeMap<u64, u64>; 9],
}

/// A bin with its cumulative count.
pub(super) struct Row {
    pub(super) ns: u64,
    pub(super) count: u64,
    /// I/Os up to and including this bin.
    pub(super) cumulative: u64,
    /// The cumulative count as a share of all I/Os, 0 to 1.
    pub(super) share: f64,
}

/// Bins with cumulative counts.
pub(super) fn cumulated(bins: &BTreeMap<u64, u64>) -> Vec<Row> {
    let total = bins.values().fold(0u64, |sum, count| sum.saturating_add(*count));
    let mut cumulative = 0;
    bins.iter()
        .map(|(&ns, &count)| {
            cumulative = count.saturating_add(cumulative);
            Row { ns, count, cumulative, share: cumulative as f64 / total as f64 }
        })
        .collect()
}

/// The jobs of all documents of all files, in their order.
pub(super) fn read_all(files: &[PathBuf]) -> Result<Vec<Job>, Failure> {
    let mut jobs = Vec::new();
    for file in files {
        let bytes = input::bytes(file)?;
        let mut found = false;
        for document in documents(file, &String::from_utf8_lossy(&bytes))? {
            // A client's report has its jobs under another key, which is read first.
            let list =
                document.get("jobs").or_else(|| document.get("client_stats")).and_then(Value::as_array);
            let Some(list) = list else { continue };
            found = true;
            for value in list {
                let job = job(value).map_err(|wrong| Failure::new(format!("{}: {wrong}", file.display())))?;
                jobs.push(job);
            }
        }
        if !found {
            let wanted = "no job report in it; create one with --output-format=json+";
            return Err(Failure::new(format!("{}: {wanted}", file.display())));
        }
    }
    Ok(jobs)
}

/// A hint if a report has no bins, which gives no rows.
pub(super) fn note_missing_bins(jobs: &[Job], err: &mut dyn Write) -> io::Result<()> {
    if jobs.iter().all(|job| job.bins.iter().all(BTreeMap::is_empty)) {
        writeln!(err, "no job has latency bins; reports written with --output-format=json+ do")?;
    }
    Ok(())
}

/// Returns all JSON objects of a text. A document begins with a `{` at the start of a line, so braces within
/// messages are ignored.
fn documents(file: &Path, text: &str) -> Result<Vec<Value>, Failure> {
    let mut documents = Vec::new();
    let mut rest = text;
    while let Some(start) = document_start(rest) {
        rest = &rest[start..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(document)) => documents.push(document),
            Some(Err(error)) => {
                let number = documents.len() + 1;
                return Err(Failure::new(format!("{}: document {number}: {error}", file.display())));
            }
            None => break,
        }
        rest = &rest[stream.byte_offset()..];
    }
    Ok(documents)
}

fn document_start(text: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if line[indent..].starts_with('{') {
            return Some(offset + indent);
        }
        offset += line.len();
    }
    None
}

/// Error for an invalid bin.
#[derive(Debug, Error)]
#[error("job {job}: `{ns}: {count}` in the bins of {latency} is not a count of I/Os at a time in ns")]
struct BadBin {
    job: String,
    ns: String,
    count: Value,
    latency: String,
}

fn job(value: &Value) -> Result<Job, BadBin> {
    let name = value.get("jobname").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut job = Job { name, ..Job::default() };
    for (latency, bins) in LATENCIES.iter().zip(&mut job.bins) {
        let (direction, kind) = latency.split_once('_').unwrap_or((latency, ""));
        let Some(found) = value.get(direction).and_then(|object| object.get(kind)?.get("bins")?.as_object())
        else {
            continue;
        };
        for (found_ns, found_count) in found {
            let (Ok(ns), Some(count)) = (found_ns.parse(), found_count.as_u64()) else {
                let (ns, count, latency) =
                    (found_ns.clone(), found_count.clone(), format!("{direction} {kind}"));
                return Err(BadBin { job: job.name, ns, count, latency });
            };
            bins.insert(ns, count);
        }
    }
    Ok(job)
}
