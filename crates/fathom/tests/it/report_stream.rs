//! With only machine-readable formats, the report's stream never contains anything but the report.

use crate::support::program::{Finished, Launch};
use crate::support::{json, processes, scratch, skip};
use serde_json::Value;
use std::path::Path;

/// The single document of a text, from its first byte to its last.
#[track_caller]
fn whole(text: &str) -> Value {
    assert!(text.starts_with('{'), "the document begins at the first byte: {text}");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs `words` with JSON on standard output, then in a file, then as terse; returns the first.
#[track_caller]
fn check(words: &str) -> (Value, Finished) {
    let directory = scratch();
    let launch = || Launch::fathom(directory.path()).words(words);
    let finished = launch().words("--output-format=json").run();
    let document = whole(&finished.stdout);
    let in_file = launch().words("--output-format=json+ --output=report").run();
    assert_eq!(in_file.stdout, "");
    assert_eq!(in_file.stderr.lines().count(), finished.stderr.lines().count(), "{}", in_file.stderr);
    whole(&read(directory.path()));
    let terse = launch().words("--output-format=terse").run();
    assert!(terse.stdout.starts_with("3;fio-3.42;"), "{}", terse.stdout);
    assert_eq!(terse.stdout.lines().count(), document["jobs"].as_array().map_or(0, Vec::len));
    (document, finished)
}

fn read(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("report")).expect("the report is there")
}

#[test]
fn a_full_device() {
    fathom_only!();
    let (document, finished) = check("--name=full --filename=/dev/full --rw=write --bs=4k --size=64k");
    assert_eq!(json::integer(json::job(&document, "full"), "error"), 28);
    assert!(finished.stderr.starts_with("fio: io_u error on file /dev/full: "), "{}", finished.stderr);
    assert!(finished.stderr.contains("\nfio: pid="), "{}", finished.stderr);
}

#[test]
fn a_file_that_may_not_grow() {
    fathom_only!();
    let directory = scratch();
    let script = format!(
        "ulimit -f 64; exec {} --output-format=json --name=big --filename=data --rw=write --bs=4k --size=1M \
         --create_on_open=1 --fallocate=none",
        crate::support::program::path().display()
    );
    let finished = Launch::of(Path::new("/bin/sh"), directory.path()).argument("-c").argument(script).run();
    assert_ne!(json::integer(json::job(&whole(&finished.stdout), "big"), "error"), 0);
    assert!(finished.stderr.contains("File too large"), "{}", finished.stderr);
}

#[test]
fn a_missing_file() {
    fathom_only!();
    let words = "--name=none --filename=/dev/nowhere --rw=read --bs=4k --size=64k --name=fine --ioengine=null \
                 --size=64k";
    let (document, finished) = check(words);
    assert_ne!(json::integer(json::job(&document, "none"), "error"), 0);
    assert_eq!(json::integer(json::job(&document, "fine"), "error"), 0);
    assert!(finished.stderr.contains("/dev/nowhere"), "{}", finished.stderr);
}

#[test]
fn warnings_of_the_parser() {
    fathom_only!();
    let (_, finished) = check("--name=a --ioengine=null --size=64k --time_based=1 --iodepth=4 --rw=read");
    assert!(!finished.stderr.is_empty(), "time_based without runtime is worth a word");
}

const LONG: &str = "--output-format=json --ioengine=null --size=1G --bs=4k --rw=read --rate_iops=1000 --time_based \
                    --runtime=60 --name=a --name=b";

#[test]
fn ctrl_c() {
    fathom_only!();
    let directory = scratch();
    let running = Launch::fathom(directory.path()).words(LONG).start();
    running.wait_for_sleeps(500);
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code(), 128);
    assert!(json::total(&whole(&finished.stdout), "read/total_ios") > 0);
    assert_eq!(finished.stderr, "fio: terminating on signal 2\n");
}

#[test]
fn killed_workers() {
    fathom_only!();
    let directory = scratch();
    let running = Launch::fathom(directory.path()).words(LONG).start();
    running.wait_for_sleeps(500);
    for worker in processes::descendants(running.pid()) {
        processes::signal(worker, "KILL");
    }
    let finished = running.finish();
    let document = whole(&finished.stdout);
    for name in ["a", "b"] {
        assert_eq!(json::integer(json::job(&document, name), "error"), 4);
    }
    assert!(finished.stderr.contains("got signal=9"), "{}", finished.stderr);
}

#[test]
fn a_report_on_request() {
    fathom_only!();
    let directory = scratch();
    let mut running = Launch::fathom(directory.path()).words(LONG).start();
    running.wait_for_sleeps(500);
    running.signal("USR1");
    running.wait_for_output(|text| text.contains("\n}\n"));
    running.signal("INT");
    let finished = running.finish();
    let documents: Vec<Value> =
        serde_json::Deserializer::from_str(&finished.stdout).into_iter().map(Result::unwrap).collect();
    assert_eq!(documents.len(), 2, "{}", finished.stdout);
}

