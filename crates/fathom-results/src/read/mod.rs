//! Reads result files. A file may have messages before the document, several documents in sequence (`--status-interval`), or
//! one document per line (`--output-format=jsonl`). The last document covers the whole run.

use crate::clean::single_lines;
use crate::model::{Interval, RunResult, TimelineResult};
use crate::{clients, hosts, lenient, stacks};
use fathom_errors::plain;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Maximum file size in bytes, so that an endless device does not fill the memory.
const MOST_BYTES: u64 = 1 << 30;

/// The reason for which a result could not be read: the error, its location, and a remedy.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadError(String);

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}

/// Reads a file; `-` is standard input.
pub fn read(path: &Path) -> Result<RunResult, ReadError> {
    let mut bytes = Vec::new();
    let done = match path.as_os_str() == "-" {
        true => std::io::stdin().take(MOST_BYTES + 1).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)),
    };
    done.map_err(|error| match error.kind() {
        ErrorKind::IsADirectory => {
            ReadError(format!("{}: this is a directory; name a result in it", path.display()))
        }
        _ => ReadError(format!("{}: {}", path.display(), plain(&error))),
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ReadError(format!(
            "{}: larger than {} GiB, too large for a result; name the JSON of a run",
            path.display(),
            MOST_BYTES >> 30
        )));
    }
    parse(&String::from_utf8_lossy(&bytes), &path.display().to_string())
}

/// Parses text; `source` is its name in messages.
pub fn parse(text: &str, source: &str) -> Result<RunResult, ReadError> {
    let found = documents(text, source)?;
    let documents: Vec<Cow<'_, str>> = found.into_iter().map(|found| single_lines(found.get())).collect();
    let Some(last) = documents.last() else {
        return Err(ReadError(format!(
            "{source}: no result in it; create one with --output-format=json+ --output=FILE"
        )));
    };
    let no_result = |error| ReadError(format!("{source}: this is JSON, but not a result of a run: {error}"));
    let mut result: RunResult = serde_json::from_str(last).map_err(no_result)?;
    let extras: Vec<Extras<'_>> =
        documents.iter().filter_map(|document| serde_json::from_str(document).ok()).collect();
    let of_servers = extras.last().and_then(|extras| extras.client_stats.as_ref());
    if let Some(entries) = of_servers {
        clients::take_in(&mut result, entries).map_err(no_result)?;
    }
    if result.jobs.is_empty() && result.version.is_empty() {
        let what = "this is JSON, but not a result of a run: it has neither `fio version` nor `jobs`";
        return Err(ReadError(format!("{source}: {what}")));
    }
    stacks::find(&mut result);
    hosts::complete(&mut result);
    let intervals: Vec<Interval> = extras.into_iter().filter_map(|extras| extras.interval).collect();
    if !intervals.is_empty() {
        result.timeline = Some(TimelineResult::of(&intervals));
    }
    result.source = source.to_owned();
    Ok(result)
}

/// A result that this program has just produced, in the same form as if read from its text: with single-line
/// strings.
pub fn at_hand(made: RunResult, source: &str) -> Result<RunResult, ReadError> {
    let amiss = |error| ReadError(format!("{source}: this is not a result of a run: {error}"));
    let text = serde_json::to_string(&made).map_err(amiss)?;
    let mut result = match single_lines(&text) {
        Cow::Borrowed(_) => made,
        Cow::Owned(cleaned) => serde_json::from_str(&cleaned).map_err(amiss)?,
    };
    stacks::find(&mut result);
    hosts::complete(&mut result);
    result.source = source.to_owned();
    Ok(result)
}

/// Number of bytes at the start of a file in which a NUL means that the file is not text.
const BEGIN_OF_BINARY: usize = 64;

/// Members of a document in addition to the result.
#[derive(Deserialize)]
struct Extras<'t> {
    /// The interval of a JSON line.
    #[serde(default, deserialize_with = "lenient::part")]
    interval: Option<Interval>,
    /// Jobs that a client requested from servers.
    #[serde(borrow)]
    client_stats: Option<Vec<&'t RawValue>>,
}

/// All documents in a text, as text, because the order of keys matters. Text before the first and after the
/// last is skipped.
fn documents<'t>(text: &'t str, source: &str) -> Result<Vec<&'t RawValue>, ReadError> {
    if text.chars().take(BEGIN_OF_BINARY).any(|letter| letter == '\0') {
        let advice =
            "if it is a block trace, --read_iolog replays it and fathom trace-to-job makes a job of it";
        return Err(ReadError(format!("{source}: this is a binary file, not a result; {advice}")));
    }
    let Some(start) = start_of_document(text) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut rest = &text[start..];
    loop {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        match stream.next() {
            Some(Ok(document)) => found.push(document),
            Some(Err(error)) if found.is_empty() => {
                let advice = match error.is_eof() {
                    true => "is the file truncated?",
                    false => "write the result again, or repair it there",
                };
                return Err(ReadError(format!("{source}: invalid JSON ({error}); {advice}")));
            }
            // A killed run leaves an incomplete line, which is ignored.
            Some(Err(_)) | None => return Ok(found),
        }
        rest = &rest[stream.byte_offset()..];
        match start_of_document(rest) {
            Some(start) => rest = &rest[start..],
            None => return Ok(found),
        }
    }
}

/// The first line that begins with a brace; spaces and a UTF-8 byte order mark may precede it.
fn start_of_document(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let lead = line.len() - line.trim_start_matches([' ', '\t', '\u{feff}']).len();
        if line[lead..].starts_with('{') {
            return Some(at + lead);
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests;
