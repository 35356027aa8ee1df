//! `fathom rehearse`: recorded loads go to the target, to the places and at the rates that were asked for, and the
//! answer follows from what was measured.

use crate::record::can_record;
use crate::support::devices::{LoopDevice, Throttle, in_use, run};
use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, file_of, json, scratch};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn rehearse(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words("rehearse").words(words).run()
}

/// Maximum number of rehearsals until the target keeps up.
const ATTEMPTS: usize = 20;

/// Rehearses until no backlog grows: on a busy machine, a file does not keep up either. `words` name the results
/// file `x.jsonl`.
fn rehearse_until_kept_up(directory: &Path, words: &str) -> Finished {
    for _ in 0..ATTEMPTS {
        fs::remove_file(directory.join("x.jsonl")).unwrap_or_default();
        let finished = rehearse(directory, words);
        let printed = rehearse(directory, "x.jsonl --format=json").stdout;
        let document = json::document(&printed);
        let scales = document["scales"].as_array().expect("scales");
        if scales.iter().all(|step| step["sustained"] == true) {
            return finished;
        }
        assert!(finished.code() != 0 || document["carries_need"] == true, "{document}");
    }
    panic!("the target never keeps up");
}

/// A trace in blkparse's text: time in ms, device, direction, sector, sectors; each request takes 100 µs.
fn write_trace(directory: &Path, requests: &[(u64, &str, &str, u64, u64)]) {
    let mut lines = Vec::new();
    for (time_ms, device, direction, sector, sectors) in requests {
        for (us, action) in [(0, "Q"), (10, "D"), (100, "C")] {
            let ns = time_ms * 1_000_000 + us * 1000;
            let (seconds, part) = (ns / 1_000_000_000, ns % 1_000_000_000);
            lines.push((
                ns,
                format!("{device} 1 1 {seconds}.{part:09} 7 {action} {direction} {sector} + {sectors} [x]\n"),
            ));
        }
    }
    lines.sort();
    let text: String = lines.into_iter().map(|(_, line)| line).collect();
    fs::write(directory.join("trace"), text).expect("written");
}

/// The mebibytes of a file of zeros that were written to, and those of which only the first block was.
fn written(path: &Path) -> Vec<u64> {
    let content = fs::read(path).expect("readable");
    let blocks = content.chunks(4096).enumerate();
    blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0)).map(|(number, _)| number as u64).collect()
}

/// Blocks of 4 KiB that three writes touch: two to one device, at 1 MiB and 3 MiB, and one to a second device.
#[test]
fn every_write_goes_where_the_map_puts_it_and_nowhere_else() {
    fathom_only!();
    let directory = scratch();
    let writes = [(0, "8,0", "WS", 2048, 8), (1, "8,0", "WS", 6144 + 8, 8), (2, "8,16", "W", 16, 8)];
    write_trace(directory.path(), &writes);
    let target = directory.path().join("target");
    for (mebibytes, map, wanted) in [
        // The first device needs 4 MiB, the second follows it.
        (8, "", vec![256, 769, 1024 + 2]),
        (5, "", vec![256, 769, 1024 + 2]),
        (3, "--map=wrap", vec![1, 256, 256 + 2]),
        (2, "--map=scale", vec![0, 256 + 1, 256 + 2]),
        (10, "--map=scale", vec![512, 1536 + 1, 2048 + 2]),
    ] {
        fs::write(&target, vec![0; mebibytes * MIB as usize]).expect("written");
        let words = format!("trace --on=target --destroy=target --scales=1 --most-runs=1 --seed=1 {map}");
        fs::remove_file(directory.path().join("trace.rehearse.jsonl")).unwrap_or_default();
        let finished = rehearse(directory.path(), &words);
        assert!([0, 2].contains(&finished.code()), "{map}: {}{}", finished.stdout, finished.stderr);
        let mut wanted = wanted;
        wanted.sort_unstable();
        assert_eq!(written(&target), wanted, "{mebibytes} MiB {map}");
        assert_eq!(fs::metadata(&target).expect("there").len(), mebibytes as u64 * MIB, "it does not grow");
    }
}