/// If no more processes can be created, the job that needs one fails, but not the report.
#[test]
fn no_room_for_processes() {
    fathom_only!();
    require!(skip::tool("setpriv"));
    require!(skip::tool("prlimit"));
    require!(skip::root());
    let directory = scratch();
    let words = "--reuid=65321 --clear-groups --bounding-set=-all --inh-caps=-all prlimit --nproc=1";
    let finished = Launch::of(Path::new("setpriv"), directory.path())
        .words(words)
        .argument(crate::support::program::path())
        .words("--output-format=json --name=a --ioengine=null --size=64k --rw=read")
        .run();
    if finished.stderr.contains("Permission denied") || finished.stderr.contains("setpriv: ") {
        skip!("the program cannot be run by another user: {}", finished.stderr.trim());
    }
    let document = whole(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "a"), "error"), 11, "{}", finished.stderr);
    assert!(finished.stderr.contains("no process for job a"), "{}", finished.stderr);
}

/// With the human-readable report, all lines go to the same streams as in fio.
#[test]
fn among_the_lines_for_people() {
    let directory = scratch();
    let words = "--output-format=normal,json --name=full --filename=/dev/full --rw=write --bs=4k --size=64k";
    let finished = Launch::fathom(directory.path()).words(words).run();
    let place =
        |text: &str| finished.stdout.find(text).unwrap_or_else(|| panic!("{text}: {}", finished.stdout));
    assert!(place("full: (g=0)") < place("Starting 1 process"));
    assert!(place("Starting 1 process") < place("fio: pid="));
    assert!(finished.stderr.starts_with("fio: io_u error on file /dev/full: "), "{}", finished.stderr);
    assert!(place("fio: pid=") < place("{\n"));
    assert!(place("\n}\n") < place("full: (groupid=0, jobs=1): err=28"));
}

/// Information does not go to standard error, but errors do, regardless of the destination of the report.
#[test]
fn information_and_errors_have_their_streams() {
    let note = "j : Saving output of prerun in j.prerun.txt\n";
    let job = "--name=j --ioengine=null --size=64k --rw=read --exec_prerun=true";
    let error = "fio: io_u error on file /dev/full: No space left on device: write offset=0, buflen=4096\n";
    let full = "--name=j --filename=/dev/full --rw=write --size=4k";
    for (format, in_file) in
        [("normal", false), ("normal", true), ("json", false), ("json", true), ("terse", true)]
    {
        let directory = scratch();
        let run = |words: &str| {
            let words = match in_file {
                true => format!("--output-format={format} --output=report {words}"),
                false => format!("--output-format={format} {words}"),
            };
            let finished = Launch::fathom(directory.path()).words(&words).run();
            let report = if in_file { read(directory.path()) } else { String::new() };
            (finished, report)
        };
        let (finished, report) = run(job);
        assert_eq!((finished.code(), finished.complaints().as_str()), (0, ""), "{format}");
        let has_note = match (format, in_file) {
            ("normal", true) => &report,
            ("normal", false) => &finished.stdout,
            _ => &finished.stderr,
        };
        assert!(has_note.contains(note), "{format}: {has_note}");
        if format == "json" {
            whole(if in_file { &report } else { &finished.stdout });
        }
        assert!(!in_file || finished.stdout.is_empty(), "{format}: {}", finished.stdout);
        let (finished, report) = run(full);
        assert_eq!(finished.code(), 1, "{format}");
        assert!(finished.stderr.contains(error), "{format}: {}", finished.stderr);
        assert_eq!(report.contains(error), in_file && format == "normal", "{format}: {report}");
    }
}

