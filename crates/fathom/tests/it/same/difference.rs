//! Finds the differences between two runs of the same command line.

use super::observed::Observed;
use crate::support::{FILLING, json, shape};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A sector, the unit of comparison for files with random content.
const SECTOR: usize = 512;

/// A difference.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    /// Its place: `exit`, `stderr`, `normal`, `terse`, `json/PATH`, `file/NAME`.
    pub(super) place: String,
    /// The values of the reference and of fathom.
    pub(super) text: String,
}

/// Arguments of jobs whose amounts depend on time.
const TIMED: [&str; 12] = [
    "time_based",
    "runtime",
    "rate",
    "timeout",
    "thinktime",
    "latency_target",
    "ss=",
    "steadystate",
    "flow",
    "max_latency",
    "io_submit_mode",
    "exitall",
];

/// Arguments that make the content of files reproducible.
const DETERMINED: [&str; 3] = ["buffer_pattern", "zero_buffers", "verify=pattern"];

/// Starts like one of [`DETERMINED`] but means the opposite.
const UNDETERMINED: &str = "zero_buffers=0";

/// Files that are compared by name only: verification states of other versions, compressed logs with times, and inputs.
const NAMES_ALONE: [&str; 3] = [".state", ".fz", "job.fio"];

/// All differences between the reference's run and ours.
pub(super) fn differences(words: &str, reference: &Observed, ours: &Observed) -> Vec<Difference> {
    let mut found = Vec::new();
    let is_timed = TIMED.iter().any(|word| words.contains(word));
    if reference.code != ours.code {
        found.push(difference("exit", reference.code, ours.code));
    }
    lines("stderr", &reference.errors, &ours.errors, &mut found);
    lines("normal", &shape::of(&reference.normal), &shape::of(&ours.normal), &mut found);
    terse(&reference.terse, &ours.terse, is_timed, &mut found);
    documents(reference, ours, is_timed, &mut found);
    files(words, reference, ours, is_timed, &mut found);
    found
}

fn difference(
    place: impl Into<String>,
    reference: impl std::fmt::Debug,
    ours: impl std::fmt::Debug,
) -> Difference {
    Difference { place: place.into(), text: format!("fio: {reference:?}, fathom: {ours:?}") }
}

/// The first differing line is enough to identify the cause.
fn lines(place: &str, reference: &[String], ours: &[String], found: &mut Vec<Difference>) {
    let end = reference.len().max(ours.len());
    let first = (0..end).find(|&at| reference.get(at) != ours.get(at));
    if let Some(at) = first {
        let mut one = difference(place, reference.get(at), ours.get(at));
        one.text = format!("line {}: {}", at + 1, one.text);
        found.push(one);
    }
}

/// The first differing field in each pair of lines. Names, errors and amounts must be equal; other fields must be of the same kind.
fn terse(reference: &[String], ours: &[String], is_timed: bool, found: &mut Vec<Difference>) {
    if reference.len() != ours.len() {
        found.push(difference("terse", reference.len(), ours.len()));
    }
    for (reference, ours) in reference.iter().zip(ours) {
        let (theirs, own): (Vec<&str>, Vec<&str>) =
            (reference.split(';').collect(), ours.split(';').collect());
        if theirs.len() != own.len() {
            found.push(difference("terse/fields", theirs.len(), own.len()));
        }
        // Version 2 and reports with unified directions have different field positions.
        let has_amounts = theirs[0] != "2" && theirs.len() > 100 && !is_timed;
        let value = |at: usize, text: &str| match at {
            1 => String::new(),
            0 | 2..=4 => text.to_owned(),
            5 | 46 if has_amounts => text.to_owned(),
            _ => kind(text),
        };
        let first = (0..theirs.len().min(own.len())).find(|&at| value(at, theirs[at]) != value(at, own[at]));
        if let Some(at) = first {
            found.push(difference(format!("terse/{at}"), theirs[at], own[at]));
        }
    }
}

/// A text with each number in it replaced by `N`.
fn kind(text: &str) -> String {
    let mut kind = String::new();
    for letter in text.chars() {
        match letter {
            '0'..='9' | '.' if kind.ends_with('N') => {}
            '0'..='9' => kind.push('N'),
            other => kind.push(other),
        }
    }
    // Results of a division by a time of zero.
    kind.replace("-nan", "N").replace("nan", "N").replace("inf", "N")
}

