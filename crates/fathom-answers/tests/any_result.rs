//! Tests with arbitrary file contents: commands that read results never panic, and no content of a file
//! controls the terminal.
//!
//! Results of real runs are changed in one or several places: numbers become huge, negative, fractions or
//! words, members are renamed or removed, strings contain escape sequences, files are truncated.

use fathom_answers::{Ended, Runner, Target, Watch, by_name};
use fathom_command::printer::{Letters, Printer};
use fathom_command::{Failure, Streams};
use fathom_spec::RunSpec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::Path;

/// Sequences with which a file could control the terminal or break a line, and which a page must not contain.
const POISON: &str = "\u{1b}[31mred\u{1b}]0;title\u{7}\r\n\u{9b}2J\u{202e}<script>\u{85}";

/// Results of fathom and fio, of several hosts, as JSON lines, of a sweep, and of a SNIA test.
const SEEDS: [(&str, &str); 6] = [
    ("fathom.json", include_str!("results/fathom.json")),
    ("fio.json", include_str!("results/fio.json")),
    ("hosts.json", include_str!("results/hosts.json")),
    ("lines.jsonl", include_str!("results/lines.jsonl")),
    ("sweep.jsonl", include_str!("results/sweep.jsonl")),
    ("pts.jsonl", include_str!("results/pts.jsonl")),
];

/// Runs no jobs.
struct NoRunner;

impl Runner for NoRunner {
    fn parse(&self, _: &[String], _: &str) -> Result<RunSpec, Failure> {
        Err(Failure::new("nothing is run here"))
    }

    fn run(&mut self, _: &RunSpec, _: &mut dyn Watch) -> Result<Ended, Failure> {
        Err(Failure::new("nothing is run here"))
    }

    fn targets(&self, _: &RunSpec) -> Result<Vec<Target>, Failure> {
        Err(Failure::new("nothing is run here"))
    }

    fn use_of(&self, _: &Path) -> Option<String> {
        None
    }
}

/// Runs every command on the file, as the program does; returns all output.
fn every_command(directory: &Path, file: &Path) -> Vec<String> {
    let other = directory.join("other.json");
    std::fs::write(&other, SEEDS[0].1).expect("can be written");
    let page = directory.join("page.html");
    let path = |path: &Path| path.display().to_string();
    let (file, other, page) = (path(file), path(&other), path(&page));
    let calls: [&[&str]; 16] = [
        &["show", &file],
        &["show", "--width=40", &file],
        &["show", "--summary", &file, &other],
        &["explain", &file],
        &["report", &file, "-o", &page],
        &["report", &file, &other, "-o", "-"],
        &["compare", &file, &other],
        &["compare", &other, &file, "--format=json"],
        &["compare", &file, &file, "--format=csv"],
        &["compare", &file, &file, "--format=markdown"],
        &["sweep", &file],
        &["sweep", "--format=json", &file],
        &["curve", &file],
        &["curve", "--format=json", &file],
        &["pts", &file],
        &["pts", "--format=json", &file],
    ];
    let one = |words: &[&str]| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams {
            out: &mut Printer::new(&mut out, Letters::Unicode),
            err: &mut Printer::new(&mut err, Letters::Unicode),
        };
        let rest: Vec<OsString> = words[1..].iter().map(OsString::from).collect();
        by_name(words[0]).expect("a command").run(&rest, &mut streams, &mut NoRunner);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        text(out) + &text(err)
    };
    let mut printed: Vec<String> = calls.into_iter().map(one).collect();
    printed.extend(std::fs::read_to_string(page));
    printed
}

/// Every position in a document, as the keys and indices that lead to it.
fn places(value: &Value, here: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, member) in members {
        here.push(key);
        found.push(here.clone());
        places(member, here, found);
        here.pop();
    }
}

/// The container that holds the position, and the last key or index that leads to it.
fn holder<'a>(document: &'a mut Value, place: &'a [String]) -> (&'a mut Value, &'a str) {
    let (last, way) = place.split_last().expect("no empty place");
    let mut here = document;
    for step in way {
        here = match here {
            Value::Array(list) => &mut list[step.parse::<usize>().expect("a number")],
            other => &mut other[step.as_str()],
        };
    }
    (here, last)
}

