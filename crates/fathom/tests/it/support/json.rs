//! Parses the JSON of a run.

use serde_json::Value;
use std::collections::BTreeSet;

/// Keys that fio 3.42 has but the installed release may lack; they are excluded from comparisons.
const ADDED_LATER: [&str; 15] = [
    "job_start",
    "latency_target_ns",
    "latency_window_us",
    "read_sectors",
    "write_sectors",
    "aggr_read_sectors",
    "aggr_write_sectors",
    "fathom jobs",
    "fathom notes",
    "fathom stages",
    "fathom verify",
    "fathom host",
    "fathom timeline",
    "fathom facts",
    "fathom verdict",
];

/// The first JSON document in a text, possibly preceded by messages and followed by a normal report.
#[track_caller]
pub(crate) fn document(text: &str) -> Value {
    let start = text.find('{').unwrap_or_else(|| panic!("no JSON in: {text}"));
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => value,
        other => panic!("no valid JSON ({other:?}) in: {text}"),
    }
}

/// The job with that name.
#[track_caller]
pub(crate) fn job<'a>(document: &'a Value, name: &str) -> &'a Value {
    let jobs = document["jobs"].as_array().expect("jobs is an array");
    jobs.iter().find(|job| job["jobname"] == name).unwrap_or_else(|| panic!("no job {name} in {document}"))
}

/// The integer at a path like `read/total_ios`.
#[track_caller]
pub(crate) fn integer(value: &Value, path: &str) -> u64 {
    let found = path.split('/').fold(value, |value, key| &value[key]);
    found.as_u64().unwrap_or_else(|| panic!("{path} is no integer: {found}"))
}

/// The sum of that integer over all jobs.
#[track_caller]
pub(crate) fn total(document: &Value, path: &str) -> u64 {
    document["jobs"].as_array().expect("jobs is an array").iter().map(|job| integer(job, path)).sum()
}

/// Every key path with its type, such as `/jobs/0/read/iops : float`. Options and devices are reduced to their
/// kind, because they depend on the machine and the command line, not on the format.
pub(crate) fn shape(document: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    collect(document, "", &mut lines);
    lines
}

fn collect(value: &Value, path: &str, lines: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter().filter(|(key, _)| !ADDED_LATER.contains(&key.as_str())) {
                match key.as_str() {
                    "global options" | "job options" => {
                        lines.insert(format!("{path}/{key} : object"));
                    }
                    // The bins that were hit depend on timing.
                    "bins" => {
                        lines.insert(format!("{path}/{key} : object"));
                    }
                    // The devices behind the files depend on the machine.
                    "disk_util" => {}
                    // fio's JSON contains only the number of an error, and no devices of a job.
                    "error_message" | "devices" => {}
                    _ => collect(member, &format!("{path}/{key}"), lines),
                }
            }
        }
        Value::Array(members) => {
            for (index, member) in members.iter().enumerate() {
                collect(member, &format!("{path}/{index}"), lines);
            }
        }
        Value::Number(number) => {
            lines.insert(format!("{path} : {}", if number.is_f64() { "float" } else { "integer" }));
        }
        Value::String(_) => {
            lines.insert(format!("{path} : text"));
        }
        Value::Bool(_) | Value::Null => {
            lines.insert(format!("{path} : neither number nor text"));
        }
    }
}

#[test]
fn documents_are_found_between_other_lines() {
    let value =
        document("note: hello\n{\n  \"a\" : 1.000000,\n  \"b\" : { \"c\" : 2 }\n}\n\nname: (groupid=0");
    assert_eq!(integer(&value, "b/c"), 2);
    let shape = shape(&value);
    assert_eq!(shape.into_iter().collect::<Vec<_>>(), ["/a : float", "/b/c : integer"]);
}
