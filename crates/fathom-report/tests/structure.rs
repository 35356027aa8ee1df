//! Checks that the JSON of an installed fio and ours have the same keys in the same order, with the same types.
//! Keys that later releases of fio added are listed here by name.

mod support;

use serde_json::Value;
use std::process::Command;
use support::*;

/// Keys that the installed release may lack. They are included because the published layout has them.
const ADDED_LATER: [&str; 7] = [
    "job_start",
    "latency_target_ns",
    "latency_window_us",
    "read_sectors",
    "write_sectors",
    "aggr_read_sectors",
    "aggr_write_sectors",
];

/// Lists `/jobs/0/read/iops : float`, one per leaf or container, in the order of the text.
fn shape(value: &Value, path: &str, lines: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter().filter(|(key, _)| !ADDED_LATER.contains(&key.as_str())) {
                // The names of a job's options, and the location of its percentiles, are not part of the
                // layout.
                let below = format!("{path}/{key}");
                match key.as_str() {
                    "job options" => lines.push(format!("{below} : object")),
                    _ => shape(member, &below, lines),
                }
            }
        }
        Value::Array(members) => {
            for member in members.iter().take(1) {
                shape(member, &format!("{path}/0"), lines);
            }
        }
        Value::Number(number) if number.is_f64() => lines.push(format!("{path} : float")),
        Value::Number(_) => lines.push(format!("{path} : integer")),
        Value::String(_) => lines.push(format!("{path} : text")),
        Value::Bool(_) | Value::Null => panic!("{path}: reports have neither booleans nor nulls"),
    }
}

fn shape_of(text: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text).expect("valid JSON");
    let mut lines = Vec::new();
    shape(&value, "", &mut lines);
    lines.sort();
    lines
}

#[test]
fn same_keys_and_types_as_the_installed_fio() {
    let arguments = [
        "--name=mix",
        "--ioengine=null",
        "--size=8m",
        "--rw=randrw",
        "--output-format=json",
        "--disk_util=0",
    ];
    let output = match Command::new("fio").args(arguments).output() {
        Ok(output) if output.status.success() => output,
        Ok(output) => panic!("fio: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            fathom_skip::record(&format!("fio cannot be run: {error}"));
            return;
        }
    };
    let theirs = String::from_utf8(output.stdout).expect("fio prints text");

    let mut ours = report(vec![mixed_job("mix")]);
    ours.disks.clear();
    let mut bytes = Vec::new();
    fathom_report::by_name("json").expect("known").write(&ours, &mut bytes).expect("memory takes everything");
    let ours = String::from_utf8(bytes).expect("text");
    assert_eq!(shape_of(&ours), shape_of(&theirs));
    assert_eq!(keys_in_order(&ours), keys_in_order(&theirs));
}

/// Returns every key of the text in its original order, by level of indentation, because parsing would lose the
/// order.
fn keys_in_order(text: &str) -> Vec<String> {
    let mut inside_options = false;
    text.lines()
        .filter(|line| {
            let started = line.contains("\"job options\"");
            let ended = inside_options && line.trim_start().starts_with('}');
            let hidden = inside_options;
            inside_options = (inside_options || started) && !ended;
            !hidden
        })
        .map(|line| match line.split_once("\" : ") {
            Some((key, value)) if value.ends_with(['{', '[']) => format!("{key}\" : {value}"),
            Some((key, _)) => format!("{key}\""),
            None => line.to_string(),
        })
        .filter(|line| !ADDED_LATER.contains(&line.trim().trim_matches('"')))
        .map(|line| line.trim_end_matches(',').to_string())
        .collect()
}
