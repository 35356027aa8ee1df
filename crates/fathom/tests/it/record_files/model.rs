//! `fathom model` of recordings of files: the jobs have the load of the programs, and nothing else that was read.

use super::{Recorded, can_record_files, record, record_whole};
use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, file_of, json, scratch, skip, tasks_per_processor};
use fathom_trace::files::Operation;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Attempts until the machine is quiet enough for a comparison of rates.
const ATTEMPTS: usize = 5;

fn model(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words("model").words(words).run()
}

/// What `characterize` says of the recording, on one line.
fn characterized(directory: &Path) -> String {
    let text = Launch::fathom(directory).words("characterize a.trace").run().expect_clean().stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Records a job file of fathom; `name` is that of a file with this many I/Os of the job at least, unless the machine
/// is too busy for its rates.
fn record_job(
    directory: &Path,
    job: &str,
    operation: Operation,
    name: &str,
    least: u64,
) -> Result<Recorded, String> {
    fs::write(directory.join("load.fio"), job).expect("written");
    // Its files are written before.
    let finished = Launch::fathom(directory).words("load.fio --output=load.out").run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    for _ in 0..ATTEMPTS {
        let recorder = record(directory, "--names").argument(program::path());
        let finished = recorder.words("load.fio --output=load.out").run();
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        let recorded = Recorded::read(&directory.join("a.trace"));
        if recorded.sum(operation, name).0 >= least {
            return Ok(recorded);
        }
    }
    Err("the machine is too busy to record a job at its rates".to_owned())
}

/// The values of an option in a job file, by job.
fn values<'m>(model: &'m str, option: &str) -> Vec<(&'m str, Option<&'m str>)> {
    let sections = model.split("\n[").skip(2);
    let of = |section: &'m str| {
        let (name, rest) = section.split_once(']').expect("a name");
        let line = rest.lines().find_map(|line| line.strip_prefix(option)?.strip_prefix('='));
        (name, line)
    };
    sections.map(of).collect()
}

/// The mean of `bs` or `bssplit`.
fn mean_size(model: &str, job: &str) -> f64 {
    let of =
        |option| values(model, option).into_iter().find(|value| value.0 == job).and_then(|value| value.1);
    let size = |text: &str| match text.strip_suffix('k') {
        Some(kib) => kib.parse::<f64>().expect("a number") * 1024.0,
        None => text.parse().expect("a number"),
    };
    match of("bs") {
        Some(text) => size(text),
        None => {
            let parts =
                of("bssplit").expect("sizes").split(':').map(|part| part.split_once('/').expect("a share"));
            parts
                .map(|(bytes, percent)| size(bytes) * percent.parse::<f64>().expect("a number") / 100.0)
                .sum()
        }
    }
}

/// Syncs per second of all jobs, as a job file says.
fn syncs_per_second(model: &str, option: &str) -> f64 {
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let (whole, bytes) = (values(model, "rate_iops"), values(model, "rate"));
    let rate = |place: usize| match (whole[place].1, bytes[place].1) {
        (Some(rate), _) => number(rate),
        (None, rate) => number(rate.expect("a rate")) / mean_size(model, bytes[place].0),
    };
    let syncs = values(model, option).into_iter().enumerate();
    syncs.map(|(place, (_, every))| every.map_or(0.0, |every| rate(place) / number(every))).sum()
}

/// Runs a job file, and returns its result.
fn run(directory: &Path, job_file: &str) -> Value {
    let ran = Launch::fathom(directory).words(&format!("{job_file} --output-format=json")).run();
    assert_eq!(ran.code(), 0, "{}{}", ran.stdout, ran.stderr);
    json::document(&ran.stdout)
}

