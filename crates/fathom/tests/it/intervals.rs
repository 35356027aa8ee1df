//! Reports at regular intervals: complete ones, and JSON lines that add up.

use crate::support::program::{self, Launch};
use crate::support::{json, scratch, shape};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A job of about `seconds` seconds.
fn null(seconds: u32) -> String {
    format!(
        "--ioengine=null --size=1G --bs=4k --rw=randrw --rate_iops=1000 --time_based --runtime={seconds} --name=a"
    )
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn bins(value: &Value) -> BTreeMap<String, u64> {
    let bins = value["bins"].as_object().cloned().unwrap_or_default();
    bins.into_iter().map(|(bin, count)| (bin, count.as_u64().expect("a count"))).collect()
}

/// Intervals are contiguous, only the last is final, and their sums equal the totals.
#[track_caller]
fn check_lines(lines: &[Value]) {
    for (index, pair) in lines.windows(2).enumerate() {
        assert_eq!(json::integer(&pair[0], "interval/end_ms"), json::integer(&pair[1], "interval/start_ms"));
        assert_eq!(json::integer(&pair[0], "interval/number"), index as u64 + 1);
        assert_eq!(pair[0]["final"], false);
        assert!(pair[0]["timestamp_ms"].as_u64() <= pair[1]["timestamp_ms"].as_u64());
    }
    let last = lines.last().expect("there are lines");
    assert_eq!(last["final"], true);
    for (index, job) in last["jobs"].as_array().expect("jobs").iter().enumerate() {
        for direction in ["read", "write", "trim"] {
            for figure in ["io_bytes", "total_ios", "clat_ns/N"] {
                let path = format!("{direction}/{figure}");
                let sum: u64 =
                    lines.iter().map(|line| json::integer(&line["interval"]["jobs"][index], &path)).sum();
                assert_eq!(sum, json::integer(job, &path), "{path}");
            }
            let mut sums = BTreeMap::new();
            for line in lines {
                for (bin, count) in bins(&line["interval"]["jobs"][index][direction]["clat_ns"]) {
                    *sums.entry(bin).or_insert(0) += count;
                }
            }
            assert_eq!(sums, bins(&job[direction]["clat_ns"]), "{direction}");
        }
    }
}

#[test]
fn whole_reports() {
    let run = |program: &Path, format: &str| {
        let directory = scratch();
        let words = format!("{} --status-interval=1 --output-format={format}", null(3));
        let finished = Launch::of(program, directory.path()).words(&words).run().expect_clean();
        (finished.stdout, directory)
    };
    let (normal, _) = run(&program::path(), "normal");
    let reports = normal.matches("\nRun status group 0 (all jobs):\n").count();
    assert!((3..=5).contains(&reports), "{reports} reports in three seconds: {normal}");
    let (documents, _) = run(&program::path(), "json");
    let documents: Vec<Value> =
        serde_json::Deserializer::from_str(&documents).into_iter().map(Result::unwrap).collect();
    let ios: Vec<u64> = documents.iter().map(|document| json::total(document, "read/total_ios")).collect();
    assert!(ios.len() >= 3 && ios.is_sorted() && ios[0] < 2_000, "{ios:?}");
    let Ok(reference) = program::reference() else { skip!("no fio to compare with") };
    let (theirs, _) = run(&reference, "normal");
    // The final reports of both cover the whole run, and are preceded by the same reports.
    let last_two = |text: &str| {
        let blocks: Vec<_> = text.match_indices("\na: (groupid=0").map(|(place, _)| place).collect();
        shape::of(&text[blocks[blocks.len() - 2]..])
    };
    assert_eq!(last_two(&normal), last_two(&theirs), "{normal}");
}

/// The report of a running job includes the CPU time and page faults so far.
#[test]
fn reports_during_a_run_say_what_it_has_used() {
    let directory = scratch();
    let mut running = Launch::fathom(directory.path())
        .words("--name=a --ioengine=psync --filename=data --size=8m --rw=randrw --bs=4k --time_based --runtime=60")
        .words("--status-interval=500ms --output-format=json --eta=never")
        .start();
    running.wait_for_output(|text| {
        let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>().map_while(Result::ok);
        documents.into_iter().any(|document| {
            let job = json::job(&document, "a");
            let share = |name: &str| job[name].as_f64().expect("a share");
            share("usr_cpu") + share("sys_cpu") > 0.0 && json::integer(job, "minf") > 0
        })
    });
    running.signal("INT");
    running.finish();
}

#[test]
fn whole_reports_in_a_file() {
    let directory = scratch();
    let words = format!("{} --status-interval=500ms --output-format=normal,terse --output=report", null(2));
    let finished = Launch::fathom(directory.path()).words(&words).run().expect_clean();
    assert_eq!(finished.stdout, "");
    let text = std::fs::read_to_string(directory.path().join("report")).expect("a report");
    let counts = ["\n3;fio-", "\na: (groupid=0"].map(|mark| text.matches(mark).count());
    assert!(counts[0] >= 3 && counts[0] == counts[1], "{counts:?}: {text}");
}

#[test]
fn intervals_that_are_none() {
    for (value, text) in [("0", "fio: status interval too small"), ("x", "fio: failed parsing time x")] {
        let finished =
            Launch::fathom(Path::new("/")).words(&format!("--status-interval={value} --name=a")).run();
        assert_eq!(finished.code(), 1);
        assert!(finished.stderr.starts_with(text), "{}", finished.stderr);
    }
}

#[test]
fn lines_add_up() {
    fathom_only!();
    let directory = scratch();
    let words = format!("{} --status-interval=200ms --output-format=jsonl", null(2));
    let lines = lines(&Launch::fathom(directory.path()).words(&words).run().expect_clean().stdout);
    // A busy machine may skip some.
    assert!((4..=12).contains(&lines.len()), "{} lines", lines.len());
    check_lines(&lines);
    let reads = |line: &&Value| json::integer(&line["interval"]["jobs"][0], "read/total_ios");
    let middle = &lines[..lines.len() - 1].iter().max_by_key(reads).expect("lines")["interval"];
    let clat = &middle["jobs"][0]["read"]["clat_ns"];
    let (least, mean) = (clat["min_at_least"].as_f64().unwrap(), clat["mean"].as_f64().unwrap());
    assert!(least <= mean && mean <= clat["max_at_most"].as_f64().unwrap(), "{clat}");
    let iops = middle["jobs"][0]["read"]["iops"].as_f64().unwrap();
    let ms = json::integer(middle, "end_ms") - json::integer(middle, "start_ms");
    let ios = json::integer(&middle["jobs"][0], "read/total_ios");
    let all = ios as f64 * 1000.0 / ms as f64;
    assert!((iops - all).abs() < all / 5.0, "{iops} I/Os a second, {ios} in {ms} ms");
}

#[test]
fn clones_groups_and_a_ramp() {
    fathom_only!();
    let directory = scratch();
    let words = format!(
        "{} --numjobs=2 --group_reporting --ramp_time=1 --name=b --ioengine=null --size=4M --rw=read --stonewall \
         --numjobs=2 --status-interval=300ms --output-format=jsonl --output=lines",
        null(1)
    );
    let finished = Launch::fathom(directory.path()).words(&words).run().expect_clean();
    assert_eq!(finished.stdout, "");
    let lines = lines(&std::fs::read_to_string(directory.path().join("lines")).expect("lines"));
    check_lines(&lines);
    let ramping = &lines[1]["interval"]["jobs"][0];
    assert_eq!(ramping["clones_not_recording"], 2);
    assert_eq!(json::integer(ramping, "read/total_ios"), 0);
    assert_eq!(lines.last().unwrap()["jobs"].as_array().map(Vec::len), Some(3));
}

#[test]
fn lines_come_while_the_run_goes_on() {
    fathom_only!();
    let directory = scratch();
    let mut running =
        Launch::fathom(directory.path()).words(&format!("{} --output-format=jsonl", null(60))).start();
    running.wait_for_output(|text| text.lines().count() >= 2 && text.ends_with('\n'));
    running.signal("USR1");
    running.wait_for_output(|text| text.lines().count() >= 3 && text.ends_with('\n'));
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code(), 128);
    check_lines(&lines(&finished.stdout));
}

#[test]
fn lines_stand_alone() {
    fathom_only!();
    for words in ["--output-format=jsonl,normal", "--output-format=jsonl --append-terse"] {
        let finished = Launch::fathom(Path::new("/")).words(&format!("{words} --name=a")).run();
        assert_eq!(finished.code(), 1);
        assert!(finished.stderr.contains("jsonl cannot be combined"), "{}", finished.stderr);
    }
}
