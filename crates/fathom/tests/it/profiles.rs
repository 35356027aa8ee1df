//! Built-in workloads.

use crate::support::program::{self, Launch};
use crate::support::{KIB, file_of, json, scratch, skip};
use std::path::Path;

#[test]
fn tiobench_runs_its_four_phases() {
    let directory = scratch();
    std::fs::create_dir(directory.path().join("sub")).expect("a directory");
    let words =
        "--output-format=json --profile=tiobench --size=256k --block=16k --numruns=2 --threads=2 --dir=sub";
    let finished = Launch::fathom(directory.path()).words(words).run();
    // Direct I/O is part of the profile, and not every file system supports it.
    if finished.stderr.contains("Invalid argument") {
        skip!("the temporary directory knows no direct I/O");
    }
    let document = json::document(&finished.expect_clean().stdout);
    let jobs = document["jobs"].as_array().expect("jobs");
    let names: Vec<&str> = jobs.iter().filter_map(|job| job["jobname"].as_str()).collect();
    assert_eq!(names, ["seqwrite", "randwrite", "seqread", "randread"]);
    for (index, job) in jobs.iter().enumerate() {
        let (direction, other) = if index < 2 { ("write", "read") } else { ("read", "write") };
        // Clones are reported together.
        assert_eq!(json::integer(job, &format!("{direction}/io_bytes")), 1024 * KIB);
        assert_eq!(json::integer(job, &format!("{direction}/total_ios")), 64);
        assert_eq!(json::integer(job, &format!("{other}/total_ios")), 0);
        assert_eq!(json::integer(job, "groupid"), index as u64);
        assert_eq!(job["job options"]["name"], names[index]);
        assert_eq!(job["job options"].get("end_fsync").is_some(), index < 2, "{job}");
    }
    for (option, value) in [("overwrite", "1"), ("buffered", "0"), ("group_reporting", "")] {
        assert_eq!(document["global options"][option], value, "{option}");
    }
    for file in 1..=4 {
        let path = directory.path().join(format!("sub/.fio.tio.{file}"));
        assert_eq!(std::fs::metadata(path).expect("laid out").len(), 64 * KIB);
    }
}

#[test]
fn the_jobs_of_tiobench_are_those_of_fio() {
    let directory = scratch();
    let finished = Launch::fathom(directory.path()).words("--profile=tiobench --size=256k").run();
    let jobs: Vec<&str> = finished.stdout.lines().filter(|line| line.contains("(g=")).collect();
    // As fio prints them.
    let line = |name: &str, group: u32, mode: &str| {
        format!(
            "{name}: (g={group}): rw={mode}, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=sync, iodepth=1"
        )
    };
    let expected = [
        line("seqwrite", 0, "write"),
        line("randwrite", 1, "randwrite"),
        line("seqread", 2, "read"),
        line("randread", 3, "randread"),
    ];
    assert_eq!(jobs, expected);
    assert!(finished.stdout.contains("Starting 4 threads\n"), "{}", finished.stdout);
}

#[test]
fn what_a_profile_is_not_is_told() {
    let directory = scratch();
    let lines = |words: &str| Launch::fathom(directory.path()).words(words).run();
    assert!(lines("--profile=none").stderr.contains("fio: profile 'none' not found"));
    let refused = lines("--profile=act");
    assert_eq!(refused.code(), 1);
    let line =
        "act: you need to set IO target(s) with the device-names option.\nfio: profile act prep failed\n";
    assert!(refused.stderr.starts_with(line), "{}", refused.stderr);
    let refused = lines("--profile=act --device-names=a --large-block-op-kbytes=128");
    assert!(refused.stderr.contains("it is in bytes"), "{}", refused.stderr);
    let idle = lines("--name=a --ioengine=null --size=4k --threads=3");
    assert!(
        idle.stderr.contains("fathom: threads has no effect without --profile=tiobench"),
        "{}",
        idle.stderr
    );
    let idle = lines("--name=a --ioengine=null --size=4k --load=3");
    assert!(idle.stderr.contains("fathom: load has no effect without --profile=act"), "{}", idle.stderr);
}

const ACT: &str = "--profile=act --device-names=device";

/// True if the directory has a device to test: a file that supports sector-aligned direct I/O.
fn has_device(directory: &Path) -> bool {
    file_of(directory, "device", 4 * 1024 * KIB);
    let words = "--name=a --filename=device --rw=read --bs=512 --direct=1 --number_ios=1 --size=4k";
    Launch::fathom(directory).words(words).run().code() == 0
}

/// Output of a device test before the report.
fn table(shares: &str, verdict: &str) -> String {
    format!(
        "        trans                   device\n        %>(ms)                  %>(ms)\n \
         slice\t  1\t  8\t 64\t  1\t  8\t 64\n -----  -----   -----  ------   -----   -----  ------\n    \
         1\t{shares}\t{shares}\n\nact: {verdict}\n\nact-read-device: (groupid=0, jobs=9): err= 0:"
    )
}

