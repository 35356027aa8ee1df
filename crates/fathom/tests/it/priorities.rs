//! Clones of different I/O priorities in one group: their latencies are reported separately.

use crate::support::program::{self, Launch};
use crate::support::{json, skip};
use serde_json::Value;
use std::path::Path;

const GROUP: &str = "--ioengine=null --size=1M --bs=4k --rw=read --group_reporting";

fn run(program: &Path, format: &str, words: &str) -> String {
    let words = format!("--output-format={format} {GROUP} {words}");
    Launch::of(program, Path::new("/")).words(&words).run().expect_clean().stdout
}

/// The lines on priorities without their figures; fio 3.33 has no hints in them.
fn lines(report: &str) -> Vec<String> {
    let words = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        match words[2].matches('/').count() {
            1 => words.join(" ") + "/0",
            _ => words.join(" "),
        }
    };
    report.lines().filter(|line| line.contains("lat prio ")).map(words).collect()
}

/// Class, level and number of I/Os of each entry.
fn entries(document: &Value, key: &str) -> Vec<(u64, u64, u64)> {
    let list = document["jobs"][0]["read"]["prios"].as_array().cloned().unwrap_or_default();
    let of = |entry: &Value| {
        let count = json::integer(entry, &format!("{key}/N"));
        (json::integer(entry, "prioclass"), json::integer(entry, "prio"), count)
    };
    list.iter().map(of).collect()
}

#[test]
fn a_table_per_priority() {
    let words = "--name=a --prioclass=2 --prio=3 --name=b --prioclass=3 --prio=1 --numjobs=2 --name=c --name=d --prio=3";
    let ours = run(&program::path(), "normal", words);
    let list = lines(&ours);
    assert_eq!(list.len(), 6, "a line and a table for each of three priorities: {ours}");
    assert_eq!(list[0], "clat prio 2/3/0");
    let document = json::document(&run(&program::path(), "json", words));
    assert_eq!(entries(&document, "clat_ns"), [(2, 3, 512), (3, 1, 512), (0, 0, 256)]);
    let Ok(reference) = program::reference() else { skip!("no fio to compare with") };
    assert_eq!(list, lines(&run(&reference, "normal", words)));
    assert_eq!(
        entries(&json::document(&run(&reference, "json", words)), "clat_ns"),
        entries(&document, "clat_ns")
    );
}

#[test]
fn total_latency() {
    let words = "--lat_percentiles=1 --name=a --prioclass=2 --prio=3 --name=b";
    let document = json::document(&run(&program::path(), "json", words));
    assert_eq!(entries(&document, "lat_ns"), [(2, 3, 256), (0, 0, 256)]);
    assert_eq!(lines(&run(&program::path(), "normal", words))[0], "lat prio 2/3/0");
}

#[test]
fn real_time() {
    require!(skip::root());
    let words = "--name=a --prioclass=1 --prio=2 --name=b --prioclass=2 --prio=2";
    let document = json::document(&run(&program::path(), "json", words));
    assert_eq!(entries(&document, "clat_ns"), [(1, 2, 256), (2, 2, 256)]);
}

#[test]
fn shares_of_a_job() {
    for engine in ["libaio", "io_uring"] {
        let directory = crate::support::scratch();
        let words = format!(
            "--name=a --ioengine={engine} --filename=data --size=8M --rw=randrw --iodepth=4 --bssplit=4k/50:8k/50 --direct=0 \
             --cmdprio_bssplit=4k/20/2/3:8k/60/2/1:8k/10/3/0 --write_lat_log=log --log_prio=1 --output-format=json"
        );
        let launch = crate::support::program::Launch::fathom(directory.path()).words(&words);
        let document = json::document(&launch.run().expect_clean().stdout);
        for direction in ["read", "write"] {
            let figures = &document["jobs"][0][direction];
            let count = |class: u64, level: u64| {
                let entries = figures["prios"].as_array().expect("a table");
                let entry =
                    entries.iter().find(|entry| entry["prioclass"] == class && entry["prio"] == level);
                entry.map_or(0, |entry| json::integer(entry, "clat_ns/N"))
            };
            let total = json::integer(figures, "total_ios");
            let (mine, small, large, idle) = (count(0, 0), count(2, 3), count(2, 1), count(3, 0));
            assert_eq!(mine + small + large + idle, total, "{engine}: {figures}");
            // A tenth, three tenths and a twentieth of all, within a few standard deviations.
            for (found, share) in [(small, 0.1), (large, 0.3), (idle, 0.05)] {
                let expected = share * total as f64;
                assert!(
                    (found as f64 - expected).abs() < 6.0 * expected.sqrt() + 5.0,
                    "{engine}: {found} of {total}"
                );
            }
        }
        let log = std::fs::read_to_string(directory.path().join("log_clat.1.log")).expect("a log");
        for priority in ["0x0000", "0x4003", "0x4001", "0x6000"] {
            assert!(log.contains(&format!(", {priority}\n")), "{engine}: no line of {priority}");
        }
    }
}

#[test]
fn one_priority_is_no_table() {
    let words = "--name=a --prio=2 --name=b --prio=2";
    assert!(lines(&run(&program::path(), "normal", words)).is_empty());
    assert!(entries(&json::document(&run(&program::path(), "json", words)), "clat_ns").is_empty());
}