/// The value that replaces another one in a result.
fn strange_value() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(0),
        json!(-1),
        json!(1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(-1e308),
        json!(1e-308),
        json!(0.5),
        json!(u32::MAX),
        json!(null),
        json!(true),
        json!(""),
        json!(POISON),
        json!([]),
        json!({}),
        json!([[]]),
        json!({"0": 1, "-1": 2, "18446744073709551615": 3, "1e400": 4, "nan": 5}),
    ])
}

fn strange_key() -> impl Strategy<Value = String> {
    let keys = [
        "",
        "0",
        "-1",
        "1",
        "3",
        "4294967295",
        "4294967296",
        "18446744073709551615",
        "1e400",
        "nan",
        "inf",
        POISON,
    ];
    prop::sample::select(keys.map(str::to_owned).to_vec())
}

#[derive(Clone, Debug)]
enum Change {
    Value(Index, Value),
    Key(Index, String),
    Gone(Index),
    Twice(Index),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (any::<Index>(), strange_value()).prop_map(|(at, value)| Change::Value(at, value)),
        3 => (any::<Index>(), strange_key()).prop_map(|(at, key)| Change::Key(at, key)),
        1 => any::<Index>().prop_map(Change::Gone),
        1 => any::<Index>().prop_map(Change::Twice),
    ]
}

fn apply(document: &mut Value, change: &Change) {
    let mut all = Vec::new();
    places(document, &mut Vec::new(), &mut all);
    let (Change::Value(at, _) | Change::Key(at, _) | Change::Gone(at) | Change::Twice(at)) = change;
    if all.is_empty() {
        return;
    }
    let place = &all[at.index(all.len())];
    let (holder, step) = holder(document, place);
    match (holder, change) {
        (Value::Array(list), Change::Gone(_)) => drop(list.remove(step.parse().expect("a number"))),
        (Value::Array(list), Change::Twice(_)) => {
            let again = list[step.parse::<usize>().expect("a number")].clone();
            list.push(again);
        }
        (Value::Array(list), Change::Value(_, value)) => {
            list[step.parse::<usize>().expect("a number")] = value.clone()
        }
        (Value::Object(object), Change::Gone(_)) => drop(object.remove(step)),
        (Value::Object(object), Change::Value(_, value)) => {
            drop(object.insert(step.to_owned(), value.clone()))
        }
        (Value::Object(object), Change::Key(_, key)) => {
            let value = object.remove(step).unwrap_or_default();
            object.insert(key.clone(), value);
        }
        _ => {}
    }
}