#[test]
fn the_jobs_of_act_are_those_of_fio() {
    let directory = scratch();
    if !has_device(directory.path()) {
        skip!("the temporary directory knows no direct I/O of sectors");
    }
    let jobs = |launch: Launch| -> Vec<String> {
        let finished = launch.words(&format!("{ACT},device --test-duration=1")).run();
        finished.stdout.lines().filter(|line| line.contains("(g=")).map(str::to_owned).collect()
    };
    let reference = require!(program::reference());
    let of_fio = jobs(Launch::of(&reference, directory.path()));
    assert_eq!(of_fio.len(), 4);
    assert_eq!(jobs(Launch::fathom(directory.path())), of_fio);
}

#[test]
fn act_keeps_its_rates_and_tells_the_share_of_slow_reads() {
    let directory = scratch();
    if !has_device(directory.path()) {
        skip!("the temporary directory knows no direct I/O of sectors");
    }
    let words = format!("{ACT} --test-duration=2s --output-format=json,normal");
    let finished = Launch::fathom(directory.path()).words(&words).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    let slices = document["fathom slices"]["slices"].as_array().expect("slices");
    assert_eq!(slices.len(), 1);
    // All reads are in the slice; a loaded machine may fall behind the rate but never gets ahead of it.
    let reads = json::integer(&slices[0], "reads");
    assert_eq!(reads, json::total(&document, "read/total_ios"));
    assert!((1..=4100).contains(&reads), "{reads}");
    assert!(json::total(&document, "write/total_ios") <= 26);
    let shares: Vec<String> = ["1ms", "8ms", "64ms"]
        .iter()
        .map(|limit| format!("{:.2}", slices[0][format!("percent_above_{limit}")].as_f64().expect("a share")))
        .collect();
    let passed = document["fathom slices"]["passed"].as_bool().expect("a verdict");
    let verdict = format!("test complete, device(s): {}", if passed { "PASSED" } else { "FAILED" });
    let table = table(&shares.join("\t"), &verdict);
    assert!(finished.stdout.contains(&table), "{table}\n{}", finished.stdout);
}

#[test]
fn act_fails_a_slow_device() {
    let directory = scratch();
    require!(skip::tool("strace"));
    if !has_device(directory.path()) {
        skip!("the temporary directory knows no direct I/O of sectors");
    }
    // Every read of the device takes 12 ms more.
    let finished = Launch::of(Path::new("strace"), directory.path())
        .words("-f -qq -o calls -e trace=read,pread64 -e inject=read,pread64:delay_exit=12000 -P")
        .argument(directory.path().join("device"))
        .argument(program::path())
        .words(&format!("{ACT} --test-duration=1s"))
        .run();
    if finished.code() != 0 {
        skip!("strace cannot delay calls here: {}", finished.stderr.trim());
    }
    let start = table("100.00\t100.00\t", "");
    assert!(finished.stdout.contains(start.split_once("\t\t").expect("a row").0), "{}", finished.stdout);
    assert!(finished.stdout.contains("\nact: test complete, device(s): FAILED\n"), "{}", finished.stdout);
}

#[test]
fn act_that_is_interrupted_says_so() {
    let directory = scratch();
    if !has_device(directory.path()) {
        skip!("the temporary directory knows no direct I/O of sectors");
    }
    let words = format!("{ACT} --eta=always");
    let mut running = Launch::fathom(directory.path()).words(&words).start();
    running.wait_for_output(|text| text.contains("IOPS") || text.contains("r="));
    running.signal("INT");
    let finished = running.finish();
    assert!(finished.stdout.contains("\nact: test interrupted, device(s) so far: "), "{}", finished.stdout);
    // A day has 24 slices; the incomplete one is reported.
    assert!(finished.stdout.contains("\n    1\t") && !finished.stdout.contains("\n    2\t"));
}

#[test]
fn act_prepares_a_device_with_zeroes_and_salt() {
    let directory = scratch();
    if !has_device(directory.path()) {
        skip!("the temporary directory knows no direct I/O of sectors");
    }
    let words = format!("{ACT} --prep=1 --load=2 --output-format=json,normal");
    let finished = Launch::fathom(directory.path()).words(&words).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("fathom: load has no effect with prep"));
    assert!(!finished.stdout.contains("act: test"), "nothing was tested");
    let document = json::document(&finished.stdout);
    let jobs = document["jobs"].as_array().expect("jobs");
    let counts: Vec<(&str, u64)> = jobs
        .iter()
        .map(|job| (job["jobname"].as_str().expect("a name"), json::integer(job, "write/total_ios")))
        .collect();
    assert_eq!(counts, [("act-prep-zeroes-device", 4), ("act-prep-salt-device", 1024)]);
    let data = std::fs::read(directory.path().join("device")).expect("the device");
    assert!(data.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)), "salt everywhere");
}