#[test]
fn nothing_is_written_that_was_not_named_twice_or_does_not_fit() {
    fathom_only!();
    let directory = scratch();
    write_trace(directory.path(), &[(0, "8,0", "W", 2048, 8), (1, "8,0", "R", 0, 8)]);
    let target = directory.path().join("target");
    file_of(directory.path(), "target", 4 * MIB);
    file_of(directory.path(), "other", 4 * MIB);
    file_of(directory.path(), "small", MIB);
    file_of(directory.path(), "tiny", 2048);

    let before = fs::read(&target).expect("readable");
    fs::write(directory.path().join("free.fio"), "[a]\nrw=read\nsize=1m\n").expect("written");
    fs::write(directory.path().join("log.fio"), "[a]\nread_iolog=trace\nrate_iops=10\n").expect("written");
    for (words, wanted) in [
        ("trace", "no target given"),
        ("trace --on=target", "--destroy=target"),
        ("trace --on=target --destroy=other", "another device"),
        ("trace --on=missing --destroy=missing", "there is no such device or file"),
        ("trace --on=. --destroy=.", "not a block device"),
        ("trace --on=small --destroy=small", "the load needs 2 MiB and it has 1 MiB; --map=scale"),
        ("trace --on=small --destroy=small --model", "--map=scale makes the areas"),
        (
            "trace --on=tiny --destroy=tiny --map=wrap",
            "the largest I/O of the load has 4 KiB, and it has 0 B",
        ),
        ("- --on=target", "name a file"),
        ("trace --on=target --destroy=target --closed", "give a limit"),
        ("free.fio --on=target", "no rate that could be scaled"),
        ("log.fio --on=target --destroy=target", "name that log itself"),
        ("free.fio --on=target --map=wrap", "--map is for traces"),
        ("nothing --on=target", "nothing"),
        ("trace --on=target --destroy=target --slo=p99", "--slo"),
    ] {
        let finished = rehearse(directory.path(), words);
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stdout);
        assert!(finished.stderr.contains(wanted), "{words}: {}", finished.stderr);
    }
    assert_eq!(fs::read(&target).expect("readable"), before);
    assert!(!directory.path().join("trace.rehearse.jsonl").exists(), "no results of refused runs");
    let device = require!(LoopDevice::new(8 * MIB));
    let name = device.text();
    require!(run("mkfs.ext4", &["-q", "-F", name]));
    require!(in_use(&device, |reason| {
        let finished = rehearse(directory.path(), &format!("trace --on={name} --destroy={name} --scales=1"));
        assert_eq!(finished.code(), 1);
        assert!(finished.stderr.contains(reason), "{reason}: {}", finished.stderr);
    }));
}

/// A device that is limited to 1000 reads per second does not carry more of 400 than that.
#[test]
fn the_answer_is_not_more_than_the_device_can_do() {
    fathom_only!();
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    let throttle = require!(Throttle::new(device.path(), 1000));
    let reads: Vec<_> =
        (0..1200).map(|number| (number * 5 / 2, "8,0", "R", number * 677 % 4096 * 8, 8)).collect();
    write_trace(directory.path(), &reads);
    let script = format!(
        "echo $$ > {} && exec {} rehearse trace --on={} --most-runs=1 --format=json",
        throttle.members().display(),
        program::path().display(),
        device.text()
    );
    let finished = Launch::of(Path::new("sh"), directory.path()).words("-c").argument(script).run();
    let document = json::document(&finished.stdout);
    let (scale, missed) = (&document["highest"]["scale"], &document["missed"]["scale"]);
    let below = &document["highest"]["below"];
    assert!(scale.as_f64().is_some_and(|scale| scale < 3.0) || below.is_number(), "{document}");
    assert!(missed.as_f64().is_some_and(|missed| missed <= 4.0), "{document}");
    let code = if document["carries_need"] == true { 0 } else { 2 };
    assert_eq!(finished.code(), code, "{}", finished.stderr);
}

