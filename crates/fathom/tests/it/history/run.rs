//! `--history`: runs put their own results into the store.

use super::{document, history};
use crate::support::program::Launch;
use crate::support::scratch;
use std::fs;
use std::path::Path;

const JOB: &str = "--name=x --ioengine=null --size=1m --rw=randrw";

/// The number of runs in the store.
fn stored(at: &Path) -> u64 {
    document(history(at, "list --format=json").run())["total"].as_u64().expect("a number")
}

fn run(at: &Path, words: &str) -> Launch {
    Launch::fathom(at).variable("FATHOM_HISTORY", "history.db").words(words).words(JOB)
}

#[test]
fn every_run_is_one_in_the_store() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    let told = run(at, "--history").run().expect_clean().stdout;
    assert!(told.contains("x: (groupid=0"), "{told}");
    run(at, "--history=history.db --output-format=normal").run().expect_clean();
    run(at, "--history --output-format=json+ --output=own.json").run().expect_clean();
    assert_eq!(stored(at), 3);
    // The run is the same as the one in its file.
    let again = history(at, "add own.json").run().expect_clean().stdout;
    assert_eq!(again, "own.json: already there as run 3\n");
    let shown = document(history(at, "show --format=json 1 3").run());
    for run in shown.as_array().expect("a list") {
        assert!(run["verdict"].as_str().is_some_and(|word| !word.is_empty()), "{run}");
        assert_eq!(run["jobs"][0]["name"], "x", "{run}");
        let latencies = run["jobs"][0]["latencies"].as_array().expect("latencies");
        assert!(latencies.iter().any(|latency| latency["bins"].as_object().is_some()), "{run}");
    }
    assert!(shown[1]["source"].as_str().is_some_and(|source| source.ends_with("/own.json")), "{shown}");
}

#[test]
fn a_store_that_cannot_be_used_is_refused_before_the_run() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    fs::write(at.join("notes.txt"), "not a history\n").expect("written");
    let words = "--name=x --filename=data --size=64k --rw=write";
    for (store, what) in [
        (
            "nowhere/history.db",
            "make the file and its directory writable, or name another one with --history=",
        ),
        ("notes.txt", "this file is not a history of fathom; name another one with --history="),
        ("postgres://me:hidden@db/x", "PGPASSFILE"),
    ] {
        let launch = Launch::fathom(at).argument(format!("--history={store}")).words("--output=out.txt");
        let refused = launch.words(words).run();
        assert_eq!((refused.code(), refused.stdout.as_str()), (1, ""), "{store}");
        let told = &refused.stderr;
        assert!(told.starts_with("fathom: --history: ") && told.contains(what), "{told}");
        assert!(!told.contains("hidden") && !told.contains("--store"), "{told}");
        assert!(!at.join("data").exists() && !at.join("out.txt").exists(), "{store}: something was written");
    }
    let client = Launch::fathom(at).words("--client=localhost --history").words(words).run();
    assert!(
        client.code() == 1 && client.stderr.contains("--history is not built for --client"),
        "{}",
        client.stderr
    );
}

#[test]
fn a_store_that_is_gone_at_the_end_costs_no_output() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    for format in ["normal", "json"] {
        // The job removes the store when it has begun.
        let launch = run(at, &format!("--history --output=out.txt --output-format={format}"));
        let ended = launch.argument("--exec_prerun=rm history.db").run();
        assert_eq!(ended.code(), 1, "{}", ended.stderr);
        let told = ended.stderr + &fs::read_to_string(at.join("out.txt")).expect("the output");
        assert!(told.contains("history.db: the history that was there before the run is gone"), "{told}");
        assert!(told.contains("groupid"), "{told}");
        assert!(!at.join("history.db").exists(), "an empty store took its place");
    }
}

#[test]
fn commands_add_what_they_measure() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    let with = |words: &str| Launch::fathom(at).variable("FATHOM_HISTORY", "history.db").words(words);
    let sweep = format!("sweep --history --vary=bs=4k,8k --repeats=2 -- {JOB}");
    with(&sweep).run();
    assert_eq!(stored(at), 4);
    assert_eq!(document(history(at, "list --format=json --where=cell=bs=4k").run())["total"], 2);
    with(&sweep).run();
    assert_eq!(stored(at), 4, "runs of a sweep that went on were added twice");
    let again = history(at, "add x.sweep.jsonl").run().expect_clean().stdout;
    assert_eq!(again.matches(": already there as run").count(), 4, "{again}");
    with("quick --size=16m --time=50ms --history").run();
    assert_eq!(stored(at), 5);
    let refused = with("quick --size=16m --time=50ms --history=nowhere/history.db").run();
    assert!(
        refused.code() == 1 && refused.stderr.contains("--history: nowhere/history.db"),
        "{}",
        refused.stderr
    );
}