/// The changed documents, one per line, as in the seed.
fn changed(seed: &str, changes: &[Change], cut: Option<Index>) -> String {
    let mut documents: Vec<Value> =
        serde_json::Deserializer::from_str(seed).into_iter().map(|one| one.expect("JSON")).collect();
    let count = documents.len();
    for (number, change) in changes.iter().enumerate() {
        apply(&mut documents[number % count], change);
    }
    let mut text: String = documents.iter().map(|document| format!("{document}\n")).collect();
    if let Some(cut) = cut {
        let mut end = cut.index(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}

#[track_caller]
fn nothing_steers(printed: &[String]) {
    for text in printed {
        let steers =
            |letter: char| (letter.is_control() && letter != '\n' && letter != '\t') || letter == '\u{202e}';
        let found = text.lines().find(|line| line.contains(steers));
        assert_eq!(found, None, "a terminal would obey this");
        assert!(!text.contains("<script>\u{fffd}") || !text.starts_with("<!doctype"), "it is not escaped");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn no_file_makes_a_command_panic(
        seed in 0..SEEDS.len(), changes in prop::collection::vec(change(), 0..6), cut in prop::option::weighted(0.15, any::<Index>())
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join(SEEDS[seed].0);
        std::fs::write(&file, changed(SEEDS[seed].1, &changes, cut)).expect("can be written");
        nothing_steers(&every_command(directory.path(), &file));
    }
}

/// Keys that are data: percentiles, bins, depths.
fn is_data(key: &str) -> bool {
    key.starts_with(|letter: char| letter.is_ascii_digit() || letter == '>')
}

/// Commands calculate with numbers in keys as well. Each kind of such key is therefore replaced by each of
/// the strange values.
#[test]
fn no_key_of_data_makes_a_command_panic() {
    const STRANGE: [&str; 7] = ["0", "-1", "3", "4294967295", "18446744073709551615", "1e400", "nan"];
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in SEEDS {
        let file = directory.path().join(name);
        let documents: Vec<Value> =
            serde_json::Deserializer::from_str(text).into_iter().map(|one| one.expect("JSON")).collect();
        let last = &documents[documents.len() - 1];
        let mut all = Vec::new();
        places(last, &mut Vec::new(), &mut all);
        let mut kinds: Vec<&str> = Vec::new();
        for place in &all {
            let [.., holder_key, key] = &place[..] else { continue };
            let value = place.iter().try_fold(last, |here, step| match here {
                Value::Array(list) => list.get(step.parse::<usize>().ok()?),
                other => other.get(step.as_str()),
            });
            // A zero share is not shown.
            let is_shown = value.and_then(Value::as_f64).is_some_and(|number| number > 0.0);
            if !is_data(key) || !is_shown || kinds.contains(&holder_key.as_str()) {
                continue;
            }
            kinds.push(holder_key);
            for strange in STRANGE {
                let mut changed = last.clone();
                if let (Value::Object(object), step) = holder(&mut changed, place) {
                    let value = object.remove(step).unwrap_or_default();
                    object.insert(strange.to_owned(), value);
                }
                let before = &documents[..documents.len() - 1];
                let text: String =
                    before.iter().chain([&changed]).map(|document| format!("{document}\n")).collect();
                std::fs::write(&file, text).expect("can be written");
                nothing_steers(&every_command(directory.path(), &file));
            }
        }
        assert!(kinds.len() >= 2 || name.ends_with(".jsonl"), "{name}: no keys are data: {kinds:?}");
    }
}

/// Inserts the poison into every string, and into every key that is data.
fn poisoned(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(format!("{text}{POISON}")),
        Value::Array(list) => list.iter().map(poisoned).collect(),
        Value::Object(object) => {
            let is_data =
                |key: &str| key.starts_with(|letter: char| letter.is_ascii_digit() || letter == '>');
            let member = |(key, value): (&String, &Value)| match is_data(key) {
                true => (format!("{key}{POISON}"), poisoned(value)),
                false => (key.clone(), poisoned(value)),
            };
            Value::Object(object.iter().map(member).collect::<Map<String, Value>>())
        }
        other => other.clone(),
    }
}

#[test]
fn no_string_of_a_result_steers_the_terminal() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in SEEDS {
        let file = directory.path().join(name);
        let documents: Vec<Value> =
            serde_json::Deserializer::from_str(text).into_iter().map(|one| one.expect("JSON")).collect();
        let all: String = documents.iter().map(|document| format!("{}\n", poisoned(document))).collect();
        std::fs::write(&file, all).expect("can be written");
        nothing_steers(&every_command(directory.path(), &file));
        // The strings are changed one at a time, because the others determine where the changed one is printed.
        let mut strings = Vec::new();
        places(&documents[documents.len() - 1], &mut Vec::new(), &mut strings);
        for place in &strings {
            let mut last = documents[documents.len() - 1].clone();
            let (holder, step) = holder(&mut last, place);
            let own = match holder {
                Value::Array(list) => &mut list[step.parse::<usize>().expect("a number")],
                other => &mut other[step],
            };
            let Value::String(text) = own else { continue };
            *own = json!(format!("{text}{POISON}"));
            let text: String = documents[..documents.len() - 1]
                .iter()
                .chain([&last])
                .map(|document| format!("{document}\n"))
                .collect();
            std::fs::write(&file, text).expect("can be written");
            nothing_steers(&every_command(directory.path(), &file));
        }
    }
}
