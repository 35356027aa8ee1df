//! The store in a file.

use super::{document, history, result, results, whole_runs};
use crate::support::devices::Mounted;
use crate::support::program::{self, Launch};
use crate::support::scratch;
use std::fs;
use std::time::Duration;

#[test]
fn results_of_fathom_and_fio_go_in_once() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    let job = "--output-format=json+ --output=own.json --name=x --ioengine=null --size=1m --rw=randrw";
    Launch::fathom(at).words(job).run().expect_clean();
    let mut files = "own.json".to_owned();
    if let Ok(fio) = program::reference() {
        let words = "--output-format=json --output=fio.json --name=y --ioengine=null --size=1m --rw=read";
        Launch::of(&fio, at).words(words).run().expect_clean();
        files.push_str(" fio.json");
    }
    let count = files.split(' ').count();
    let added = document(history(at, &format!("add --format=json --tag=branch=a=b {files}")).run());
    assert!(added.as_array().expect("a list").iter().all(|one| one["is_new"] == true), "{added}");
    fs::copy(at.join("own.json"), at.join("copy.json")).expect("copied");
    let again = history(at, "add copy.json").run().expect_clean().stdout;
    assert_eq!(again, "copy.json: already there as run 1\n");
    let listed = document(history(at, "list --format=json --where=branch=a=b").run());
    assert_eq!(listed["total"], count, "{listed}");
    let shown = history(at, "show 1").run().expect_clean().stdout;
    for wanted in ["run 1: ", "fathom", "host ", "verdict: ", "tags branch=a=b", "x    read", "x    write"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    let exported = history(at, "export").run().expect_clean().stdout;
    let iops: Vec<&str> = exported.lines().filter(|line| line.contains(",read,iops,")).collect();
    assert_eq!(iops.len(), count, "{exported}");
    let lines = history(at, "export --format=jsonl").run().expect_clean().stdout;
    assert_eq!(lines.lines().count(), count);
    let removed = history(at, "rm 1").run().expect_clean().stdout;
    assert!(removed.starts_with("removed:\n") && removed.contains(" x "), "{removed}");
    assert_eq!(document(history(at, "list --format=json").run())["total"], count - 1);
}

#[test]
fn import_skips_what_is_no_result() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    results(&at.join("old/below"), 5);
    fs::write(at.join("old/notes.txt"), "a note\n").expect("written");
    fs::write(at.join("old/other.json"), "{\"a\": 1}\n").expect("written");
    fs::write(at.join("old/cut.json"), &result(1)[..200]).expect("written");
    std::os::unix::fs::symlink(at.join("old"), at.join("old/loop")).expect("made");
    let done = history(at, "import old").run();
    assert_eq!(done.code(), 0, "{}", done.stderr);
    assert_eq!(
        done.stdout,
        "5 runs added, 0 already there; 3 of 8 files skipped because they are not results\n"
    );
    for name in ["notes.txt: no JSON in it", "other.json: ", "cut.json: "] {
        assert!(done.stderr.contains(&format!("skipped old/{name}")), "{}", done.stderr);
    }
    let again = history(at, "import old/below").run().expect_clean().stdout;
    assert!(again.starts_with("0 runs added, 5 already there; 0 of 5"), "{again}");
}

#[test]
fn a_killed_import_leaves_whole_runs_only() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    results(&at.join("old"), 150);
    let mut before = 0;
    for round in 0..12u64 {
        let running = history(at, "import old").start();
        std::thread::sleep(Duration::from_millis(20 + round * 25));
        running.signal("KILL");
        drop(running);
        let now = whole_runs(at, "history.db");
        assert!(now >= before, "{now} runs, {before} before");
        before = now;
    }
    history(at, "import old").run().expect_clean();
    assert_eq!(whole_runs(at, "history.db"), 150);
}

#[test]
fn a_full_disk_stores_no_part_of_a_run() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    let disk = require!(Mounted::memory(400 << 10));
    let store = disk.path().join("history.db").display().to_string();
    results(&at.join("old"), 400);
    let full = history(at, "import old").argument(format!("--store={store}")).run();
    assert_eq!(full.code(), 1);
    assert!(
        full.stderr.contains(&format!("{store}: no space left there; nothing of this run")),
        "{}",
        full.stderr
    );
    let stored = whole_runs(at, &store);
    assert!((1..400).contains(&stored), "{stored}");
    require!(disk.make_read_only());
    assert_eq!(whole_runs(at, &store), stored);
    let refused = history(at, "add old/399.json").argument(format!("--store={store}")).run();
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("the history cannot be written"), "{}", refused.stderr);
}

#[test]
fn the_default_is_in_the_data_directory() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    fs::write(at.join("a.json"), result(1)).expect("written");
    let home = at.join("home").display().to_string();
    let plain = |words: &str| {
        Launch::fathom(at)
            .variable("FATHOM_HISTORY", "")
            .variable("XDG_DATA_HOME", "")
            .variable("HOME", &home)
            .words(words)
    };
    let none = plain("history list").run();
    assert!(none.code() == 1 && none.stderr.contains("no history there yet"), "{}", none.stderr);
    plain("history add a.json").run().expect_clean();
    assert!(at.join("home/.local/share/fathom/history.db").is_file());
}

#[test]
fn mistakes_are_told() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    fs::write(at.join("a.json"), result(1)).expect("written");
    history(at, "add a.json").run().expect_clean();
    for (words, what) in [
        ("", "nothing to do: name one of add, import"),
        ("ad a.json", "`ad` is not a subcommand"),
        ("add", "no file given"),
        ("add .", "fathom history import . adds the results in it"),
        ("add a.json --tag=x", "expected NAME=VALUE"),
        ("add a.json --tag=host=x", "every run has a property of this name"),
        ("add a.json nowhere.json", "No such file"),
        ("list --where=x", "expected NAME=VALUE; names are host, kernel"),
        ("list --limit=0", "whole number of at least 1"),
        ("show x", "`x` is not the number of a run"),
        ("show 7", "there is no run 7"),
        ("rm", "name the runs by their numbers"),
        ("rm 1 7", "there is no run 7"),
        ("export -o a.json", "this file exists"),
        ("list --store=a.json", "this file is not a history of fathom"),
        ("add a.json --store=postgres://me:hidden@db/x", "PGPASSFILE"),
    ] {
        let failed = history(at, words).run();
        assert_eq!((failed.code(), failed.stdout.as_str()), (1, ""), "{words}");
        assert!(
            failed.stderr.contains(what) && !failed.stderr.contains("hidden"),
            "{words}: {}",
            failed.stderr
        );
    }
    assert_eq!(whole_runs(at, "history.db"), 1);
}
