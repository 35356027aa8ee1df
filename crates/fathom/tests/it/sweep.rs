//! `fathom sweep`: grids of real runs, killed, interrupted and resumed.

use crate::support::devices::{LoopDevice, Mounted};
use crate::support::program::{Finished, Launch, Running};
use crate::support::{KIB, MIB, PATIENCE, file_of, processes, scratch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// A job that takes a fifth of a second and needs no storage.
const JOB: &str = "-- --name=job --ioengine=null --size=1g --bs=4k --rw=randread --runtime=200ms --time_based --rate_iops=2000";

fn sweep(directory: &Path, words: &str) -> Finished {
    start(directory, words).finish()
}

fn start(directory: &Path, words: &str) -> Running {
    Launch::fathom(directory).words("sweep").words(words).start()
}

/// The lines of a results file: the plan, the runs, changes of the repeats. All but a truncated last one must
/// be complete.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Cell and round of every run, in order.
fn runs(path: &Path) -> Vec<(u64, u64)> {
    let number = |line: &Value, key: &str| line[key].as_u64().expect("a number");
    let lines = lines(path);
    let runs = lines.iter().filter(|line| !line["cell"].is_null());
    runs.map(|line| (number(line, "cell"), number(line, "round"))).collect()
}

fn names_in(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// The checks of its runs are reported with the table, each once, in every format for people and in JSON.
#[test]
fn doubts_about_runs_are_told_with_the_table() {
    fathom_only!();
    let directory = scratch();
    let words =
        "--vary=bs=4k,8k --repeats=2 -- --name=job --filename=data --size=64k --rw=write --ioengine=psync";
    let finished = sweep(directory.path(), words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let is_told = |text: &str| text.contains("doubtful: short: 4 of 4 runs, worst in bs=");
    let flat = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(is_told(&flat(&finished.stdout)), "{}", finished.stdout);
    for format in ["markdown", "json"] {
        let again = sweep(directory.path(), &format!("--format={format} job.sweep.jsonl")).stdout;
        assert!(is_told(&again), "{format}: {again}");
    }
    assert_eq!(Launch::fathom(directory.path()).words("report job.sweep.jsonl -o page.html").run().code(), 0);
    let page = std::fs::read_to_string(directory.path().join("page.html")).expect("a page");
    assert!(is_told(&page), "{page}");
}

#[test]
fn every_cell_runs_in_every_round_with_its_options() {
    fathom_only!();
    let directory = scratch();
    let words = format!("--vary=iodepth=1,4 --vary=blocksize=4k,8k --repeats=2 --seed=7 --format=csv {JOB}");
    let finished = sweep(directory.path(), &words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let file = directory.path().join("job.sweep.jsonl");
    let done = runs(&file);
    assert_eq!(done.len(), 8, "{done:?}");
    for round in 0..2 {
        let of_round = &done[4 * round as usize..][..4];
        assert!(of_round.iter().all(|run| run.1 == round), "one round after the other: {done:?}");
        assert_eq!(of_round.iter().map(|run| run.0).collect::<BTreeSet<_>>(), (0..4).collect(), "{done:?}");
    }
    for line in &lines(&file)[1..] {
        let options = &line["report"]["jobs"][0]["job options"];
        let wanted = [("1", "4k"), ("1", "8k"), ("4", "4k"), ("4", "8k")]
            [line["cell"].as_u64().expect("a cell") as usize];
        assert_eq!((options["iodepth"].as_str(), options["bs"].as_str()), (Some(wanted.0), Some(wanted.1)));
        assert!(
            !line["report"]["jobs"][0]["read"]["clat_ns"]["bins"].is_null(),
            "the whole histogram is kept"
        );
    }
    assert!(
        finished.stdout.starts_with("iodepth,bs,runs,bandwidth_bytes_per_s_median,"),
        "{}",
        finished.stdout
    );
    assert_eq!(
        finished.stdout.lines().filter(|line| line.contains("k,2,")).count(),
        4,
        "{}",
        finished.stdout
    );
    assert_eq!(names_in(directory.path()), ["job.sweep.jsonl".to_owned()].into());

    // The same seed gives the same order; the same command has nothing left to do.
    let order = |seed: u32| {
        let shown = sweep(
            directory.path(),
            &words.replace("seed=7", &format!("seed={seed} --output=another --dry-run")),
        );
        shown
            .stdout
            .split_once("Order of runs")
            .expect("an order")
            .1
            .split_once('\n')
            .expect("lines")
            .1
            .to_owned()
    };
    assert_eq!(order(7), order(7));
    assert!((8..12).any(|seed| order(seed) != order(7)));
    let again = sweep(directory.path(), &words);
    assert_eq!((again.code(), runs(&file).len()), (0, 8));
    assert!(again.stderr.contains("8 of 8 runs are done"), "{}", again.stderr);
    assert_eq!(again.stdout, finished.stdout);
}

#[test]
fn nothing_runs_unless_every_cell_can() {
    fathom_only!();
    let directory = scratch();
    for (name, text) in [("one.fio", "[global]\nbs=4k\n[a]\n"), ("two.fio", "[b]\nrw=read\n")] {
        std::fs::write(directory.path().join(name), text).expect("a file");
    }
    std::fs::write(directory.path().join("taken.sweep.jsonl"), "something else\n").expect("a file");
    for (words, what) in [
        (format!("--vary=iodepth=1,many {JOB}"), "with iodepth=many: "),
        (format!("--vary=iodept=1,2 {JOB}"), "did you mean iodepth"),
        (format!("--vary=name=a,b {JOB}"), "the name of a job cannot vary"),
        (format!("--vary=bs=4k,4k {JOB}"), "the value 4k appears twice"),
        (format!("--vary=bs=4k {JOB} --output-format=json"), "have no effect in a sweep"),
        (format!("--label=rw=Workload {JOB}"), "neither a varied option nor a figure"),
        (format!("--vary=bs=4k,8k --label=bs=Size:small {JOB}"), "1 names are given"),
        (format!("--output=taken.sweep.jsonl {JOB}"), "is not from a sweep"),
        ("--vary=iodepth=1,2 -- one.fio two.fio".to_owned(), "put the jobs into one file"),
        ("missing.fio".to_owned(), "fathom sweep: job file missing.fio: No such file"),
        (format!("--vary=bs=4k,zk {JOB}"), "fathom sweep: with bs=zk: option bs=zk: expected a whole number"),
        ("one.fio iodepth=1,2".to_owned(), "write --vary=iodepth=1,2 to vary"),
        ("--vary=bs=4k --name=job --rw=read".to_owned(), "write the job after --"),
        (
            format!("--vary=bs=4k --figures=iops,write-bw {JOB}"),
            "no job will have the figure `write bandwidth`",
        ),
        (format!("--output=/dev/full {JOB}"), "results need a regular file"),
        ("--table=two.fio".to_owned(), "not a results file of fathom sweep"),
        (format!("--precondition=missing.fio {JOB}"), "--precondition=missing.fio"),
    ] {
        let finished = sweep(directory.path(), &words);
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stdout);
        let is_told = finished.stderr.starts_with("fathom sweep: ") && finished.stderr.contains(what);
        assert!(is_told && finished.stdout.is_empty(), "{words}: {}", finished.stderr);
    }
    assert_eq!(names_in(directory.path()).len(), 3, "{:?}", names_in(directory.path()));
}

#[test]
fn later_global_sections_hold_for_the_jobs_behind_them() {
    fathom_only!();
    let directory = scratch();
    let text = "[global]\nioengine=null\nsize=64k\nbs=4k\n[a]\nrw=read\n[global]\nbs=8k\niodepth=2\nrw=randread\n[b]\n\
                [global]\nrw=write\n[c]\nbs=16k\n[global]\nbs=1m\n";
    std::fs::write(directory.path().join("three.fio"), text).expect("a file");
    // Results of each job in a cell: the block sizes of its reads and writes.
    let done = |words: &str, file: &str| -> Vec<Vec<(u64, u64)>> {
        let finished = sweep(directory.path(), words);
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        let mut cells = lines(&directory.path().join(file)).split_off(1);
        cells.sort_by_key(|line| line["cell"].as_u64());
        let of_job = |job: &Value| {
            let blocks = |direction: &str| {
                let count = |key: &str| job[direction][key].as_u64().expect("a number");
                count("io_bytes").checked_div(count("total_ios")).unwrap_or(0)
            };
            (blocks("read"), blocks("write"))
        };
        let jobs =
            |line: &Value| line["report"]["jobs"].as_array().expect("jobs").iter().map(of_job).collect();
        cells.iter().map(jobs).collect()
    };
    let job = |read: u64, write: u64| (read * KIB, write * KIB);
    // An option written in a [global] section is replaced there and applies from there on.
    assert_eq!(
        done("three.fio --vary=rwmixread=50 --repeats=1 --output=plain.jsonl", "plain.jsonl"),
        [[job(4, 0), job(8, 0), job(0, 16)]]
    );
    assert_eq!(
        done("three.fio --vary=bs=2k,32k --repeats=1 --output=bs.jsonl", "bs.jsonl"),
        [2, 32].map(|size| [job(size, 0), job(size, 0), job(0, size)])
    );
    let shown = sweep(directory.path(), "three.fio --vary=iodepth=7 --dry-run").expect_clean().stdout;
    let file = "[global]\nioengine=null\nsize=64k\nbs=4k\n\n[a]\nrw=read\n\n[global]\nbs=8k\niodepth=7\nrw=randread\n\n[b]\n\n\
                [global]\nrw=write\n\n[c]\nbs=16k\n";
    assert!(shown.contains(file), "{shown}");
}

#[test]
fn killed_at_any_moment_it_goes_on() {
    fathom_only!();
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let words = "--vary=iodepth=1,2 --vary=bs=4k,8k,16k --repeats=4 --output=r.jsonl -- --name=job --filename=data --size=1M \
                 --ioengine=psync --rw=randread --runtime=60ms --time_based";
    let file = directory.path().join("r.jsonl");
    let mut before: Vec<Value> = Vec::new();
    let mut kills = 0;
    // Irregular delays, so that kills come while lines are written, between runs, and at the very start.
    for wait in [3u64, 1, 40, 97, 151, 13, 233, 7, 310, 61, 177, 29, 5, 402].into_iter().cycle().take(60) {
        let running = start(directory.path(), words);
        std::thread::sleep(Duration::from_millis(wait));
        processes::signal(running.pid(), "KILL");
        let finished = running.finish();
        kills += u32::from(finished.code() == 137);
        let now = lines(&file);
        assert!(
            now.len() >= before.len() && now[..before.len()] == before[..],
            "a finished run is lost after {wait} ms"
        );
        before = now;
        assert!(names_in(directory.path()).is_subset(&["data".to_owned(), "r.jsonl".to_owned()].into()));
        if before.len() == 25 {
            break;
        }
    }
    assert!(kills > 3, "{kills} kills");
    let finished = sweep(directory.path(), words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let all = runs(&file);
    let different: BTreeSet<(u64, u64)> = all.iter().copied().collect();
    assert_eq!((all.len(), different.len()), (24, 24), "none twice, none missing: {all:?}");
    assert_eq!(lines(&file)[..before.len()], before[..]);
    assert_eq!(names_in(directory.path()), ["data".to_owned(), "r.jsonl".to_owned()].into());
}

#[test]
fn a_torn_line_is_dropped_and_another_plan_refused() {
    fathom_only!();
    let directory = scratch();
    let words = format!("--vary=iodepth=1,2 --repeats=2 {JOB}");
    assert_eq!(sweep(directory.path(), &words).code(), 0);
    let file = directory.path().join("job.sweep.jsonl");
    let text = std::fs::read_to_string(&file).expect("it is there");
    let last = text.trim_end().rfind('\n').expect("several lines") + 1;
    for length in [last + 1, last + 100, text.len() - 1, 10, 0] {
        std::fs::write(&file, &text[..length]).expect("it can be written");
        let finished = sweep(directory.path(), &words);
        assert_eq!(finished.code(), 0, "{length}: {}", finished.stderr);
        let different: BTreeSet<(u64, u64)> = runs(&file).into_iter().collect();
        assert_eq!((runs(&file).len(), different.len()), (4, 4), "{length}");
        if length > last {
            assert!(
                std::fs::read_to_string(&file).expect("it is there").starts_with(&text[..last]),
                "{length}"
            );
        }
    }
    let before = std::fs::read(&file).expect("it is there");
    for (other, what) in [
        (format!("--pause=1s {words}"), "pause in ms: 0 there, 1000 now"),
        (words.replace("iodepth=1,2", "iodepth=1,4"), "varied options: iodepth=1;2 there, iodepth=1;4 now"),
        (words.replace("randread", "randwrite"), "job: rw=randread there, rw=randwrite now"),
    ] {
        let refused = sweep(directory.path(), &other);
        assert!(refused.code() == 1 && refused.stderr.contains(what), "{}", refused.stderr);
        assert!(refused.stderr.contains("--output"), "{}", refused.stderr);
    }
    assert_eq!(std::fs::read(&file).expect("it is there"), before);
}

#[test]
fn repeats_can_be_raised_and_lowered_later() {
    fathom_only!();
    let directory = scratch();
    let file = directory.path().join("job.sweep.jsonl");
    let begin = |text: &str| sweep(directory.path(), &format!("--vary=iodepth=1,2,4 --seed=5 {text} {JOB}"));
    assert_eq!(begin("--repeats=2").code(), 0);
    let before = std::fs::read(&file).expect("it is there");
    let raised = begin("--repeats=4");
    assert_eq!(raised.code(), 0, "{}", raised.stderr);
    assert!(
        raised.stderr.starts_with("--repeats was 2 and is now 4; all finished runs count\n6 of 12 runs"),
        "{}",
        raised.stderr
    );
    assert!(raised.stdout.contains("Medians of 4 runs"), "{}", raised.stdout);
    assert!(
        std::fs::read(&file).expect("it is there").starts_with(&before),
        "what was written is never changed"
    );
    let all = runs(&file);
    for round in 0..4 {
        let of_round: BTreeSet<(u64, u64)> = all[3 * round as usize..][..3].iter().copied().collect();
        assert_eq!(
            of_round,
            (0..3).map(|cell| (cell, round)).collect(),
            "one round after the other: {all:?}"
        );
    }
    assert!(
        all.len() == 12 && (3..12).step_by(3).any(|start| (0..3).any(|at| all[start + at].0 != all[at].0)),
        "{all:?}"
    );

    // Without the option, the sweep keeps its number of repeats.
    let again = begin("");
    assert!(again.code() == 0 && again.stderr.contains("12 of 12 runs are done"), "{}", again.stderr);
    assert_eq!(again.stdout, raised.stdout);

    // If fewer repeats are requested than exist, no run is started, and all existing runs count.
    let fewer = begin("--repeats=1");
    assert_eq!((fewer.code(), runs(&file).len()), (0, 12), "{}", fewer.stderr);
    assert!(
        fewer.stderr.contains("--repeats was 4 and is now 1")
            && fewer.stderr.contains("3 of 3 runs are done"),
        "{}",
        fewer.stderr
    );
    assert!(fewer.stdout.contains("Medians of 4 runs"), "{}", fewer.stdout);
    assert!(
        fewer.stdout.ends_with("Last requested: 1 of each; 9 earlier runs beyond that also count.\n"),
        "{}",
        fewer.stdout
    );
    let shown = sweep(directory.path(), "job.sweep.jsonl").expect_clean();
    assert_eq!(shown.stdout, fewer.stdout);
    let document: Value =
        serde_json::from_str(&sweep(directory.path(), "job.sweep.jsonl --format=json").stdout).expect("JSON");
    assert_eq!((&document["runs"], &document["further_runs"]), (&3.into(), &9.into()), "{document}");

    // A dry run shows how the sweep would continue.
    let bytes = std::fs::read(&file).expect("it is there");
    let dry = begin("--repeats=5 --dry-run");
    assert!(
        dry.stdout.contains("3 cells, 15 runs") && dry.stdout.contains(", which have 12 runs so far\n"),
        "{}",
        dry.stdout
    );
    assert_eq!(std::fs::read(&file).expect("it is there"), bytes);
    // Increased again: only missing runs are made.
    let last = begin("--repeats=5");
    assert_eq!((last.code(), runs(&file).len()), (0, 15), "{}", last.stderr);
    assert!(last.stderr.contains("12 of 15 runs are done"), "{}", last.stderr);
    assert_eq!(runs(&file).into_iter().collect::<BTreeSet<_>>().len(), 15);
}

#[test]
fn killed_after_the_repeats_were_raised_it_goes_on() {
    fathom_only!();
    let directory = scratch();
    let file = directory.path().join("job.sweep.jsonl");
    let with =
        |repeats: u32| format!("--vary=iodepth=1,2 --repeats={repeats} {}", JOB.replace("200ms", "80ms"));
    assert_eq!(sweep(directory.path(), &with(1)).code(), 0);
    let mut before = lines(&file);
    for (wanted, repeats) in [(1, 3), (2, 3), (2, 5), (0, 6)] {
        // This many more lines are in the file when it is killed: the change, if any, and runs.
        let more = before.len() + wanted;
        let running = start(directory.path(), &with(repeats));
        let limit = std::time::Instant::now() + PATIENCE;
        while lines(&file).len() < more {
            assert!(std::time::Instant::now() < limit, "no run after a minute");
            std::thread::sleep(Duration::from_millis(1));
        }
        processes::signal(running.pid(), "KILL");
        running.finish();
        let now = lines(&file);
        assert_eq!(now[..before.len()], before[..], "what was written is never changed");
        before = now;
    }
    // A truncated change does not count.
    let text = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, format!("{text}{{\"repeats\":9,\"ord")).expect("it can be written");
    let finished = sweep(directory.path(), &with(6));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stdout.contains("Medians of 6 runs"), "{}", finished.stdout);
    let all = runs(&file);
    assert_eq!(
        (all.len(), all.iter().collect::<BTreeSet<_>>().len()),
        (12, 12),
        "none twice, none missing: {all:?}"
    );
    let now = lines(&file);
    assert_eq!(now[..before.len()], before[..]);
    let changes: Vec<u64> = now.iter().skip(1).filter_map(|line| line["repeats"].as_u64()).collect();
    assert_eq!(changes, [3, 5, 6], "each change is made once");
}

#[test]
fn ctrl_c_keeps_what_is_finished() {
    fathom_only!();
    let directory = scratch();
    let file = directory.path().join("job.sweep.jsonl");
    // One interruption during a run, one during a pause.
    for (pause, at_least) in [("1ms", 2), ("60s", 3)] {
        let words = format!("--vary=iodepth=1,2,3,4,5,6,7,8 --repeats=4 --output=job.sweep.jsonl {JOB}");
        let words =
            words.replace("200ms", "400ms").replace("--repeats", &format!("--pause={pause} --repeats"));
        if pause == "60s" {
            std::fs::remove_file(&file).expect("it is there");
        }
        let running = start(directory.path(), &words);
        let wanted = if pause == "60s" { 1 } else { at_least };
        let limit = std::time::Instant::now() + PATIENCE;
        while runs(&file).len() < wanted {
            assert!(std::time::Instant::now() < limit, "no run after a minute");
            std::thread::sleep(Duration::from_millis(5));
        }
        running.signal("INT");
        let finished = running.finish();
        assert_eq!(finished.code(), 130, "{}", finished.stderr);
        let done = runs(&file).len();
        let told = format!("ended by signal 2: {done} of 32 runs are saved in job.sweep.jsonl");
        assert!(finished.stderr.contains(&told), "{}", finished.stderr);
        assert!(finished.stdout.contains(&format!("{done} of 32 runs are done")), "{}", finished.stdout);
        let shown = sweep(directory.path(), "job.sweep.jsonl").expect_clean();
        assert_eq!(shown.stdout, finished.stdout, "the table of an unfinished sweep can be printed again");
    }
}

#[test]
fn each_job_has_its_own_best() {
    fathom_only!();
    let directory = scratch();
    let text = "[global]\nioengine=null\nsize=1g\nbs=4k\nruntime=700ms\ntime_based\n[reader]\nrw=randread\n[writer]\nrw=write\n";
    std::fs::write(directory.path().join("two.fio"), text).expect("a file");
    let words = "two.fio --vary=rate_iops=500,8000 --repeats=3 --figures=iops,read-bw";
    let finished = sweep(directory.path(), words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(
        finished.stderr.contains("reader: read ") && finished.stderr.contains("; writer: write "),
        "{}",
        finished.stderr
    );
    for job in ["reader", "writer"] {
        assert!(finished.stdout.contains(&format!("  best of {job}: 8000, ")), "{}", finished.stdout);
    }
    assert!(
        !finished.stdout.contains("writer, "),
        "jobs are not held against each other: {}",
        finished.stdout
    );
    // Only cells with the figure have bars.
    let (_, bars) = finished.stdout.rsplit_once("read bandwidth\n").expect("a part");
    assert!(bars.contains("reader") && !bars.contains("writer"), "{}", finished.stdout);
    let text = sweep(directory.path(), "two.sweep.jsonl --figures=iops --format=json").expect_clean().stdout;
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let best = document["best"].as_array().expect("a list");
    let rows: Vec<(Option<&str>, Option<u64>)> =
        best.iter().map(|entry| (entry["job"].as_str(), entry["row"].as_u64())).collect();
    assert_eq!(rows, [(Some("reader"), Some(2)), (Some("writer"), Some(3))], "{document}");
    let row = &document["rows"][2]["options"];
    assert_eq!(
        (row["rate_iops"].as_str(), row["job"].as_str()),
        (Some("8000"), Some("reader")),
        "{document}"
    );
}

#[test]
fn lines_that_were_edited_are_told() {
    fathom_only!();
    let directory = scratch();
    let words = format!("--vary=iodepth=1,2 --repeats=1 {}", JOB.replace("200ms", "30ms"));
    assert_eq!(sweep(directory.path(), &words).code(), 0);
    let file = directory.path().join("job.sweep.jsonl");
    let text = std::fs::read_to_string(&file).expect("it is there");
    for (from, to, what) in [
        ("{\"cell\":1", "{\"cell\":7", "the plan has no such cell and round"),
        ("\"round\":0", "\"round\":3", "line 2: not a line of a sweep: the plan has no such cell and round"),
        ("\"failed_jobs\":0", "\"failed_jobs\":x", "line 2: not a line of a sweep: expected value in column"),
    ] {
        assert!(text.contains(from), "{text}");
        std::fs::write(&file, text.replacen(from, to, 1)).expect("it can be written");
        let shown = sweep(directory.path(), "job.sweep.jsonl");
        assert!(shown.code() == 1 && shown.stderr.contains(what), "{}", shown.stderr);
    }
}

#[test]
fn preconditions_run_when_they_should() {
    fathom_only!();
    let directory = scratch();
    let count = |each: &str, output: &str| {
        let log = directory.path().join("log");
        let _ = std::fs::remove_file(&log);
        std::fs::write(
            directory.path().join("before.fio"),
            "[before]\nioengine=null\nsize=4k\nrw=write\nexec_prerun=echo ran >>log\n",
        )
        .expect("a file");
        let words = format!(
            "--vary=iodepth=1,2 --repeats=2 --precondition=before.fio {each} --output={output} {JOB}"
        );
        assert_eq!(sweep(directory.path(), &words).code(), 0);
        std::fs::read_to_string(&log).unwrap_or_default().lines().count()
    };
    assert_eq!(count("", "once.jsonl"), 1);
    assert_eq!(count("--precondition-each", "each.jsonl"), 4);
}

#[test]
fn the_best_is_named_only_if_it_is() {
    fathom_only!();
    let directory = scratch();
    let job = JOB.replace("--rate_iops=2000", "").replace("200ms", "700ms");
    let words = format!("--vary=rate_iops=500,8000,2000 --figures=iops --repeats=3 --output=a.jsonl {job}");
    let clear = sweep(directory.path(), &words);
    assert!(
        clear.stdout.contains("  best: 8000, ") && clear.stdout.contains("× the rate of 2000 (95 % CI "),
        "{}",
        clear.stdout
    );
    assert!(clear.stdout.lines().all(|line| line.chars().count() <= 80), "{}", clear.stdout);
    // A comparison of single runs shows no significant difference.
    let single =
        sweep(directory.path(), &words.replace("--repeats=3", "--repeats=1").replace("a.jsonl", "b.jsonl"));
    assert!(
        !single.stdout.contains("best:") && single.stdout.contains("One run of each"),
        "{}",
        single.stdout
    );
    // The cells of a sweep can be compared with each other.
    let words = "a.jsonl:rate_iops=500 a.jsonl:rate_iops=8000 --format=json";
    let compared = Launch::fathom(directory.path()).words("compare").words(words).run().expect_clean();
    let document: Value = serde_json::from_str(&compared.stdout).expect("JSON");
    let entries = document["comparisons"].as_array().expect("comparisons");
    let iops = entries.iter().find(|entry| entry["figure"] == "IOPS").expect("IOPS");
    assert_eq!(
        (iops["job"].as_str(), iops["verdict"].as_str(), iops["a_runs"].as_u64()),
        (Some("job"), Some("faster"), Some(3))
    );
    assert_eq!(document["a"][0], "a.jsonl:rate_iops=500", "{document}");
    let whole =
        Launch::fathom(directory.path()).words("compare --no-chart a.jsonl a.jsonl").run().expect_clean();
    assert!(whole.stdout.contains("job [rate_iops=8000], read"), "{}", whole.stdout);
}

#[test]
fn runs_that_fail_are_tried_again() {
    fathom_only!();
    let directory = scratch();
    let words = "--vary=iodepth=1,2 --repeats=1 -- --name=job --filename=data --size=1M --rw=read --bs=64k --allow_file_create=0";
    let failed = sweep(directory.path(), words);
    assert_eq!(failed.code(), 1, "{}", failed.stdout);
    assert!(failed.stderr.contains("2 runs failed and do not count"), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("run 2 of 2, round 1: ")
            && failed
                .stdout
                .contains("\n\n0 of 2 runs are done.\n1: failed: open(data): No such file or directory\n")
    );
    assert!(!failed.stdout.contains("median"), "{}", failed.stdout);
    file_of(directory.path(), "data", MIB);
    let mended = sweep(directory.path(), words);
    assert_eq!(mended.code(), 0, "{}", mended.stderr);
    assert!(mended.stdout.contains("bandwidth"), "{}", mended.stdout);
}

#[test]
fn a_full_disk_ends_it_and_loses_nothing() {
    fathom_only!();
    // A line takes about 8 KiB.
    let full = require!(Mounted::memory(64 * KIB));
    let directory = scratch();
    let file = full.path().join("r.jsonl");
    let words = format!(
        "--vary=iodepth=1,2,3,4,5 --repeats=4 --output={} {}",
        file.display(),
        JOB.replace("200ms", "50ms")
    );
    let finished = sweep(directory.path(), &words);
    assert_eq!(finished.code(), 1, "{}", finished.stdout);
    assert!(finished.stderr.contains("r.jsonl: No space left on device"), "{}", finished.stderr);
    let done = runs(&file);
    assert!(!done.is_empty() && done.len() < 20, "{done:?}");
    let text = std::fs::read_to_string(&file).expect("it can be read");
    assert!(text.ends_with("}\n"), "nothing of the line that had no room is left");
    let shown = sweep(directory.path(), &file.display().to_string()).expect_clean();
    assert!(shown.stdout.contains(&format!("{} of 20 runs are done", done.len())), "{}", shown.stdout);
}

/// The usual published comparison of file systems and interfaces, as one command.
#[test]
fn file_systems_and_interfaces_in_one_table() {
    fathom_only!();
    let ext4 = require!(Mounted::new("ext4", 320 * MIB));
    let xfs = require!(Mounted::new("xfs", 320 * MIB));
    let device = require!(LoopDevice::new(8 * MIB));
    let directory = scratch();
    let files = [ext4.path().join("test"), xfs.path().join("test"), device.path().to_path_buf()];
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let command = Launch::fathom(directory.path())
        .words("sweep --repeats=2 --format=markdown --no-intervals")
        .argument(format!("--vary=filename={}", files.join(",")))
        .words("--vary=ioengine=posixaio,libaio,io_uring --figures=read-bw,write-bw,lat,read-iops")
        .argument("--label=filename=Filesystem:Ext4,XFS,None")
        .argument("--label=ioengine=IO Interface:posixaio,io_submit,io_uring")
        .words("--label=read-bw=Read --label=write-bw=Write --label=lat=Latency --label=read-iops=IOPS")
        .words("-- --name=fiotest --size=8M --rw=randrw --bs=4Kb --direct=1 --iodepth=32 --group_reporting --runtime=1")
        .timeout(Duration::from_secs(180));
    let finished = command.run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let table: Vec<Vec<&str>> = finished
        .stdout
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(table[0], ["Filesystem", "IO Interface", "Read", "Write", "Latency", "IOPS"]);
    let names: Vec<[&str; 2]> = table[2..].iter().map(|row| [row[0], row[1]]).collect();
    let wanted = ["Ext4", "XFS", "None"]
        .map(|system| ["posixaio", "io_submit", "io_uring"].map(|engine| [system, engine]));
    assert_eq!(names, wanted.concat(), "{}", finished.stdout);
    for row in &table[2..] {
        assert!(row[2].ends_with(" MiB/s") && row[3].ends_with(" MiB/s"), "{row:?}");
        assert!(
            row[4].ends_with("s") && row[5].chars().next().is_some_and(|digit| digit.is_ascii_digit()),
            "{row:?}"
        );
    }
    let file = directory.path().join("fiotest.sweep.jsonl");
    assert_eq!(names_in(directory.path()), ["fiotest.sweep.jsonl".to_owned()].into());
    for line in &lines(&file)[1..] {
        let kinds = line["report"]["fathom host"]["file_systems"].to_string();
        let cell = line["cell"].as_u64().expect("a cell") as usize;
        assert!(kinds.contains(["ext4", "xfs", ""][cell / 3]), "cell {cell} ran on {kinds}");
        let ios = &line["report"]["jobs"][0];
        assert!(ios["read"]["total_ios"].as_u64().is_some_and(|count| count > 500), "{ios}");
    }
}
