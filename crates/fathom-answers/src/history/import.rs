//! `fathom history import`: adds all results in a directory and in those below it.

use super::input::{self, Tags};
use super::{failed, open};
use crate::output;
use fathom_command::arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use fathom_history::{Access, Store};
use lexopt::Arg::{Long, Value};
use lexopt::Parser;
use serde::Serialize;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The first line of a document is within this many bytes of a result, after messages.
const BEGINNING: u64 = 64 << 10;

/// What became of the directory.
#[derive(Default, Serialize)]
struct Outcome {
    added: u64,
    already_there: u64,
    skipped: Vec<Skipped>,
}

/// A file without a result.
#[derive(Serialize)]
struct Skipped {
    file: String,
    reason: String,
}

pub(super) fn run(mut parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut directories, mut tags, mut store, mut format) = (Vec::new(), Tags::new(), None, Format::Text);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("tag") => input::tag(&mut parser, &mut tags)?,
            Long("store") => store = Some(parser.value()?),
            Long("format") => format = arguments::format(&mut parser, &[Format::Text, Format::Json])?,
            Value(directory) => directories.push(PathBuf::from(directory)),
            other => return Err(other.unexpected().into()),
        }
    }
    if directories.is_empty() {
        return Err(Failure::new("no directory given; name the one with the results"));
    }
    let mut files = Vec::new();
    directories.iter().try_for_each(|directory| collect(directory, &mut files))?;
    let mut store = open(store.as_ref(), Access::Write)?;
    let mut outcome = Outcome::default();
    for file in &files {
        take_in(file, &tags, &mut store, &mut outcome)?;
    }
    for Skipped { file, reason } in &outcome.skipped {
        writeln!(streams.err, "skipped {file}: {reason}")?;
    }
    match format {
        Format::Json => streams.out.write_all(output::json(&outcome)?.as_bytes())?,
        _ => {
            let (there, skipped) = (outcome.already_there, outcome.skipped.len());
            let files = files.len();
            let line = format!(
                "{} runs added, {there} already there; {skipped} of {files} files skipped because they are not results\n",
                outcome.added
            );
            output::print(streams, &line)?;
        }
    }
    Ok(0)
}

/// The regular files below a directory, by name. Links to directories are not followed, because they may lead back.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let fail = |error: std::io::Error| Failure::file(directory, &error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        entries.push((entry.path(), entry.file_type().map_err(fail)?));
    }
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    for (path, kind) in entries {
        if kind.is_dir() {
            collect(&path, files)?;
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn take_in(file: &Path, tags: &Tags, store: &mut Store, outcome: &mut Outcome) -> Result<(), Failure> {
    let name = file.display().to_string();
    let records = match begins_with_document(file) {
        true => input::records(file, tags).map_err(|failure| failure.to_string()),
        false => Err("no JSON in it".to_owned()),
    };
    match records {
        Ok(records) => {
            for record in &records {
                match store.add(record).map_err(failed)?.is_new {
                    true => outcome.added += 1,
                    false => outcome.already_there += 1,
                }
            }
        }
        Err(reason) => {
            let reason = reason.strip_prefix(&format!("{name}: ")).unwrap_or(&reason).to_owned();
            outcome.skipped.push(Skipped { file: name, reason });
        }
    }
    Ok(())
}

/// True if a line near the beginning begins with a brace. Logs and traces of many GiB are not read for that.
fn begins_with_document(file: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
    // A file that cannot be read is read again, for the message.
    read.is_err()
        || bytes.split(|byte| *byte == b'\n').any(|line| {
            let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            text.trim_ascii_start().starts_with(b"{")
        })
}