/// Keys exist only if they apply: options of the job itself, I/O that could meet a target.
#[test]
fn keys_of_what_there_was() {
    let directory = scratch();
    let job = |words: &str| {
        let finished = Launch::fathom(directory.path()).words("--output-format=json").words(words).run();
        let document = json::document(&finished.stdout);
        document["jobs"][0].clone()
    };
    std::fs::write(directory.path().join("global.fio"), "[global]\nioengine=null\nsize=64k\n[j]\n")
        .expect("a file");
    let latency = |job: &Value| {
        ["depth", "target", "target_ns", "percentile", "window", "window_us"]
            .map(|key| job.get(format!("latency_{key}")).map(Value::to_string))
            .map(Option::unwrap_or_default)
            .join(" ")
    };
    let plain = job("global.fio");
    assert_eq!(plain.get("job options"), None);
    assert_eq!(latency(&plain), "1 0 0 100.0 0 0");
    let file = "--name=j --ioengine=psync --filename=d --size=64k";
    let made = job(&format!("{file} --rw=write --create_only=1"));
    assert_eq!(latency(&made), "     ");
    assert!(json::integer(&made, "job_start") > 1_500_000_000_000, "{made}");
    assert_eq!(made["job options"]["create_only"], "1");
    for words in [
        "--rw=read --exec_prerun=false",
        "--rw=write --verify=md5 --verify_only=1",
        "--rw=read --filename=/proc/none",
    ] {
        assert_eq!(latency(&job(&format!("{file} {words}"))), "     ", "{words}");
    }
    assert_eq!(latency(&job(&format!("{file} --rw=read --iodepth=4"))), "4 0 0 100.0 0 0");
    let target = "--latency_target=50ms --latency_window=1s --latency_percentile=99";
    let with_target = job(&format!("{file} --rw=read {target}"));
    assert_eq!(latency(&with_target), "1 50000000 50000000 99.0 1000000 1000000");
}

#[test]
fn the_note_on_depth_comes_after_the_layout() {
    let directory = scratch();
    let words = "--name=j --ioengine=psync --size=1m --rw=read --iodepth=4 --numjobs=2";
    let stdout = Launch::fathom(directory.path()).words(words).run().expect_clean().stdout;
    let note = "note: both iodepth >= 1 and synchronous I/O engine are selected";
    assert_eq!(stdout.matches(note).count(), 2, "each clone says so: {stdout}");
    assert!(stdout.rfind("Laying out IO file") < stdout.find(note), "{stdout}");
}

/// The cells of a table, none of which contains a comma.
#[track_caller]
fn rows(text: &str) -> Vec<std::collections::BTreeMap<&str, &str>> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let headings = lines.next().expect("a line of headings");
    lines
        .map(|cells| {
            assert_eq!(cells.len(), headings.len(), "{text}");
            headings.iter().copied().zip(cells).collect()
        })
        .collect()
}

#[test]
fn a_table_in_fixed_units() {
    fathom_only!();
    let directory = scratch();
    let finished = Launch::fathom(directory.path())
        .words(
            "--output-format=csv --ioengine=psync --bs=4k --size=64k --log_avg_msec=5 --name=mix --rw=randrw --fsync=4 \
             --name=full --rw=write --filename=/dev/full",
        )
        .run();
    let rows = rows(&finished.stdout);
    let shown: Vec<_> = rows.iter().map(|row| (row["job"], row["direction"])).collect();
    assert_eq!(shown, [("mix", "read"), ("mix", "write"), ("mix", "sync"), ("full", "write")]);
    let number = |row: usize, column: &str| rows[row][column].parse::<u64>().expect("a whole number");
    assert_eq!(number(0, "bytes") + number(1, "bytes"), 64 << 10);
    assert!(number(0, "clat_min_ns") <= number(0, "clat_p99_ns") && number(2, "lat_p50_ns") > 0);
    assert_eq!((rows[3]["error"], rows[3]["error_message"]), ("28", "io_u error: No space left on device"));
    assert_eq!(rows[3]["clat_mean_ns"], "", "what was not measured is not 0");
    assert!(rows.iter().all(|row| row["verdict"] == "wrong"), "{}", finished.stdout);
    let described = include_str!("../../../../docs/formats.md");
    for heading in rows[0].keys() {
        assert!(described.contains(&format!("`{heading}`")), "docs/formats.md names {heading}");
    }
}

#[test]
fn csv_is_the_terse_format_under_fios_name() {
    fathom_only!();
    let directory = scratch();
    let link = directory.path().join("fio");
    std::os::unix::fs::symlink(crate::support::program::path(), &link).expect("a link");
    let words = "--output-format=csv --name=a --ioengine=null --size=4k";
    let as_fio = Launch::of(&link, directory.path()).words(words).run();
    assert!(as_fio.stdout.starts_with("3;fio-3.42;a;0;0;"), "{}", as_fio.stdout);
    let company = Launch::fathom(directory.path()).words(words).argument("--output-format=csv,json").run();
    assert!(company.stderr.contains("csv cannot be combined: its output is one table"), "{}", company.stderr);
}

#[test]
fn reports_during_a_run_continue_the_table() {
    fathom_only!();
    let directory = scratch();
    let finished = Launch::fathom(directory.path())
        .words("--output-format=csv --status-interval=200ms --name=a --ioengine=null --time_based --runtime=1 --size=1g")
        .run();
    let rows = rows(&finished.stdout);
    assert!(rows.len() > 1 && rows.iter().all(|row| row["job"] == "a"), "{}", finished.stdout);
}