/// Reads alone need no confirmation; limits that nothing can miss, and limits that everything misses.
#[test]
fn the_exit_status_follows_from_the_limits() {
    fathom_only!();
    let directory = scratch();
    let reads: Vec<_> = (0..200).map(|number| (number * 2, "8,0", "R", number % 64 * 8, 8)).collect();
    write_trace(directory.path(), &reads);
    file_of(directory.path(), "target", MIB);
    let common = "trace --on=target --most-runs=1 --format=json";
    for (words, code, carries) in [
        ("--slo=max<1000s --scales=0.5,1", 0, Some(true)),
        ("--slo=max<1ns --scales=0.5,1", 2, Some(false)),
        ("--slo=max<1000s --scales=1 --need=4", 1, None),
        ("--slo=write:p99<1ns,max<1000s --scales=1 --need=0.5", 0, Some(true)),
    ] {
        let finished =
            rehearse_until_kept_up(directory.path(), &format!("{common} {words} --output=x.jsonl"));

        assert_eq!(finished.code(), code, "{words}: {}{}", finished.stdout, finished.stderr);
        let document = json::document(&finished.stdout);
        assert_eq!(document["carries_need"].as_bool(), carries, "{words}: {document}");
        let is_said = document["remarks"].to_string().contains("write:p99<1.00ns: there were no writes");
        assert_eq!(is_said, words.contains("write:"), "{document}");

        for step in document["scales"].as_array().expect("scales") {
            // Each run has all I/Os of the trace, in their time: 0.4 s at 1x.
            let scale = step["scale"].as_f64().expect("a scale");
            assert!(step["seconds"].as_f64().expect("a time") >= 0.39 / scale, "{step}");
        }
    }
}

#[test]
fn a_rehearsal_is_resumed_printed_and_drawn() {
    fathom_only!();
    let directory = scratch();
    let reads: Vec<_> = (0..300).map(|number| (number, "8,0", "R", number * 37 % 64 * 8, 8)).collect();
    write_trace(directory.path(), &reads);
    file_of(directory.path(), "target", MIB);
    let words = "trace --on=target --most-runs=1 --scales=1,2 --slo=max<1000s --output=x.jsonl";
    let first = rehearse_until_kept_up(directory.path(), words);
    assert_eq!(first.code(), 0, "{}", first.stderr);
    let path = directory.path().join("x.jsonl");

    let whole = fs::read_to_string(&path).expect("results");
    // A crash loses at most the line that was being written.
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 3, "a plan and two runs");
    fs::write(&path, format!("{}{}{}", lines[0], lines[1], &lines[2][..50])).expect("written");
    let again = rehearse(directory.path(), words);
    assert!(again.stderr.contains("1 run done"), "{}", again.stderr);

    let resumed = fs::read_to_string(&path).expect("results");
    assert!(resumed.starts_with(&format!("{}{}", lines[0], lines[1])));
    assert_eq!(resumed.lines().count(), 3);
    let other = rehearse(directory.path(), &words.replace("1,2", "1,4"));
    assert!(other.code() == 1 && other.stderr.contains("--scales differ"), "{}", other.stderr);
    let printed = rehearse(directory.path(), "x.jsonl");
    assert_eq!((printed.code(), &printed.stdout), (again.code(), &again.stdout));
    fs::write(&path, &whole).expect("written");
    let printed = rehearse(directory.path(), "x.jsonl");

    assert!(printed.stdout.starts_with(&format!(
        "{} carries at least 2 times this load with max<1000s.",
        fs::canonicalize(directory.path().join("target")).expect("there").display()
    )));
    // The recorded latency of every read is 100 µs.
    assert!(printed.stdout.contains("reads    p50   99.8 µs"), "{}", printed.stdout);
    let document = json::document(&rehearse(directory.path(), "x.jsonl --format=json").stdout);
    assert_eq!(document["recorded"]["requests"], Value::from(300));
    assert_eq!(document["at_recorded_rate"][0]["requests"], Value::from(300));
    let page = Launch::fathom(directory.path()).words("report x.jsonl -o page.html").run();
    assert_eq!(page.code(), 0, "{}", page.stderr);
    let page = fs::read_to_string(directory.path().join("page.html")).expect("a page");
    assert_eq!(page.matches("<figure ").count(), 2);
    assert!(page.contains("Does it carry the load?") && page.contains("At the recorded rate"));
    let charts = Launch::fathom(directory.path()).words("report x.jsonl --chart=list").run();
    assert_eq!(charts.stdout.lines().count(), 2, "{}", charts.stdout);
}