fn documents(reference: &Observed, ours: &Observed, is_timed: bool, found: &mut Vec<Difference>) {
    if reference.documents.len() != ours.documents.len() {
        found.push(difference("json", reference.documents.len(), ours.documents.len()));
    }
    for (reference, ours) in reference.documents.iter().zip(&ours.documents) {
        let (theirs, own) = (json::shape(reference), json::shape(ours));
        let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
            one.difference(other).take(3).cloned().collect::<Vec<String>>()
        };
        let (missing, added) = (only(&theirs, &own), only(&own, &theirs));
        let first = missing.first().or(added.first());
        if let Some(first) = first {
            let path = first.split(' ').next().unwrap_or_default();
            found.push(difference(
                format!("json{path}"),
                format!("only here: {missing:?}"),
                format!("only here: {added:?}"),
            ));
        }
        let (theirs, own) = (determined(reference, is_timed), determined(ours, is_timed));
        for (path, value) in &theirs {
            if own.get(path).is_some_and(|own| own != value) {
                found.push(difference(format!("json{path}"), value, &own[path]));
            }
        }
    }
}

/// The values of a document that do not depend on time.
fn determined(document: &Value, is_timed: bool) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    let mut keep = |path: String, value: &Value| {
        values.insert(path, value.clone());
    };
    keep("/global options".into(), &document["global options"]);
    let jobs = document["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    keep("/jobs".into(), &jobs.len().into());
    for (at, job) in jobs.iter().enumerate() {
        for key in ["jobname", "groupid", "error", "job options", "latency_depth", "latency_target"] {
            keep(format!("/jobs/{at}/{key}"), &job[key]);
        }
        if is_timed {
            continue;
        }
        for direction in ["read", "write", "trim", "mixed"] {
            for key in ["io_bytes", "io_kbytes", "total_ios", "short_ios", "drop_ios"] {
                keep(format!("/jobs/{at}/{direction}/{key}"), &job[direction][key]);
            }
            for times in ["clat_ns", "lat_ns"] {
                keep(format!("/jobs/{at}/{direction}/{times}/N"), &job[direction][times]["N"]);
            }
        }
        keep(format!("/jobs/{at}/sync/total_ios"), &job["sync"]["total_ios"]);
    }
    values
}

fn files(words: &str, reference: &Observed, ours: &Observed, is_timed: bool, found: &mut Vec<Difference>) {
    let names = |observed: &Observed| {
        // Files about corrupt blocks that fathom writes in addition to fio's.
        observed
            .files
            .keys()
            .filter(|name| !name.ends_with("-miscompares.jsonl"))
            .cloned()
            .collect::<Vec<String>>()
    };
    lines("files", &names(reference), &names(ours), found);
    // Block headers contain the time.
    let has_headers = words.contains("verify=") && !words.contains("verify=pattern");
    let content = words.replace(UNDETERMINED, "");
    let is_determined = DETERMINED.iter().any(|word| content.contains(word)) && !has_headers;
    for (name, theirs) in &reference.files {
        let Some(own) = ours.files.get(name) else { continue };
        let place = format!("file/{name}");
        if NAMES_ALONE.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        if name.ends_with(".log") || name.starts_with("trace") {
            lines(&place, &columns(name, theirs, is_timed), &columns(name, own, is_timed), found);
        } else if theirs.len() != own.len() {
            let lengths = (format!("{} bytes", theirs.len()), format!("{} bytes", own.len()));
            found.push(difference(place, lengths.0, lengths.1));
        } else if is_timed {
            continue;
        } else if is_determined {
            let first = theirs.iter().zip(own).position(|(one, other)| one != other);
            found.extend(first.map(|at| {
                difference(place, format!("byte {at} {:#x}", theirs[at]), format!("{:#x}", own[at]))
            }));
        } else {
            let (theirs, own) = (touched(theirs), touched(own));
            let first = theirs.iter().zip(&own).position(|(one, other)| one != other);
            found.extend(first.map(|at| difference(place, format!("sector {at} {}", theirs[at]), own[at])));
        }
    }
}

/// State of each sector of a file: never written, unchanged, or new.
fn touched(content: &[u8]) -> Vec<&'static str> {
    let sector = |bytes: &[u8]| match bytes.first() {
        Some(0) if bytes.iter().all(|&byte| byte == 0) => "empty",
        Some(&FILLING) if bytes.iter().all(|&byte| byte == FILLING) => "untouched",
        _ => "written",
    };
    content.chunks(SECTOR).map(sector).collect()
}

/// The lines of a log without values that depend on time.
fn columns(name: &str, content: &[u8], is_timed: bool) -> Vec<String> {
    let text = String::from_utf8_lossy(content);
    let line = |line: &str| {
        let parts: Vec<&str> = line.split_whitespace().collect();
        let masked = if name.ends_with(".log") { 2 } else { 1 };
        let shown = |(at, part): (usize, &&str)| {
            let is_number = part.trim_end_matches(',').parse::<u64>().is_ok();
            if is_number && (at < masked || at > 4 || is_timed) { "N".to_owned() } else { (*part).to_owned() }
        };
        parts.iter().enumerate().map(shown).collect::<Vec<String>>().join(" ")
    };
    let mut lines: Vec<String> = text.lines().map(line).collect();
    if is_timed {
        // The number of such lines depends on time as well.
        lines.dedup();
    }
    lines
}