#[test]
fn searches_for_a_rate_add_their_runs() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    let with = |words: &str| Launch::fathom(at).variable("FATHOM_HISTORY", "history.db").words(words).run();
    let ran = |words: &str| {
        let ended = with(words);
        assert_eq!(ended.code(), 0, "{}", ended.stderr);
    };
    let cells = || -> Vec<String> {
        let listed = document(history(at, "list --format=json").run());
        let runs = listed["runs"].as_array().expect("runs").iter();
        let mut cells: Vec<String> =
            runs.map(|run| run["tags"]["cell"].as_str().unwrap_or_default().to_owned()).collect();
        cells.sort();
        cells
    };
    let curve = "curve --rates=100,200 --time=200ms --ramp=0 --most-runs=1 --output=x.jsonl";
    ran(&format!("{curve} --history -- {JOB}"));
    assert_eq!(cells(), ["100 IOPS", "200 IOPS"]);
    let again = with("history add x.jsonl").expect_clean().stdout;
    assert_eq!(again.matches(": already there as run").count(), 2, "{again}");
    fs::write(at.join("target"), vec![1; 1 << 20]).expect("written");
    let rehearse = "rehearse --on=target --scales=1,2 --time=200ms --most-runs=1";
    let reads = "-- --name=x --size=1m --rw=randread --rate_iops=50 --ioengine=psync";
    ran(&format!("{rehearse} --output=y.jsonl --history {reads}"));
    assert_eq!(cells(), ["100 IOPS", "1x", "200 IOPS", "2x"]);
    // Nothing is run, and no file is made, without the store.
    for command in [
        format!("{curve}2 --history=no/h.db -- {JOB}"),
        format!("{rehearse} --output=y.jsonl2 --history=no/h.db {reads}"),
    ] {
        let refused = with(&command);
        assert!(refused.code() == 1 && refused.stderr.contains("--history: no/h.db"), "{}", refused.stderr);
    }
    assert!(!at.join("x.jsonl2").exists() && !at.join("y.jsonl2").exists());
}

#[test]
fn a_finished_pts_test_is_one_run() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    let pts = "pts latency --file=data --size=16m --scale=0.00016 --rounds=5 --output=t.jsonl";
    let ended = Launch::fathom(at).words(pts).argument("--history=history.db").run();
    assert_eq!(ended.code(), 0, "{}", ended.stderr);
    assert_eq!(stored(at), 1);
    let run = &document(history(at, "show --format=json 1").run())[0];
    assert_eq!(run["verdict"], "doubtful", "a file, and shortened: {run}");
    let jobs = run["jobs"].as_array().expect("jobs");
    let mean = |job: &serde_json::Value| {
        let figures = job["figures"].as_array().expect("figures");
        let means: Vec<&serde_json::Value> =
            figures.iter().filter(|figure| figure["name"] == "latency_mean_ns").collect();
        let all = means.iter().find(|figure| figure["direction"] == "mixed").or(means.first());
        all.and_then(|figure| figure["value"].as_f64()).expect("a mean")
    };
    let shown = document(Launch::fathom(at).words("pts t.jsonl --format=json").run());
    let points = shown["parts"][0]["points"].as_array().expect("points");
    assert_eq!((jobs.len(), points.len()), (9, 9), "three sizes, three mixes");
    for (job, point) in jobs.iter().zip(points) {
        let reported = point["lat_mean_ns"].as_f64().expect("a mean");
        assert!((mean(job) - reported).abs() <= reported * 1e-9, "{job} {point}");
    }
    let again = history(at, "add t.jsonl").run().expect_clean().stdout;
    assert_eq!(again, "t.jsonl: already there as run 1\n");
    // One that is not finished is none yet.
    let text = fs::read_to_string(at.join("t.jsonl")).expect("read");
    let lines: Vec<&str> = text.lines().collect();
    fs::write(at.join("half.jsonl"), lines[..lines.len() - 1].join("\n") + "\n").expect("written");
    let refused = history(at, "add half.jsonl").run();
    assert!(refused.stderr.contains("half.jsonl: the test is not finished"), "{}", refused.stderr);
}