/// Programs that wait for their reads do not pile up on a slow device; they take longer.
#[test]
fn dependencies_are_kept_where_that_is_asked_for() {
    fathom_only!();
    let directory = scratch();
    // One program, whose reads follow 2 ms after the one before was complete.
    let reads: Vec<_> = (0..100).map(|number| (number * 2, "8,0", "R", number % 64 * 8, 8)).collect();
    write_trace(directory.path(), &reads);
    let device = require!(LoopDevice::new(16 * MIB));
    let throttle = require!(Throttle::new(device.path(), 50));
    let script = format!(
        "echo $$ > {} && exec {} rehearse trace --on={} --most-runs=1 --scales=1 --closed '--slo=max<1000s' --format=json",
        throttle.members().display(),
        program::path().display(),
        device.text()
    );
    let finished = Launch::of(Path::new("sh"), directory.path()).words("-c").argument(script).run();
    let document = json::document(&finished.stdout);
    assert_eq!((finished.code(), &document["source"]), (0, &Value::from("dependencies")), "{document}");
    // A throttled read waits for its turn, the recorded ones took 100 µs.
    let here = &document["at_recorded_rate"][0]["percentiles"]["p99_ns"]["here"];
    assert!(here.as_f64().is_some_and(|ns| ns > 1e6), "{document}");

    let step = &document["scales"][0];
    assert!(
        step["seconds"].as_f64().is_some_and(|seconds| seconds > 1.0),
        "0.2 s of 50 reads per second: {step}"
    );
    assert!(
        step["sustained"] == true && step["served_iops"].as_f64().is_some_and(|rate| rate < 100.0),
        "{step}"
    );
    let results = fs::read_to_string(directory.path().join("trace.rehearse.jsonl")).expect("results");
    let run: Value = serde_json::from_str(results.lines().nth(1).expect("a run")).expect("reads");
    let job = &run["report"]["jobs"][0];
    assert_eq!(json::integer(&job["read"], "total_ios"), 100);
    // None waits in the queue for another: each is alone.
    assert!(job["iodepth_level"]["1"].as_f64().is_some_and(|share| share > 99.0), "{job}");
}

/// The rates of jobs are multiplied, whatever their form, and their targets replaced.
#[test]
fn jobs_are_rehearsed_at_multiples_of_their_rates() {
    fathom_only!();
    let directory = scratch();
    file_of(directory.path(), "target", MIB);
    fs::write(
        directory.path().join("db.fio"),
        "[global]\nioengine=psync\nsize=512k\ntime_based=1\nruntime=300ms\nrate_iops=50\n\n[a]\nfilename=precious\nrw=randread\n\n\
         [b]\ndirectory=.\nrw=randrw\nrate_iops=0\nrate=409600,204800\n",
    )
    .expect("written");
    let words = "db.fio --on=target --destroy=target --scales=4 --dry-run --seed=1";
    let plan = rehearse(directory.path(), words).expect_clean().stdout;
    for wanted in ["rate_iops=200,200,200\n", "rate=1638400,819200,819200\n", "filename=", "open_loop=1\n"] {
        assert!(plan.contains(wanted), "{wanted}: {plan}");
    }
    assert!(!plan.contains("precious") && !plan.contains("directory="), "{plan}");
    let words = "db.fio --on=target --destroy=target --scales=1,4 --most-runs=1 --slo=max<1000s --format=json --output=x.jsonl \
                 --fill";
    let finished = rehearse_until_kept_up(directory.path(), words);
    assert_eq!(finished.code(), 0, "{}{}", finished.stdout, finished.stderr);
    // Only what the jobs use is filled.
    assert!(finished.stderr.contains("writing 512 KiB of "), "{}", finished.stderr);
    let content = fs::read(directory.path().join("target")).expect("there");
    assert!(content[512 << 10..].iter().all(|byte| *byte == 0x5a), "the rest is as it was");
    let document = json::document(&finished.stdout);
    let offered: Vec<f64> = document["scales"]
        .as_array()
        .expect("scales")
        .iter()
        .map(|step| step["offered_iops"].as_f64().expect("a rate"))
        .collect();
    // 50 reads, 100 reads and 50 writes per second, of 4 KiB.
    assert!((offered[0] - 200.0).abs() < 20.0 && (offered[1] - 800.0).abs() < 40.0, "{offered:?}");
    assert!(!directory.path().join("precious").exists());
}