/// The model of a recording has its syncs, lengths and files, runs as it is, also in fio, and does as much as was recorded.
#[test]
fn a_recording_becomes_jobs_on_files() {
    require!(can_record_files());
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let job = "[global]\nioengine=psync\ntime_based=1\nruntime=3s\n\n\
               [log]\nrw=write\nbs=1000\nsize=4m\nrate_iops=300\nfdatasync=10\n\n\
               [reads]\nfilename=data\nrw=randread\nbs=4k\nsize=1m\nrate_iops=600\nnorandommap=1\n";
    let recorded = require!(record_job(directory.path(), job, Operation::Read, "/data", 1500));
    let syncs = recorded.of(Operation::DataSync, "/log.0.0").len();
    assert!(syncs > 30, "{syncs}");
    let text = characterized(directory.path());
    assert!(text.contains("sequential writes of 1000 B"), "{text}");
    let text = model(directory.path(), "a.trace --target=m").expect_clean().stdout;
    for wanted in [
        "\n[sequential-writes]\nfilename=m.sequential-writes\nrw=write\nbs=1000\n",
        "\n[random-reads]\nfilename=m.random-reads\nrw=randread\nbs=4k\n",
        "ioengine=psync\n",
        "fdatasync=10\n",
        " opens\n",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let of_devices = ["direct=1", "iodepth=", "open_loop"];
    assert!(of_devices.iter().all(|option| !text.contains(option)) && text.len() < 5000, "{text}");

    // In a directory.
    fs::create_dir(directory.path().join("d")).expect("made");
    assert_eq!(model(directory.path(), "a.trace --target=d -o m.fio").code(), 0);
    let document = run(directory.path(), "m.fio");
    let of = |name: &str, path: &str| json::integer(json::job(&document, name), path) as f64;
    // As many as were recorded, on any machine that keeps up with 900 calls per second.
    let (writes, reads) = (of("sequential-writes", "write/total_ios"), of("random-reads", "read/total_ios"));
    assert!(writes > 0.0 && reads > writes, "{writes} {reads}");
    let per_sync = writes / of("sequential-writes", "sync/total_ios").max(1.0);
    assert!((9.0..=12.0).contains(&per_sync), "{per_sync}");
    let bytes = |name: &str| fs::metadata(directory.path().join("d").join(name)).expect("made").len();
    assert!(bytes("sequential-writes") > 0 && bytes("random-reads") >= MIB / 2);

    let open = model(directory.path(), "a.trace --open-loop").expect_clean().stdout;
    assert!(open.contains("open_loop=1\n"), "{open}");
    require!(skip::tool("fio"));
    let ran = Launch::of(Path::new("fio"), directory.path()).words("m.fio --output-format=json").run();
    assert_eq!(ran.code(), 0, "{}{}", ran.stdout, ran.stderr);
    let document = json::document(&ran.stdout);
    let bytes = json::integer(json::job(&document, "sequential-writes"), "write/io_bytes");
    assert!(bytes > 0 && bytes.is_multiple_of(1000), "{bytes}");
}

/// A program that reads its configuration from /proc and /sys all the time, and writes to a file.
#[test]
fn what_is_read_of_pseudo_file_systems_is_not_in_the_model() {
    require!(can_record_files());
    let directory = scratch();
    // The shell reads a byte at a time, so the files are open for long.
    let script = "i=0; while [ $i -lt 8 ]; do \
                  while read line; do :; done < /proc/self/status; \
                  while read line; do :; done < /proc/meminfo; \
                  while read line; do :; done < /sys/kernel/uevent_seqnum; i=$((i+1)); done; \
                  dd if=/dev/zero of=data bs=8k count=3000 status=none";
    record_whole(
        directory.path(),
        |recorder| recorder.argument("sh").argument("-c").argument(script),
        |_, recorded| {
            // The recorder must have found those that are open for long.
            let is_unknown = |id: &u32| recorded.files.get(id).is_none_or(|file| file.name.is_empty());
            let unknown =
                recorded.calls.iter().filter(|call| call.file != 0 && is_unknown(&call.file)).count();
            recorded.sum(Operation::Write, "/data").0 == 3000
                && recorded.sum(Operation::Read, "/proc/meminfo").0 > 4000
                && unknown < 100
        },
    );
    let text = characterized(directory.path());
    assert!(text.contains(" of pseudo file systems, such as /proc and /sys, left out."), "{text}");
    assert!(!text.contains("/proc/meminfo") && text.contains("Sequential writes of 8 KiB"), "{text}");
    let found =
        Launch::fathom(directory.path()).words("characterize a.trace --format=json").run().expect_clean();
    let document = json::document(&found.stdout);
    let (calls, files) =
        (json::integer(&document, "calls/pseudo/calls"), json::integer(&document, "calls/pseudo/files"));
    assert!(calls > 8000 && files >= 2, "{calls} on {files}");

    let text = model(directory.path(), "a.trace").expect_clean().stdout;
    let jobs: Vec<&str> = values(&text, "rw").into_iter().map(|value| value.0).collect();
    assert_eq!(jobs, ["sequential-writes"], "{text}");
    assert!(
        text.contains("\nbs=8k\n") && text.contains("# ") && text.contains(" of pseudo file systems"),
        "{text}"
    );
    assert!(text.contains("% of the calls left out: those with the fewest calls"), "{text}");
    // Nor does a log write to them.
    let log = Launch::fathom(directory.path()).words("trace-to-job a.trace").run();
    assert!(
        log.code() == 0 && !log.stdout.contains("/proc/") && log.stdout.contains("/data write"),
        "{}",
        log.stderr
    );
    assert!(log.stderr.contains("on files of pseudo file systems such as /proc left out"), "{}", log.stderr);
}

#[test]
fn commits_of_a_database_are_syncs_of_the_model() {
    require!(can_record_files());
    require!(skip::tool("sqlite3"));
    let directory = scratch();
    let mut script = "create table t (a integer primary key, b text);\n".to_owned();
    script.extend((0..300).map(|_| "insert into t (b) values (hex(randomblob(200)));\n"));
    fs::write(directory.path().join("load.sql"), script).expect("written");
    let (_, recorded) = record_whole(
        directory.path(),
        |recorder| recorder.words("sh -c").argument("rm -f db*; exec sqlite3 db '.read load.sql'"),
        |_, recorded| recorded.sum(Operation::Write, "/db").0 >= 600,
    );
    let count = |operation| recorded.of(operation, "").len();
    let (whole, data) = (count(Operation::Sync), count(Operation::DataSync));
    assert!(whole + data >= 300, "{whole} {data}");
    let option = if data > whole { "fdatasync" } else { "fsync" };
    assert_eq!(model(directory.path(), "a.trace -o m.fio --target=m").code(), 0);
    let text = fs::read_to_string(directory.path().join("m.fio")).expect("written");
    let runtime = text.lines().find_map(|line| line.strip_prefix("runtime=")?.strip_suffix("ms"));
    let seconds = runtime.expect("a runtime").parse::<f64>().expect("a number") / 1000.0;
    let modelled = syncs_per_second(&text, option) * seconds;
    let error = modelled / (whole + data) as f64 - 1.0;
    assert!(error.abs() < 0.1, "{modelled} of {}: {text}", whole + data);

    // Each job syncs as often as it says.
    let document = run(directory.path(), "m.fio");
    for (name, every) in values(&text, option) {
        let Some(every) = every.map(|every| every.parse::<u64>().expect("a number")) else { continue };
        let of = |path| json::integer(json::job(&document, name), path);
        let (writes, syncs) = (of("write/total_ios"), of("sync/total_ios"));
        assert!(syncs.abs_diff(writes / every) <= 1 + writes / every / 10, "{name}: {syncs} of {writes}");
    }
}

#[test]
fn a_model_of_files_is_checked_in_a_directory() {
    require!(can_record_files());
    let directory = scratch();
    let job = "[job]\nioengine=psync\nfilename=data\nrw=randrw\nrwmixread=70\nbs=4k\nsize=16m\ntime_based=1\nruntime=4s\n\
               rate_iops=600,260\nrate_process=poisson\nfdatasync=8\nnorandommap=1\n";
    require!(record_job(directory.path(), job, Operation::Read, "/data", 2000));
    fs::create_dir(directory.path().join("d")).expect("made");
    let mut accuracies = Vec::new();
    for _ in 0..ATTEMPTS {
        let checked = model(directory.path(), "a.trace --check=d --format=json");
        assert_eq!(checked.code(), 0, "{}", checked.stderr);
        assert!(checked.stderr.contains("running the model on "), "{}", checked.stderr);
        let document = json::document(&checked.stdout);
        let property = |name: &str| {
            let all = document["properties"].as_array().expect("properties");
            let found = all.iter().find(|found| found["property"].to_string().contains(name));
            found.unwrap_or_else(|| panic!("{name}: {all:?}"))
        };
        assert!(property("flushes")["model"].as_f64().is_some_and(|rate| rate > 10.0), "{document}");
        // The run of the model excludes what fathom itself reads and writes.
        let files = document["profiles"]["model"]["devices"].as_array().expect("files");
        assert!(
            files.len() <= 2 && files.iter().all(|file| file["name"].to_string().contains("/d/")),
            "{files:?}"
        );
        accuracies.push(document["accuracy"].as_f64().expect("a number"));
        if accuracies.last().is_some_and(|accuracy| *accuracy >= 0.9) {
            break;
        }
    }
    if accuracies.iter().all(|accuracy| *accuracy < 0.9) && tasks_per_processor() > 1.5 {
        skip!("the machine is too busy to run a model at its rates: {accuracies:?}");
    }
    assert!(accuracies.last().is_some_and(|accuracy| *accuracy >= 0.9), "{accuracies:?}");
    let left = fs::read_dir(directory.path().join("d")).expect("there").count();
    assert_eq!(left, 0, "its files are removed");

    let checked = model(directory.path(), "a.trace --check=d");
    assert_eq!(checked.code(), 0, "{}", checked.stderr);
    let text = checked.stdout;
    for wanted in ["property", "trace", "model", "error", "syncs per second", "I/Os per second"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    for (words, wanted) in [
        ("a.trace --check=data", "data: the model of a recording of files runs in a directory"),
        ("a.trace --check=missing", "missing: "),
        ("a.trace --check=d --destroy=d", "--destroy is for devices"),
    ] {
        let refused = model(directory.path(), words);
        assert!(refused.code() == 1 && refused.stderr.contains(wanted), "{words}: {}", refused.stderr);
    }
}
