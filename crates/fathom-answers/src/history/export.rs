//! `fathom history export`: runs for other programs, one after the other, so that a large history needs no memory.

use super::{condition, failed, open};
use crate::table::quoted;
use fathom_command::{Failure, NewFile, Streams, arguments};
use fathom_history::record::Job;
use fathom_history::{Access, StoredRun};
use lexopt::Arg::{Long, Short};
use lexopt::Parser;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Format of the export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A line per figure.
    Csv,
    /// A line per run, with all that is kept.
    JsonLines,
}

const FORMS: [(&str, Form); 2] = [("csv", Form::Csv), ("jsonl", Form::JsonLines)];

const HEADINGS: &str = "run,begun_ms,program,verdict,fingerprint,host,kernel,device,model,firmware,serial,tags,job,direction,figure,value\n";

pub(super) fn run(mut parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut conditions, mut store, mut form) = (Vec::new(), None, Form::Csv);
    let (mut file, mut force) = (None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("where") => conditions.push(condition(&mut parser)?),
            Long("store") => store = Some(parser.value()?),
            Long("format") => form = arguments::choice(&mut parser, "--format", &FORMS)?,
            Short('o') | Long("output") => file = Some(PathBuf::from(parser.value()?)),
            Long("force") => force = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let mut store = open(store.as_ref(), Access::Read)?;
    let ids = store.ids(&conditions).map_err(failed)?;
    let runs = ids.into_iter().map(|id| store.run(id).map_err(failed));
    match file.filter(|file| file.as_os_str() != "-") {
        None => write(&mut streams.out, form, runs, Failure::from)?,
        Some(path) => {
            let mut out = BufWriter::new(NewFile::new(&path, force).create()?);
            let fail = |error: std::io::Error| Failure::file(&path, &error);
            write(&mut out, form, runs, fail)?;
            out.flush().map_err(fail)?;
        }
    }
    Ok(0)
}

fn write(
    out: &mut dyn Write,
    form: Form,
    runs: impl Iterator<Item = Result<StoredRun, Failure>>,
    fail: impl Fn(std::io::Error) -> Failure,
) -> Result<(), Failure> {
    if form == Form::Csv {
        out.write_all(HEADINGS.as_bytes()).map_err(&fail)?;
    }
    for run in runs {
        let run = run?;
        let text = match form {
            Form::Csv => rows(&run),
            Form::JsonLines => {
                serde_json::to_string(&run).map_err(|error| Failure::new(error.to_string()))? + "\n"
            }
        };
        out.write_all(text.as_bytes()).map_err(&fail)?;
    }
    Ok(())
}

/// The figures and percentiles of a run.
fn rows(run: &StoredRun) -> String {
    let record = &run.record;
    let mut text = String::new();
    for job in &record.jobs {
        let start = start_of_rows(run, job);
        for figure in &job.figures {
            let name = quoted(&figure.name);
            text.push_str(&format!("{start},{},{name},{}\n", figure.direction, figure.value));
        }
        for latency in &job.latencies {
            for (percent, ns) in &latency.percentiles {
                let name = format!("{}_p{percent}_ns", latency.latency);
                text.push_str(&format!("{start},{},{name},{ns}\n", latency.direction));
            }
        }
    }
    text
}

/// The run, and what a job was on.
fn start_of_rows(run: &StoredRun, job: &Job) -> String {
    let record = &run.record;
    let host = job.on_host.and_then(|index| record.hosts.get(index)).cloned().unwrap_or_default();
    let device = job.on_device.and_then(|index| record.devices.get(index)).cloned().unwrap_or_default();
    // A map of texts is always serialisable.
    let tags = serde_json::to_string(&record.tags).unwrap_or_default();
    let cells = [
        run.id.to_string(),
        record.begun_ms.to_string(),
        record.program.clone(),
        job.verdict.clone(),
        record.fingerprint.clone(),
        host.name,
        host.kernel,
        job.devices.join("+"),
        device.model,
        device.firmware,
        device.serial,
        tags,
        job.name.clone(),
    ];
    cells.map(|cell| quoted(&cell)).join(",")
}
