//! `fathom history add`: puts results into the store.

use super::input::{self, Tags};
use super::{failed, open};
use crate::output;
use fathom_command::arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use fathom_history::{Access, Record};
use lexopt::Arg::{Long, Value};
use lexopt::Parser;
use serde::Serialize;
use std::path::PathBuf;

/// What became of one result.
#[derive(Serialize)]
pub(super) struct Outcome {
    file: String,
    run: i64,
    is_new: bool,
}

pub(super) fn run(mut parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut files, mut tags, mut store, mut format) = (Vec::new(), Tags::new(), None, Format::Text);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("tag") => input::tag(&mut parser, &mut tags)?,
            Long("store") => store = Some(parser.value()?),
            Long("format") => format = arguments::format(&mut parser, &[Format::Text, Format::Json])?,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    // All files are read before the first is stored, so a file without a result leaves the history as it was.
    let mut records: Vec<(String, Record)> = Vec::new();
    for file in arguments::some_files(files)? {
        if file.is_dir() {
            return Err(Failure::new(format!(
                "{0}: this is a directory; fathom history import {0} adds the results in it",
                file.display()
            )));
        }
        let name = file.display().to_string();
        records.extend(input::records(&file, &tags)?.into_iter().map(|record| (name.clone(), record)));
    }
    let mut store = open(store.as_ref(), Access::Write)?;
    let mut outcomes = Vec::new();
    for (file, record) in records {
        let added = store.add(&record).map_err(failed)?;
        outcomes.push(Outcome { file, run: added.id, is_new: added.is_new });
    }
    match format {
        Format::Json => streams.out.write_all(output::json(&outcomes)?.as_bytes())?,
        _ => output::print(streams, &outcomes.iter().map(line).collect::<String>())?,
    }
    Ok(0)
}

fn line(outcome: &Outcome) -> String {
    let Outcome { file, run, is_new } = outcome;
    match is_new {
        true => format!("{file}: added as run {run}\n"),
        false => format!("{file}: already there as run {run}\n"),
    }
}