/// From one device to another, with what the recorder noted: all requests of the recording, none besides.
#[test]
fn a_recording_of_the_kernel_is_rehearsed_on_another_device() {
    require!(can_record());
    let directory = scratch();
    let source = require!(LoopDevice::new(16 * MIB));
    let target = require!(LoopDevice::new(8 * MIB));
    let recorded = Launch::fathom(directory.path())
        .words(&format!("record {} -o db.trace --", source.text()))
        .argument(program::path())
        .words(&format!(
            "--name=a --filename={} --rw=randrw --bs=4k --size=16m --io_size=1m --rate_iops=200,200 --ioengine=psync --direct=1 --fsync=16",
            source.text()
        ))
        .run();
    assert_eq!(recorded.code(), 0, "{}", recorded.stderr);
    let words = format!(
        "db.trace --on={0} --destroy={0} --map=scale --fill --scales=1 --most-runs=1 --slo=max<1000s --format=json",
        target.text()
    );
    let finished = rehearse(directory.path(), &words);
    assert!([0, 2].contains(&finished.code()), "{}{}", finished.stdout, finished.stderr);
    let document = json::document(&finished.stdout);
    let results = fs::read_to_string(directory.path().join("db.rehearse.jsonl")).expect("results");
    let run: Value = serde_json::from_str(results.lines().nth(1).expect("a run")).expect("reads");
    let job = &run["report"]["jobs"][0];
    for (index, direction) in ["read", "write"].into_iter().enumerate() {
        let compared = &document["at_recorded_rate"][index];
        assert_eq!(compared["direction"], Value::from(direction));
        assert_eq!(
            json::integer(&job[direction], "total_ios"),
            json::integer(compared, "requests"),
            "{direction}"
        );
        // Both latencies are those of the device. The response times are those of the program, and longer.
        assert_eq!(compared["here_from"], Value::from("block layer"), "{compared}");
        let figures = compared["percentiles"].as_object().expect("percentiles").values();
        for figure in figures.chain([&compared["mean_ns"]]) {
            let ns = |name: &str| figure[name].as_f64().expect("a time");
            assert!(0.0 < ns("here") && ns("here") < ns("response"), "{compared}");
        }
        let layers = &job[direction]["layers"];
        assert_eq!(compared["mean_ns"]["here"], layers["block_ns"]["mean"], "{layers}");
    }
    assert!(json::integer(&job["sync"], "total_ios") > 0, "flushes are replayed");
}

/// Without privileges, the latencies next to the recorded ones are response times, and a line says so.
#[test]
fn without_privileges_response_times_are_next_to_the_recorded_latencies() {
    fathom_only!();
    let directory = scratch();
    let reads: Vec<_> = (0..50).map(|number| (number, "8,0", "R", number % 64 * 8, 8)).collect();
    write_trace(directory.path(), &reads);
    file_of(directory.path(), "target", MIB);
    for (name, mode) in [("", 0o777), ("trace", 0o644), ("target", 0o644)] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(directory.path().join(name), mode).expect("can be set");
    }
    let unprivileged = require!(Launch::unprivileged(directory.path()));
    let words = "rehearse trace --on=target --most-runs=1 --scales=1 --slo=max<1000s --output=x.jsonl";
    let finished = unprivileged.words(words).run();
    assert!([0, 2].contains(&finished.code()), "{}{}", finished.stdout, finished.stderr);
    assert!(finished.stdout.contains("those here are response times"), "{}", finished.stdout);
    assert!(!finished.stderr.contains("--layers"), "{}", finished.stderr);
    let document = json::document(&rehearse(directory.path(), "x.jsonl --format=json").stdout);
    let compared = &document["at_recorded_rate"][0];
    assert_eq!(compared["here_from"], Value::from("due time"), "{compared}");
    assert_eq!(compared["mean_ns"]["here"], compared["mean_ns"]["response"]);
}
