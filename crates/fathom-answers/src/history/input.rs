//! What is stored of the files that the user names.

pub(super) use crate::keeper::Tags;

use crate::curve::record::RecordedCurve;
use crate::pts::record::RecordedTest;
use crate::rehearse::record::RecordedRehearsal;
use crate::results_file::{is_results, results_in};
use crate::{compare, keeper, pts};
use fathom_command::{Failure, arguments};
use fathom_history::{Condition, Record};
use lexopt::Parser;
use std::path::Path;

/// Parses a value of `--tag`.
pub(super) fn tag(parser: &mut Parser, tags: &mut Tags) -> Result<(), Failure> {
    let text = arguments::text(parser, "--tag")?;
    let refused = |why: &str| Err(Failure::new(format!("--tag: `{text}`: {why}")));
    let Some((name, value)) = text.split_once('=') else {
        return refused("expected NAME=VALUE");
    };
    let name = name.trim();
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(is_word) {
        return refused("the name of a tag has letters, digits, _, - and . only");
    }
    if Condition::is_property(name) {
        return refused("every run has a property of this name; choose another name for the tag");
    }
    if value.chars().any(char::is_control) {
        return refused("the value of a tag is one line of text");
    }
    tags.insert(name.to_owned(), value.to_owned());
    Ok(())
}

/// The records of a file: one, or one for each run of a sweep, a curve or a rehearsal.
pub(super) fn records(path: &Path, tags: &Tags) -> Result<Vec<Record>, Failure> {
    if is_results::<RecordedTest>(path) {
        return Ok(vec![pts::record_in(path, tags.clone())?]);
    }
    let results = if is_results::<RecordedCurve>(path) {
        results_in::<RecordedCurve>(path)?
    } else if is_results::<RecordedRehearsal>(path) {
        results_in::<RecordedRehearsal>(path)?
    } else {
        compare::results_at(path)?
    };
    let file = Some(path).filter(|path| path.as_os_str() != "-");
    let record = |(cell, result)| keeper::record(result, cell, file, tags.clone());
    Ok(results.into_iter().map(record).collect())
}
