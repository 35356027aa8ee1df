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
